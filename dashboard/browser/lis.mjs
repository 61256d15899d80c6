// Four simulated panels locate the users of a room.
import { join } from 'node:path';
import { ROOT, Setup, until } from './daemons.mjs';

export const WALLS = ['south', 'east', 'north', 'west'];

// The simulated room, with what is true in it.
export const PLAN = `truth = "room:seed=1"
[site.room]
bounds = [-5.6, -5.6, 5.6, 5.6]
walls = [-5.0, -5.0, 5.0, -5.0, 5.0, -5.0, 5.0, 5.0, 5.0, 5.0, -5.0, 5.0, -5.0, 5.0, -5.0, -5.0]
${[[0, -5], [5, 0], [0, 5], [-5, 0]].map(([x, y], i) => `[[site.room.panel]]
source = "${WALLS[i]}"
x_m = ${x}.0
y_m = ${y}.0
orientation_deg = ${90 * i}.0`).join('\n')}
`;

// `seeds`: by panel; another seed than 1 shows a panel other users than the rest sees.
export async function startRoom({ subjects = 6, rateHz = 100, site = 'room', extra = PLAN, seeds = {}, walls = WALLS } = {}) {
  const setup = await Setup.create();
  await setup.startAggregator(['', `
[[site]]
name = ${JSON.stringify(site)}
dimension = 2
sources = ${JSON.stringify(WALLS)}
max_subjects = ${Math.max(subjects, 16)}
deadline_ms = 100.0
${extra}`]);
  for (const wall of walls) startPanel(setup, wall, { subjects, rateHz, site, seed: seeds[wall] });
  await until('all panels report', async () => {
    const { nodes } = await setup.get('api/v1/nodes');
    return nodes.filter((node) => node.connected && node.accepted_frames !== '0').length === walls.length;
  });
  return setup;
}

export function startPanel(setup, wall, { subjects = 6, rateHz = 100, site = 'room', seed = 1, node = wall } = {}) {
  setup.startNode(wall, `
node = ${JSON.stringify(node)}
site = ${JSON.stringify(site)}
[uplink]
aggregator = "${setup.ingest}"
[http]
listen = ""
[[panel]]
name = "${wall}"
workload = "positioning"
model = "${join(ROOT, 'models/positioning.safetensors')}"
format = "int8_16"
orientation_deg = ${90 * WALLS.indexOf(wall)}.0
[panel.source]
kind = "room"
seed = ${seed}
subjects = ${subjects}
rate_hz = ${rateHz}.0
`);
}
