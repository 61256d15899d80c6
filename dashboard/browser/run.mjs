// The page in a browser against real daemons.
// usage: node browser/run.mjs [room|sites|classes|learning|operations|hostile]...
// Exit status 77: the browser or a program is missing. TRIBUTARY_PAGE=FOLDER tests a page that is not built in yet.
import { existsSync } from 'node:fs';
import { after, before, describe } from 'node:test';

if (!existsSync(new URL('../node_modules/playwright-core', import.meta.url))) {
  console.log('skipped: dashboard/node_modules is missing; the build makes it where npm is installed');
  process.exit(77);
}
const { CHROMIUM, launch } = await import('./chromium.mjs');
if (CHROMIUM === undefined) {
  console.log('skipped: Chromium is missing (Debian package chromium)');
  process.exit(77);
}
const { hostileTests } = await import('./hostile_test.mjs');
const { learningTests } = await import('./learning_test.mjs');
const { operationsTests } = await import('./operations_test.mjs');
const { radioTests } = await import('./radio_test.mjs');
const { roomTests } = await import('./room_test.mjs');
const { siteViewTests } = await import('./site_views_test.mjs');

let browser;
before(async () => (browser = await launch()));
after(() => browser.close());
const groups = { room: roomTests, sites: siteViewTests, classes: radioTests, learning: learningTests, operations: operationsTests, hostile: hostileTests };
const asked = process.argv.slice(2);
for (const [name, tests] of Object.entries(groups)) {
  if (asked.length === 0 || asked.includes(name)) describe(name, () => tests(() => browser));
}
