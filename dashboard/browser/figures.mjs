// Measures the page in Chromium: first paint, redraws and frames a second.
// usage: node browser/figures.mjs     prints JSON: a room of the demo, then 500 nodes on 16 sites. All against a real aggregator.
import { launch, open } from './chromium.mjs';
import { Setup, until } from './daemons.mjs';
import { startRoom } from './lis.mjs';

const SECONDS = 5;
const SITES = 16;
const NODES = 500;
const SUBJECTS = 16;
const CROWD_SLOT_MS = 100;

// How often the room is drawn and frames are shown while `SECONDS` pass, and how long tasks keep the page busy.
async function measure(browser, address) {
  const { page, close } = await open(browser, address);
  await page.evaluate(() => {
    const clear = CanvasRenderingContext2D.prototype.clearRect;
    window.redraws = 0;
    window.frames = 0;
    window.busyMs = 0;
    CanvasRenderingContext2D.prototype.clearRect = function (...box) {
      ++window.redraws;
      return clear.apply(this, box);
    };
    const frame = () => {
      ++window.frames;
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
    new PerformanceObserver((list) => list.getEntries().forEach((entry) => (window.busyMs += entry.duration))).observe({ type: 'longtask' });
  });
  await page.waitForTimeout(2_000);
  const before = await page.evaluate(() => ({ redraws, frames, busyMs }));
  await page.waitForTimeout(1000 * SECONDS);
  const after = await page.evaluate(() => ({ redraws, frames, busyMs }));
  const paint = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime);
  await close();
  return {
    first_paint_ms: Math.round(paint),
    redraws_per_s: (after.redraws - before.redraws) / SECONDS,
    frames_per_s: (after.frames - before.frames) / SECONDS,
    long_tasks_ms_per_s: Math.round((after.busyMs - before.busyMs) / SECONDS),
  };
}

// `tributary load` stands for the nodes of each site: a panel is a node with a connection of its own.
async function startCrowd() {
  const setup = await Setup.create();
  const sites = Array.from({ length: SITES }, (_, i) => ({ name: `site ${i}`, panels: Math.floor(NODES / SITES) + (i < NODES % SITES ? 1 : 0) }));
  await setup.startAggregator(['[ingest]\nmax_connections_per_address = 1024', sites.map(({ name, panels }) => `
[[site]]
name = "${name}"
sources = ${JSON.stringify(Array.from({ length: panels }, (_, i) => `panel-${i}`))}
slot_ms = ${CROWD_SLOT_MS}.0
deadline_ms = ${5 * CROWD_SLOT_MS}.0
`).join('')]);
  let due = 0;
  for (const { name, panels } of sites) {
    setup.start(name, 'tributary', 'load', '--aggregator', setup.ingest, '--site', name, '--panels', String(panels), '--users', String(SUBJECTS),
      '--slot-ms', String(CROWD_SLOT_MS), '--seconds', '600');
    // The aggregator makes room for new links of one address by cutting those that have not made a call yet.
    due += panels;
    await until(`${due} nodes report`, async () => (await setup.get('api/v1/nodes')).nodes.filter((node) => node.connected).length === due);
  }
  return setup;
}

const browser = await launch();
const results = {};
const setup = await startRoom({ subjects: SUBJECTS, rateHz: 200 });
try {
  results.room_of_16_subjects_and_4_panels = await measure(browser, setup.address);
} finally {
  await setup.close();
}
const crowd = await startCrowd();
try {
  for (const view of ['room', 'sources', 'fleet']) results[`${view}_of_${NODES}_nodes_and_${SITES}_sites`] = await measure(browser, `${crowd.address}#/${view}`);
} finally {
  await crowd.close();
}
await browser.close();
console.log(JSON.stringify(results, null, 1));
process.exit(0);
