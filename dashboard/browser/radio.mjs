// Four receivers name the modulations of emitters: a site with classes.
import { join } from 'node:path';
import { ROOT, Setup, until } from './daemons.mjs';

const RECEIVERS = ['north', 'east', 'south', 'west'];
export const CLASSES = ['BPSK', '8PSK', 'CPFSK', 'GFSK', 'PAM4', 'QAM16', 'QAM64', 'QPSK', 'AM-SSB', 'WBFM'];

export async function startRadio(emitters = 4) {
  const setup = await Setup.create();
  await setup.startAggregator(['', `
[[site]]
name = "band"
sources = ${JSON.stringify(RECEIVERS)}
classes = ${JSON.stringify(CLASSES)}
slot_ms = 50.0
deadline_ms = 300.0
truth = "generator:seed=1,rate_hz=20,frames_per_emission=20,count=${emitters}"
`]);
  RECEIVERS.forEach((name, i) => setup.startNode(name, `
node = "${name}"
site = "band"
slot_ms = 50.0
[uplink]
aggregator = "${setup.ingest}"
[http]
listen = ""
[[panel]]
name = "${name}"
workload = "modulation"
model = "${join(ROOT, 'models/modulation.safetensors')}"
[panel.source]
kind = "generator"
seed = 1
receiver = ${i}
subjects = ${emitters}
rate_hz = 20.0
frames_per_emission = 20
lowest_snr_db = 0.0
highest_snr_db = 18.0
`));
  await until('all receivers report', async () => {
    const { nodes } = await setup.get('api/v1/nodes');
    return nodes.filter((node) => node.connected && node.accepted_frames !== '0').length === RECEIVERS.length;
  });
  return setup;
}
