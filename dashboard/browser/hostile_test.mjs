// Names that try to be markup, and views that have nothing to show.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { open, violations } from './chromium.mjs';
import { Setup, until } from './daemons.mjs';

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
}
