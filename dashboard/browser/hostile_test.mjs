// What should not happen: names that are markup, values that are no numbers, crowds, old pages, slow links; and views with nothing to show.
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';
import { open, violations } from './chromium.mjs';
import { Setup, sleep, until } from './daemons.mjs';
import { startPanel, startRoom } from './lis.mjs';

const NAME = '<img src=x onerror="alert(1)">\'"&amp;';

export function hostileTests(browser) {
  test('a name that is markup is text, and an empty site says what to do', async () => {
    const setup = await Setup.create();
    try {
      await setup.startAggregator(['', `
[[site]]
name = ${JSON.stringify(NAME)}
sources = [${JSON.stringify(`${NAME}1`)}, "two"]
[[site]]
name = "second"
sources = ["two"]
`]);
      const { page, faults, close } = await open(browser(), setup.address);
      await page.waitForSelector('text=No slot yet');
      assert.ok((await page.title()).includes(NAME));
      assert.equal(await page.locator('img').count(), 0);
      assert.deepEqual(await violations(page), []);
      await page.getByRole('link', { name: 'Sources' }).click();
      await until('the source is text', async () => (await page.locator('tbody th').allTextContents()).includes(`${NAME}1`));
      await page.getByRole('combobox').selectOption('second');
      await page.waitForURL(/sources\/second$/);
      await page.getByRole('link', { name: 'Fleet' }).click();
      await page.waitForSelector('text=No node yet');
      await page.goto(`${setup.address}#/room/${encodeURIComponent('<script>alert(2)</script>')}`);
      await page.waitForSelector('text=There is no site “<script>alert(2)</script>”');
      assert.equal(await page.locator('main script').count(), 0);
      assert.deepEqual(await violations(page), []);
      assert.deepEqual(faults, []);
      await close();
    } finally {
      await setup.close();
    }
  });

  test('a node named as markup is text; one with a line break or an escape is refused', async () => {
    const setup = await startRoom({ walls: ['south', 'east'] });
    try {
      startPanel(setup, 'north', { node: NAME });
      for (const name of ['two\nlines', 'esc\u001b[31m', 'x'.repeat(1_000_000)]) {
        const config = setup.write('odd.toml', `node = ${JSON.stringify(name)}\nsite = "room"\n[uplink]\naggregator = "${setup.ingest}"\n`);
        await assert.rejects(setup.run('tributary-node', '--config', config, '--check'), /node: expected a name/);
      }
      const { page, faults, close } = await open(browser(), `${setup.address}#/fleet`);
      await page.getByRole('button', { name: NAME }).click();
      await page.waitForSelector('.facts');
      await page.getByRole('link', { name: 'Loss' }).click();
      await until('the balance has it', async () => (await page.locator('[aria-label="Frames by node"] th').allTextContents()).includes(NAME));
      assert.equal(await page.locator('img').count(), 0);
      assert.deepEqual(await violations(page), []);
      assert.deepEqual(faults, []);
      await close();
    } finally {
      await setup.close();
    }
  });

  // The engine refuses what is not finite: the answer is played.
  test('what is not a number is shown as unknown, and the rest of the slot as it is', async () => {
    const setup = await startRoom();
    try {
      const told = await until('a slot', async () => setup.get('api/v1/sites/room'));
      told.slot.means[0] = 'NaN';
      told.slot.cholesky[3] = 'Infinity';
      told.slot.consistency[2] = '-Infinity';
      const { page, faults, close } = await open(browser(), 'about:blank', { host: setup.address });
      await page.route('**/api/v1/events**', (route) => route.fulfill({ contentType: 'text/event-stream', body: `data: ${JSON.stringify(told)}\n\n` }));
      await page.goto(`${setup.address}#/room/room?subject=${told.slot.subjects[0]}`);
      await page.waitForSelector('.subjects tbody tr:nth-child(6)');
      const rows = Object.fromEntries(await page.$$eval('.subjects tbody tr', (list) => list.map((row) => [row.cells[0].textContent, [...row.cells].map((cell) => cell.textContent)])));
      const [first, second, third] = told.slot.subjects.map((subject) => rows[subject]);
      assert.equal(first[1], '–');
      assert.equal(first[2], told.slot.means[1].toFixed(3));
      assert.equal(second[3], '–');
      assert.equal(third[5], '–');
      assert.doesNotMatch(await page.locator('main').textContent(), /NaN|Infinity|undefined/);
      assert.deepEqual(await violations(page), []);
      assert.deepEqual(faults, []);
      await close();
    } finally {
      await setup.close();
    }
  });

  // No simulated source has so many: the answer is played.
  test('a thousand subjects are a table and a picture', async () => {
    const setup = await startRoom();
    try {
      const told = await until('a slot', async () => setup.get('api/v1/sites/room'));
      const each = (values) => Array.from({ length: 1000 }, (_, i) => values(i)).flat();
      Object.assign(told.slot, {
        subjects: each((i) => i), means: each((i) => [(i % 40) / 4 - 5, Math.floor(i / 40) / 3 - 4]), cholesky: each(() => [0.01, 0, 0.01]),
        contributors: each(() => '15'), consistency: each(() => 1), velocities: [], log_probabilities: [],
      });
      delete told.truth;
      const { page, faults, close } = await open(browser(), 'about:blank', { host: setup.address });
      await page.route('**/api/v1/events**', (route) => route.fulfill({ contentType: 'text/event-stream', body: `data: ${JSON.stringify(told)}\n\n` }));
      await page.goto(setup.address);
      await page.waitForSelector('.subjects tbody tr:nth-child(1000)');
      await page.locator('.subjects button').nth(999).click();
      await page.waitForURL(/subject=999/);
      await page.waitForSelector('tr.chosen');
      await page.getByRole('link', { name: 'Sources' }).click();
      await page.waitForSelector('[aria-label="Sources"] tbody tr');
      assert.deepEqual(faults, []);
      await close();
    } finally {
      await setup.close();
    }
  });

  test('a page of another build than the aggregator’s asks to be loaded again', { skip: process.env.TRIBUTARY_PAGE && 'only the built-in page has a build' }, async () => {
    const setup = await Setup.create();
    try {
      await setup.startAggregator(['', '\n[[site]]\nname = "room"\nsources = ["one"]\n']);
      const { page, faults, close } = await open(browser(), 'about:blank', { host: setup.address });
      let old = true;
      await page.route(setup.address, async (route) => {
        const answer = await route.fetch();
        const body = await answer.text();
        await route.fulfill({ response: answer, body: old ? body.replace(/(tributary-page" content=")[0-9a-f]{32}/, '$1yesterday') : body });
      });
      await page.goto(setup.address);
      await page.waitForSelector('text=The aggregator has another page');
      assert.deepEqual(await violations(page), []);
      old = false;
      await page.getByRole('button', { name: 'Load it' }).click();
      await page.waitForSelector('text=The aggregator has another page', { state: 'detached' });
      await page.waitForSelector('text=No slot yet');
      await sleep(1_500); // a further answer
      assert.equal(await page.locator('text=another page').count(), 0);
      assert.deepEqual(faults, []);
      await close();
    } finally {
      await setup.close();
    }
  });

  test('500 event streams that never read take no memory and lock nobody out for long', async () => {
    const setup = await startRoom({ subjects: 16 });
    const [host, port] = setup.http.split(':');
    const before = setup.residentMiB('aggregator');
    const readers = Array.from({ length: 500 }, () => connect({ host, port: Number(port) }).on('error', () => undefined));
    try {
      for (const reader of readers) reader.pause().write('GET /api/v1/events?rate_hz=50 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
      let most = 0;
      for (let i = 0; i < 30; ++i) {
        await sleep(100);
        most = Math.max(most, setup.residentMiB('aggregator'));
      }
      // Sixteen streams with a text each; the kernel holds at most the socket buffers of these.
      assert.ok(most < before + 16, `${most} MiB after ${before} MiB`);
      for (const reader of readers) reader.destroy();
      await until('the streams are gone', async () => /\ntributary_http_event_streams 0\n/.test((await setup.ask('metrics')).text));
      const { page, faults, close } = await open(browser(), setup.address);
      await page.waitForSelector('.subjects tbody tr:nth-child(16)');
      assert.deepEqual(faults, []);
      await close();
    } finally {
      for (const reader of readers) reader.destroy();
      await setup.close();
    }
  });

  test('a slow link shows the present, not a queue of the past', async () => {
    const setup = await startRoom({ subjects: 16 });
    try {
      const { page, faults, close } = await open(browser(), setup.address);
      await page.waitForSelector('.subjects tbody tr');
      const link = await page.context().newCDPSession(page);
      const bytesPerS = 20_000; // a third of what the stream takes
      await link.send('Network.emulateNetworkConditions', { offline: false, latency: 300, downloadThroughput: bytesPerS, uploadThroughput: bytesPerS });
      await page.addInitScript(() => {
        const Real = window.EventSource;
        window.EventSource = class extends Real {
          constructor(address) {
            super(address);
            this.addEventListener('message', (event) => (window.slotMs = Number(JSON.parse(event.data).slot.fused_unix_ns) / 1e6));
          }
        };
      });
      await page.reload();
      await page.waitForSelector('.subjects tbody tr', { timeout: 60_000 });
      await sleep(8_000);
      const ageMs = Date.now() - await page.evaluate(() => window.slotMs);
      assert.ok(ageMs < 5_000, `${ageMs} ms old`);
      assert.deepEqual(faults, []);
      await close();
    } finally {
      await setup.close();
    }
  });
}
