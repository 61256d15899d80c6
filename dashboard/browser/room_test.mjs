// The room view against a room with four panels.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { open, PHONE, violations } from './chromium.mjs';
import { until } from './daemons.mjs';
import { startRoom, WALLS } from './lis.mjs';

export function roomTests(browser) {
  let setup;
  before(async () => (setup = await startRoom()));
  after(() => setup.close());

  test('the room shows the subjects of the API, live', async () => {
    const { page, faults, close } = await open(browser(), setup.address);
    await page.waitForSelector('.subjects tbody tr:nth-child(6)');
    // While the browser starts, a panel may miss a slot's deadline.
    await until('all panels are in a slot', () => page.$$eval('.subjects tbody tr', (rows) =>
      rows.length === 6 && rows.every((row) => row.cells[4].textContent === '4 of 4')));
    await page.getByRole('button', { name: 'Pause' }).click();
    const shown = await page.$$eval('.subjects tbody tr', (rows) =>
      rows.map((row) => [...row.cells].map((cell) => cell.textContent)));
    const { slot } = await setup.get('api/v1/sites/room');
    assert.deepEqual(shown.map((row) => Number(row[0])), [...slot.subjects].sort((a, b) => a - b));
    // Subjects walk at about 1 m/s; between the two pictures lie some milliseconds.
    for (const row of shown) {
      const i = slot.subjects.indexOf(Number(row[0]));
      const moved = Math.hypot(Number(row[1]) - slot.means[2 * i], Number(row[2]) - slot.means[2 * i + 1]);
      assert.ok(moved < 2, `subject ${row[0]} moved ${moved} m`);
      assert.match(row[4], /^[1-4] of 4$/);
    }
    await page.getByRole('button', { name: 'Go live' }).click();
    await until('the picture goes on', async () => (await page.locator('.timeline output').textContent()) === 'live');
    assert.deepEqual(await violations(page), []);
    assert.deepEqual(faults, []);
    await close();
  });

  test('a chosen subject shows what each source says, and its error', async () => {
    const { page, faults, close } = await open(browser(), `${setup.address}#/room/room?subject=2`);
    await page.waitForSelector('caption:has-text("What each source says of subject 2")');
    const told = await page.$$eval('.beside table:has(caption:not(.hidden)) tbody th', (cells) => cells.map((cell) => cell.textContent));
    assert.deepEqual(told.sort(), [...WALLS].sort());
    const errors = await page.$$eval('.subjects tbody tr', (rows) => rows.map((row) => Number(row.cells[6].textContent)));
    assert.equal(errors.length, 6);
    for (const error of errors) assert.ok(error > 0 && error < 30, `${error} cm`);
    // The picture is not empty: a wall, a panel and a subject have their colours.
    const seen = await page.$eval('canvas', (canvas) => {
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      const found = new Set();
      for (let i = 0; i < data.length; i += 4) if (data[i + 3] === 255) found.add(`${data[i]},${data[i + 1]},${data[i + 2]}`);
      return [...found];
    });
    for (const colour of ['28,36,44', '22,101,168', '163,54,10', '23,112,58']) assert.ok(seen.includes(colour), colour);
    assert.deepEqual(await violations(page), []);
    assert.deepEqual(faults, []);
    await close();
  });

  test('the table of subjects is not cut on a laptop', async () => {
    const { page, faults, close } = await open(browser(), `${setup.address}#/room/room`);
    await page.waitForSelector('.subjects tbody tr:nth-child(6)');
    const [shown, needed] = await page.$eval('[aria-label="Subjects"]', (region) => [region.clientWidth, region.scrollWidth]);
    assert.ok(needed <= shown, `${needed} px wide in ${shown} px`);
    assert.deepEqual(faults, []);
    await close();
  });

  test('a look back stands still while the room goes on', async () => {
    const { page, faults, close } = await open(browser(), setup.address);
    await page.waitForSelector('.timeline input');
    await until('two seconds are there', async () => Number(await page.locator('.timeline input').getAttribute('min')) < -2000);
    await page.locator('.timeline input').fill('-1500');
    await until('the picture is of then', async () => /s ago/.test(await page.locator('.timeline output').textContent()));
    const before = await page.locator('.subjects tbody').textContent();
    await page.waitForTimeout(600);
    assert.equal(await page.locator('.subjects tbody').textContent(), before);
    await page.keyboard.press('ArrowRight');
    assert.deepEqual(faults, []);
    await close();
  });

  test('a chosen subject is part of the address, and a phone shows the page without scrolling sideways', async () => {
    const { page, faults, close } = await open(browser(), `${setup.address}#/room/room?subject=3`, { viewport: PHONE, colorScheme: 'dark' });
    await page.waitForSelector('tr.chosen');
    assert.equal(await page.locator('tr.chosen th').textContent(), '3');
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
    await page.locator('.subjects button').first().click();
    await page.waitForURL(/subject=1$/);
    assert.deepEqual(await violations(page), []);
    assert.deepEqual(faults, []);
    await close();
  });

  test('a killed aggregator is said, and the page goes on when it is back', async () => {
    const { page, faults, close } = await open(browser(), setup.address);
    await page.waitForSelector('.subjects tbody tr');
    await setup.stop('aggregator', 'SIGKILL');
    await page.waitForSelector('.notice.bad');
    await setup.startAggregator();
    await page.waitForSelector('.notice', { state: 'detached', timeout: 20_000 });
    await until('slots come again', async () => (await page.locator('.figure').first().textContent())?.includes('/s'));
    // The browser itself reports each request that found nobody.
    assert.deepEqual(faults.filter((fault) => !/ERR_CONNECTION_REFUSED|ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET|ERR_INCOMPLETE_CHUNKED|^failed: /.test(fault)), []);
    await close();
  });
}
