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

  // The aggregator of this test knows no tokens: the refusal and the session are played.
  test('a page that is refused asks for a token, which opens a session and is not kept', async () => {
    const setup = await Setup.create();
    try {
      await setup.startAggregator(['', '\n[[site]]\nname = "room"\nsources = ["one"]\n']);
      const { page, close } = await open(browser(), 'about:blank');
      let session = false;
      const headers = [];
      await page.route('**/api/v1/sites', (route) =>
        session ? route.continue() : route.fulfill({ status: 401, contentType: 'application/json', body: '{"error": "say who you are"}' }));
      await page.route('**/api/v1/session', (route) => {
        headers.push(route.request().headers().authorization);
        session = headers.length === 2;
        return session ? route.fulfill({ status: 200, contentType: 'application/json', body: '{"name": "wall"}' })
          : route.fulfill({ status: 401, contentType: 'application/json', body: '{"error": "the token has expired"}' });
      });
      await page.goto(setup.address);
      await page.getByLabel('Token').fill(' first ');
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.waitForSelector('text=the token has expired');
      assert.deepEqual(await violations(page), []);
      await page.getByLabel('Token').fill('second');
      await page.keyboard.press('Enter');
      await page.waitForSelector('text=No slot yet');
      assert.deepEqual(headers, ['Bearer first', 'Bearer second']);
      assert.equal(await page.evaluate(() => JSON.stringify([localStorage, sessionStorage, location.href, document.cookie]).includes('second')), false);
      await close();
    } finally {
      await setup.close();
    }
  });
}
