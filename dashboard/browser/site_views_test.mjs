// Sources, Loss and Fleet against a room in which one panel sees other users than the rest.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { open, PHONE, violations } from './chromium.mjs';
import { until } from './daemons.mjs';
import { startRoom, WALLS } from './lis.mjs';

const cells = (page, selector) => page.$$eval(selector, (rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent)));

export function siteViewTests(browser) {
  let setup;
  before(async () => (setup = await startRoom({ seeds: { east: 2 } })));
  after(() => setup.close());

  test('the liar stands first, with a reason', async () => {
    const { page, faults, close } = await open(browser(), `${setup.address}#/sources/room`);
    await until('east stands first', async () => (await cells(page, '[aria-label="Sources"] tbody tr'))[0]?.[0] === 'east');
    const rows = await cells(page, '[aria-label="Sources"] tbody tr');
    assert.equal(rows[0][1], 'look here');
    assert.match(rows[0][8], /Over-confident or displaced/);
    assert.equal(rows.length, 4);
    const { sites } = await setup.get('api/v1/sites');
    const east = sites[0].sources.find((source) => source.name === 'east');
    assert.ok(Math.abs(Number(rows[0][2].replace(',', '')) / east.consistency - 1) < 0.5, `${rows[0][2]} beside ${east.consistency}`);
    await until('the page has each band of the API', async () => (await cells(page, '[aria-label="Sources"] tbody tr')).every((row) => /^0\.[89]\d* to 1\.[01]\d*$/.test(row[3])));
    const { sites: later } = await setup.get('api/v1/sites');
    for (const { consistency_band: { low, high, tuples } } of later[0].sources) assert.ok(low > 0.8 && low < 1 && high > 1 && high < 1.2 && tuples > 100, `${low} ${high} ${tuples}`);
    await page.getByRole('button', { name: 'north', exact: true }).click();
    await page.waitForSelector('text=Consistency of north');
    assert.equal(await page.locator('.chart').getAttribute('aria-label'), 'Consistency of north over time');
    assert.deepEqual(await violations(page), []);
    assert.deepEqual(faults, []);
    await close();
  });

  test('each source has its calibration, in the words of the API', async () => {
    const { page, faults, close } = await open(browser(), `${setup.address}#/sources/room`);
    await page.waitForSelector('text=tuples are fused as sent');
    await until('east has a finding', async () => (await cells(page, '[aria-label="Calibration"] tbody tr'))[0]?.[1] === 'notable');
    const rows = await cells(page, '[aria-label="Calibration"] tbody tr');
    assert.deepEqual(rows.map((row) => row[0]).sort(), [...WALLS].sort());
    const { sites } = await setup.get('api/v1/sites');
    assert.equal(sites[0].calibration, 'CALIBRATION_MODE_OBSERVE');
    const east = sites[0].sources.find((source) => source.name === 'east').calibration;
    assert.match(east.finding, /not corrected$/);
    assert.match(rows.find((row) => row[0] === 'east')[7], /times as large as it claims; not corrected$/);
    for (const row of rows) assert.match(row[5], /^-?\d+\.\d\d ± \d+\.\d\d °$/);
    assert.deepEqual(await violations(page), []);
    assert.deepEqual(faults, []);
    await close();
  });

  test('a stopped panel is called silent', async () => {
    const { page, faults, close } = await open(browser(), `${setup.address}#/sources/room`, { viewport: PHONE, colorScheme: 'dark' });
    await setup.stop('west');
    await until('west is silent', async () => (await cells(page, '[aria-label="Sources"] tbody tr')).some((row) => row[0] === 'west' && /Silent for/.test(row[8])));
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
    assert.deepEqual(await violations(page), []);
    assert.deepEqual(faults, []);
    await close();
  });

  test('the account of frames and tuples adds up to what the API has', async () => {
    const { page, faults, close } = await open(browser(), `${setup.address}#/loss/room`);
    await page.waitForSelector('.bar');
    const before = await setup.get('api/v1/sites/room/flow');
    await page.waitForTimeout(2_500);
    const [frames, tuples] = await page.$$eval('section', (sections) =>
      sections.slice(0, 2).map((section) => ({
        total: Number(/: ([\d,]+)/.exec(section.querySelector('h3').textContent)[1].replaceAll(',', '')),
        sum: [...section.querySelectorAll('tbody tr')].reduce((sum, row) => sum + Number(row.cells[1].textContent.replaceAll(',', '')), 0),
      })));
    const after = await setup.get('api/v1/sites/room/flow');
    for (const [shown, key] of [[frames, 'frames'], [tuples, 'tuples']]) {
      assert.equal(shown.sum, shown.total);
      assert.ok(shown.total >= Number(before[key].total) && shown.total <= Number(after[key].total), key);
    }
    const { nodes } = await setup.get('api/v1/nodes');
    const telling = nodes.filter((node) => node.connected && node.status !== undefined).length;
    await until('the nodes’ frames add up', async () => (await page.locator('text=adds up').count()) >= telling);
    assert.equal(await page.locator('.notice.bad').count(), 0);
    assert.deepEqual(await violations(page), []);
    assert.deepEqual(faults, []);
    await close();
  });

  test('the fleet lists the nodes of the API and opens what each says', async () => {
    const { page, faults, close } = await open(browser(), `${setup.address}#/fleet`);
    await page.waitForSelector('tbody tr:nth-child(4)');
    const nodesShown = () => cells(page, '[aria-label="Nodes"] tbody tr');
    await until('those in trouble come first', async () => {
      const [first] = await nodesShown();
      return first?.[0] === 'west' && first[2] === 'not connected';
    });
    assert.deepEqual((await nodesShown()).map((row) => row[0]).sort(), [...WALLS].sort());
    await page.getByRole('button', { name: 'north' }).press('Enter');
    const { nodes } = await setup.get('api/v1/nodes');
    const north = nodes.find((node) => node.name === 'north');
    const facts = await page.locator('.facts').textContent();
    assert.ok(facts.includes(Buffer.from(north.model_sha256, 'base64').toString('hex')), facts);
    const checks = await page.locator('[aria-label="Checks"] li').allTextContents();
    assert.deepEqual(checks.map((each) => /^(?:ok|warning|fault) ([^:]+):/.exec(each)?.[1]), north.status.checks.map((each) => each.check));
    assert.deepEqual(north.status.checks.map((each) => each.check), ['clock', 'free memory']);
    await page.getByLabel('Find').fill('nor lis');
    await until('one is left', async () => (await page.locator('tbody tr:not(.details)').count()) === 1);
    assert.deepEqual(await violations(page), []);
    assert.deepEqual(faults, []);
    await close();
  });

  test('every view fits a phone, light and dark', async () => {
    for (const view of ['room', 'sources', 'learning', 'fleet', 'loss']) {
      for (const colorScheme of ['light', 'dark']) {
        const { page, faults, close } = await open(browser(), `${setup.address}#/${view}`, { viewport: PHONE, colorScheme });
        await page.waitForSelector('main :is(table, .empty, .notice)');
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${view} is too wide`);
        assert.deepEqual(await violations(page), [], `${view}, ${colorScheme}`);
        // This aggregator has no [federation], which the browser reports as a request that found nothing.
        assert.deepEqual(faults.filter((fault) => view !== 'learning' || !/status (of )?404/.test(fault)), []);
        await close();
      }
    }
  });
}
