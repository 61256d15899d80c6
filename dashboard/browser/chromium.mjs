// A browser that remembers what a page must not do: errors, failed requests, requests to other hosts.
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { chromium } from 'playwright-core';

const PATHS = [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
export const CHROMIUM = PATHS.find((path) => path && existsSync(path));
const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
export const DESKTOP = { width: 1280, height: 800 };
export const PHONE = { width: 390, height: 844 };

export function launch() {
  return chromium.launch({ executablePath: CHROMIUM, args: process.getuid?.() === 0 ? ['--no-sandbox'] : [] });
}

// `host`: of the requests that are allowed, if it is not the address's.
export async function open(browser, address, { viewport = DESKTOP, colorScheme = 'light', host: server = address } = {}) {
  // The authority of the tests is in no browser's list.
  const context = await browser.newContext({ viewport, colorScheme, reducedMotion: 'reduce', ignoreHTTPSErrors: true });
  const page = await context.newPage();
  const faults = [];
  const { host } = new URL(server);
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) faults.push(`console: ${message.text()}`);
  });
  page.on('pageerror', (error) => faults.push(`exception: ${error.message}`));
  page.on('dialog', (dialog) => {
    faults.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('request', (request) => {
    if (new URL(request.url()).host !== host) faults.push(`request to another host: ${request.url()}`);
  });
  page.on('requestfailed', (request) => {
    // The page itself ends a stream when it needs another one.
    if (request.failure()?.errorText !== 'net::ERR_ABORTED') faults.push(`failed: ${request.url()} ${request.failure()?.errorText}`);
  });
  page.on('response', (response) => {
    if (response.status() >= 400) faults.push(`status ${response.status()}: ${response.url()}`);
  });
  await page.goto(address);
  return { page, faults, close: () => context.close() };
}

// Violations of level A or AA, one line each.
export async function violations(page) {
  await page.evaluate(readFileSync(AXE, 'utf8'));
  const found = await page.evaluate(
    'axe.run(document, { runOnly: { type: "tag", values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"] } })',
  );
  return found.violations.map((each) => `${each.id}: ${each.help}: ${each.nodes.map((node) => node.html).slice(0, 3).join(' | ')}`);
}
