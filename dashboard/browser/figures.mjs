// Measures the page in Chromium: first paint, redraws and frames a second.
// usage: node browser/figures.mjs [DIST-FOLDER]     prints JSON; with a folder, also 500 nodes and 16 sites of a simulated API
import { createServer } from 'node:http';
import { launch, open } from './chromium.mjs';
import { startRoom } from './lis.mjs';
import { servePage } from './page_server.mjs';

const SECONDS = 5;
const SITES = 16;
const NODES = 500;
const SUBJECTS = 16;

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

function simulatedSite(number, tick) {
  const sources = ['south', 'east', 'north', 'west'];
  return {
    name: `site ${number}`, dimension: 2, slot_ns: '500000', classes: [], has_room: false, has_truth: false,
    counters: {
      accepted_frames: String(8000 * tick), refused_frames: '0', refused_frames_by_reason: {}, accepted_tuples: String(128_000 * tick), refused_tuples: '0',
      refused_tuples_by_reason: {}, fused_tuples: String(32_000 * tick), complete_slots: String(2000 * tick), deadline_slots: '0', evicted_slots: '0',
      revisions: '0', open_slots: '0',
    },
    sources: sources.map((name) => ({ name, accepted_frames: String(2000 * tick), refused_frames: '0', gated_tuples: '0', last_epoch: String(2000 * tick), consistency: 1 + Math.random() / 10 })),
    leaves: sources.map((name) => ({ name, missed_slots: '0', absent: false })),
  };
}

function simulatedNode(number, tick) {
  return {
    site: `site ${number % SITES}`, name: `node-${String(number).padStart(4, '0')}`, connected: number % 50 !== 7, last_frame_unix_ns: String(BigInt(Date.now()) * 1000000n),
    accepted_frames: String(2000 * tick), refused_frames: '0', dropped_frames: '0', sources: ['south'], model_name: 'lis-positioning', model_version: '1', model_sha256: '',
    learns: [], identity: '', certificate_expires_unix_ns: '0', status_unix_ns: '0',
  };
}

function simulatedSlot(tick) {
  const subjects = Array.from({ length: SUBJECTS }, (_, i) => i + 1);
  const angle = (i) => tick / 50 + i;
  return {
    slot: {
      epoch: String(BigInt(Date.now()) * 2n), captured_unix_ns: '0', fused_unix_ns: '0', revision: 0, dimension: 2, subjects,
      means: subjects.flatMap((i) => [4 * Math.cos(angle(i)), 4 * Math.sin(1.3 * angle(i))]), cholesky: subjects.flatMap(() => [0.01, 0.002, 0.008]),
      contributors: subjects.map(() => '15'), consistency: subjects.map(() => 1), velocities: [], log_probabilities: [],
    },
    skipped_slots: '99', leaves: ['south', 'east', 'north', 'west'], slot_ns: '500000', site: 'site 0', classes: [],
  };
}

function simulate() {
  let tick = 0;
  const server = createServer((asked, answer) => {
    const path = new URL(asked.url, 'http://x').pathname;
    ++tick;
    if (path === '/api/v1/events') {
      answer.writeHead(200, { 'Content-Type': 'text/event-stream' });
      const timer = setInterval(() => answer.write(`data: ${JSON.stringify(simulatedSlot(++tick))}\n\n`), 50);
      answer.on('close', () => clearInterval(timer));
      return;
    }
    const body = path === '/api/v1/sites' ? { sites: Array.from({ length: SITES }, (_, i) => simulatedSite(i, tick)) }
      : { nodes: Array.from({ length: NODES }, (_, i) => simulatedNode(i, tick)), answered_unix_ns: '0', sites: [], more: false };
    answer.writeHead(200, { 'Content-Type': 'application/json' });
    answer.end(JSON.stringify(body));
  });
  return new Promise((done) => server.listen(0, '127.0.0.1', () => done({ host: `127.0.0.1:${server.address().port}`, close: () => { server.closeAllConnections(); server.close(); } })));
}

const browser = await launch();
const results = {};
const setup = await startRoom({ subjects: SUBJECTS, rateHz: 200 });
try {
  results.room_of_16_subjects_and_4_panels = await measure(browser, setup.address);
} finally {
  await setup.close();
}
if (process.argv[2]) {
  const api = await simulate();
  const page = await servePage(process.argv[2], () => api.host);
  for (const view of ['room', 'sources', 'fleet']) results[`${view}_of_500_nodes_and_16_sites`] = await measure(browser, `${page.address}#/${view}`);
  page.close();
  api.close();
}
await browser.close();
console.log(JSON.stringify(results, null, 1));
process.exit(0);
