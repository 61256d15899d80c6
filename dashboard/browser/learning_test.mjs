// A small federation: its rounds, nodes and models as the API has them.
import { readFile } from 'node:fs/promises';
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { open, PHONE, violations } from './chromium.mjs';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './daemons.mjs';
import { LEARNERS, startFederation } from './federation.mjs';

const DELETES = 'delete' in JSON.parse(readFileSync(join(ROOT, 'docs/openapi.json'), 'utf8')).paths['/api/v1/runs/{run}'];

export function learningTests(browser) {
  let setup;
  before(async () => (setup = await startFederation()));
  after(() => setup.close());

  test('a run shows its rounds, nodes and curves', async () => {
    const { page, faults, close } = await open(browser(), `${setup.address}#/learning`);
    await page.getByRole('link', { name: 'demo' }).click();
    // The judgement of a model follows its round.
    await page.waitForSelector('section:has(h3:has-text("Accuracy on")) .chart canvas');
    const { run, history, participants } = await setup.get('api/v1/runs/demo');
    assert.equal(await page.locator('.figure dd').first().textContent(), `${run.committed_rounds} of ${run.rounds}`);
    const rounds = await page.$$eval('[aria-label="Latest rounds"] tbody tr', (rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent)));
    assert.deepEqual(rounds.map((row) => Number(row[0])), history.map((round) => round.round).reverse());
    assert.deepEqual(rounds.map((row) => row[3]), history.map((round) => `${round.accepted} of ${round.asked}`).reverse());
    const nodes = await page.$$eval('[aria-label="Nodes of the run"] tbody tr', (rows) => rows.map((row) => [row.cells[0].textContent, Number(row.cells[4].textContent)]));
    assert.deepEqual(nodes, participants.map((node) => [node.node, Number(node.accepted_updates)]));
    assert.deepEqual(nodes.map(([name]) => name).sort(), [...LEARNERS].sort());
    const charts = await page.$$eval('.chart', (all) => all.map((chart) => chart.closest('section').querySelector('h3').textContent));
    assert.deepEqual(charts, ['Loss', 'Accuracy on the operator’s images (%)', 'Spread of features (0: all alike)', 'Combined update (L2 norm)', 'Updates (MB a round)']);
    assert.deepEqual(await violations(page), []);
    assert.deepEqual(faults, []);
    await close();
  });

  test('a model is saved as safetensors and as ONNX', async () => {
    const { page, faults, close } = await open(browser(), `${setup.address}#/learning/demo`);
    for (const [word, extension, content] of [['safetensors', 'safetensors', 'data_offsets'], ['ONNX', 'onnx', 'features, not classes']]) {
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('link', { name: `${word} of the model after round 1`, exact: true }).click(),
      ]);
      assert.equal(download.suggestedFilename().endsWith(`.${extension}`), true, download.suggestedFilename());
      assert.ok((await readFile(await download.path())).includes(content));
    }
    assert.deepEqual(faults, []);
    await close();
  });

  test('nothing is deleted without a confirmation that says what happens', { skip: !DELETES && 'this aggregator deletes no run over HTTP' }, async () => {
    const { page, faults, close } = await open(browser(), `${setup.address}#/learning/demo`, { viewport: PHONE, colorScheme: 'dark' });
    await page.getByRole('button', { name: 'Delete' }).click();
    assert.match(await page.locator('dialog p').textContent(), /demo disappears with its history and all of its models/);
    assert.deepEqual(await violations(page), []);
    await page.keyboard.press('Escape');
    await page.waitForSelector('dialog', { state: 'detached' });
    assert.equal((await setup.get('api/v1/runs')).runs.length, 1);
    const lines = await page.$$eval('td.time', (cells) => cells.map((cell) => {
      const text = document.createRange();
      text.selectNodeContents(cell);
      return text.getClientRects().length;
    }));
    assert.ok(lines.length > 0 && lines.every((each) => each === 1), `lines of each time: ${lines}`);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
    assert.deepEqual(faults, []);
    await close();
  });
}
