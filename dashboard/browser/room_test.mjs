// The room view against a room with four panels.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { open, PHONE, violations } from './chromium.mjs';
import { until } from './daemons.mjs';
import { startRoom } from './lis.mjs';

export function roomTests(browser) {
  let setup;
  before(async () => (setup = await startRoom()));
  after(() => setup.close());

  test('the room shows the subjects of the API, live', async () => {
    const { page, faults, close } = await open(browser(), setup.address);
    await page.waitForSelector('.subjects tbody tr:nth-child(6)');
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
      assert.equal(row[4], '4 of 4');
    }
    await page.getByRole('button', { name: 'Go live' }).click();
    await until('the picture goes on', async () => (await page.locator('.timeline output').textContent()) === 'live');
    assert.deepEqual(await violations(page), []);
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
