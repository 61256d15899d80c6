// Three nodes with drawn glyphs train one small encoder.
import { Setup, until } from './daemons.mjs';

export const LEARNERS = ['north', 'east', 'south'];

export function runToml(name, rounds, minNodes = LEARNERS.length) {
  return `name = "${name}"
rounds = ${rounds}
min_nodes = ${minNodes}
quorum = 2
deadline_s = 60.0
[strategy]
kind = "fedavg"
[encoder]
grid = 1
[client]
local_steps = 2
batch = 8
[evaluation]
every_rounds = 2
`;
}

// `tables`: more of its configuration, such as [tls].
export function startLearner(setup, name, tables = '') {
  setup.startNode(name, `
node = "${name}"
${tables}[http]
listen = ""
[federation]
aggregator = "${setup.ingest}"
images = "glyphs"
split = "dirichlet"
alpha = 0.5
shards = ${LEARNERS.length}
shard_index = ${LEARNERS.indexOf(name)}
`);
}

export async function startFederation(rounds = 4) {
  const setup = await Setup.create();
  await setup.startAggregator(['', `anonymous = "operator"
[federation]
store = "${setup.path('store')}"
[federation.evaluation]
images = "glyphs"
max_images = 200
`]);
  await setup.run('tributary', 'run', 'start', setup.write('run.toml', runToml('demo', rounds)), '--aggregator', setup.ingest);
  for (const name of LEARNERS) startLearner(setup, name);
  await until('the rounds are done', async () => (await setup.get('api/v1/runs/demo')).run.state === 'RUN_STATE_FINISHED', 60_000);
  return setup;
}
