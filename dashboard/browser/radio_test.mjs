// A site whose subjects have classes.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { open, violations } from './chromium.mjs';
import { until } from './daemons.mjs';
import { CLASSES, startRadio } from './radio.mjs';

export function radioTests(browser) {
  let setup;
  before(async () => (setup = await startRadio()));
  after(() => setup.close());

  test('classes have probabilities, fused and by source, and a confusion against the truth', async () => {
    const { page, faults, close } = await open(browser(), `${setup.address}#/room/band?subject=2`);
    await page.waitForSelector('caption:has-text("Subject 2: probability")');
    const header = await page.$$eval('.beside thead th', (names) => names.map((name) => name.textContent));
    assert.deepEqual(header.slice(3).sort(), ['east', 'north', 'south', 'west']);
    await page.getByRole('button', { name: 'Pause' }).click();
    const shares = await page.$$eval('.beside tbody tr', (rows) => rows.map((row) => [row.cells[0].textContent.replace(' (true)', ''), row.cells[1].textContent]));
    assert.deepEqual(shares.map(([name]) => name), CLASSES);
    const sum = shares.reduce((total, [, text]) => total + Number(/[\d.]+/.exec(text)[0]), 0);
    assert.ok(Math.abs(sum - 100) < 1, `${sum} %`);
    const asked = page.waitForResponse((answer) => /\/burst\?.*receiver=3/.test(answer.url()));
    await page.getByLabel('Receiver').fill('3');
    const burst = await (await asked).json();
    assert.deepEqual([burst.subject, burst.receiver, burst.in_phase.length], [2, 3, 128]);
    const truth = await page.$$eval('.beside tbody th', (names) => names.map((name) => name.textContent).find((name) => name.endsWith(' (true)')));
    assert.equal(`${burst.modulation} (true)`, truth, 'the burst of the slot that is shown');
    await page.waitForSelector(`.burst svg[aria-label*="${burst.modulation}"]`);
    assert.equal(await page.locator('.burst circle').count(), 128);
    await page.getByRole('button', { name: 'Go live' }).click();
    await until('the confusion counts', async () => Number(/; ([\d,]+) est/.exec(await page.locator('caption:has-text("What is true")').textContent())[1].replace(',', '')) > 60);
    const right = Number(/([\d.]+) % right/.exec(await page.locator('caption:has-text("What is true")').textContent())[1]);
    assert.ok(right > 50, `${right} % right; a guess is right in 10 %`);
    assert.deepEqual(await violations(page), []);
    assert.deepEqual(faults, []);
    await close();
  });
}
