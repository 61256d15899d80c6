// The page in a browser against real daemons.
// usage: node browser/run.mjs     exit status 77: the browser or a program is missing
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
const { roomTests } = await import('./room_test.mjs');

let browser;
before(async () => (browser = await launch()));
after(() => browser.close());
describe('room', () => roomTests(() => browser));
