// Takes the pictures of README.md and docs/dashboard.md from real daemons.
// usage: node browser/pictures.mjs
import { join } from 'node:path';
import { launch, open } from './chromium.mjs';
import { ROOT } from './daemons.mjs';
import { startFederation } from './federation.mjs';
import { startRoom } from './lis.mjs';
import { startRadio } from './radio.mjs';

const browser = await launch();

async function take(setup, hash, name, ready, colorScheme = 'light') {
  const { page, close } = await open(browser, `${setup.address}#${hash}`, { colorScheme, viewport: { width: 1280, height: 760 } });
  await page.waitForSelector(ready);
  await page.waitForTimeout(8_000);
  await page.screenshot({ path: join(ROOT, 'docs/images', `${name}.png`) });
  await close();
}

async function pictures(starting, list) {
  const setup = await starting;
  try {
    for (const each of list) await take(setup, ...each);
  } finally {
    await setup.close();
  }
}

await pictures(startRoom({ subjects: 16, rateHz: 200 }), [
  ['/room/room?subject=3', 'dashboard-room', '.subjects'],
  ['/room/room?subject=3', 'dashboard-room-dark', '.subjects', 'dark'],
]);
await pictures(startRoom({ seeds: { east: 2 } }), [['/sources/room', 'dashboard-sources', '.chart canvas']]);
await pictures(startRadio(8), [['/room/band?subject=2', 'dashboard-classes', 'caption:has-text("What is true")']]);
await pictures(startFederation(24), [
  ['/learning/demo', 'dashboard-learning', '.chart canvas'],
  ['/learning/demo', 'dashboard-learning-dark', '.chart canvas', 'dark'],
]);
await browser.close();
process.exit(0);
