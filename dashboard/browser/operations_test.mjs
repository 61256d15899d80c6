// Runs are controlled from the page, with TLS, tokens and the audit log of a real aggregator.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { open, PHONE, violations } from './chromium.mjs';
import { Setup, until } from './daemons.mjs';
import { LEARNERS, runToml, startLearner } from './federation.mjs';

// The browser itself reports the refusals that these tests provoke.
const unexpected = (faults) => faults.filter((fault) => !/status (of )?40[0139]\b/.test(fault));
const DIALOG = 'dialog[open]';

async function startOperated() {
  const setup = await Setup.create({ names: LEARNERS });
  setup.tokens = {};
  for (const [name, role] of [['anna', 'operator'], ['boris', 'operator'], ['wall', 'viewer']]) setup.tokens[name] = await setup.token(name, role);
  await setup.startAggregator([setup.tls('aggregator'), `tls = true
[access]
nodes = ${JSON.stringify(LEARNERS)}
tokens = "${setup.path('tokens.toml')}"
audit_log = "${setup.path('audit.jsonl')}"
[federation]
store = "${setup.path('store')}"
`]);
  for (const name of LEARNERS.slice(0, 2)) startLearner(setup, name, setup.tls(name));
  return setup;
}

async function signIn(page, token) {
  await page.getByLabel('Token').fill(token);
  await page.keyboard.press('Enter');
  await page.waitForSelector('text=Sign out');
  await page.waitForSelector('text=This aggregator asks who you are', { state: 'detached' });
}

// Presses a button of the page, reads what the question says, and confirms. The whole name is asked for:
// "Roll back to round 1" is also the beginning of "Roll back to round 12", which stands above it.
async function confirm(page, button, verb) {
  await page.getByRole('button', { name: button, exact: true }).first().click();
  await page.waitForSelector(DIALOG);
  const said = await page.locator(`${DIALOG} p`).textContent();
  await page.locator(DIALOG).getByRole('button', { name: verb }).click();
  await page.waitForSelector(DIALOG, { state: 'detached' });
  return said;
}

export function operationsTests(browser) {
  let setup;
  const run = async (name) => (await setup.get(`api/v1/runs/${name}`, { Authorization: `Bearer ${setup.tokens.wall}` })).run;
  const stateBecomes = (name, state) => until(`${name} is ${state}`, async () => (await run(name)).state === `RUN_STATE_${state}`);
  const audit = () => readFileSync(setup.path('audit.jsonl'), 'utf8').trim().split('\n').map((line) => JSON.parse(line));
  const fetchAs = (page, path, method) => page.evaluate(async ([to, how]) => (await fetch(to, { method: how })).status, [path, method]);

  before(async () => (setup = await startOperated()));
  after(() => setup.close());

  test('an operator starts, pauses, resumes, rolls back, stops and deletes a run', async () => {
    const { page, faults, close } = await open(browser(), `${setup.address}#/learning`);
    await page.waitForSelector('.state:has-text("not signed in")');
    assert.match(await page.locator('form code').first().textContent(), /^tributary token create --file \S+ --name \S+ --role viewer$/);
    await signIn(page, setup.tokens.anna);
    await page.getByRole('link', { name: 'Start a run' }).click();
    const faulty = runToml('letters', 1000, 2).replace('rounds = 1000', 'rounds = 0');
    await page.locator('#toml').fill(faulty);
    await page.getByRole('button', { name: 'Check' }).click();
    await page.waitForSelector('.notice.bad li');
    assert.match(await page.locator('.notice.bad li').first().textContent(), /^line 2: .*rounds = 0$/s);
    assert.deepEqual(await violations(page), []);
    await page.locator('#toml').fill(runToml('letters', 1000, 2));
    await page.getByRole('button', { name: 'Check' }).click();
    await page.waitForSelector('text=has no fault');
    await page.getByRole('button', { name: 'Start' }).click();
    await page.waitForURL(/learning\/letters$/);
    await until('a dozen rounds are done', async () => (await run('letters')).committed_rounds >= 12, 60_000);

    assert.match(await confirm(page, 'Pause', 'Pause the run'), /ends at its deadline, then letters starts no other/);
    await stateBecomes('letters', 'PAUSED');
    assert.match(await confirm(page, 'Resume', 'Resume the run'), /starts its next round/);
    await until('it goes on', async () => ['RUN_STATE_RUNNING', 'RUN_STATE_WAITING'].includes((await run('letters')).state));
    await confirm(page, 'Pause', 'Pause the run');
    await stateBecomes('letters', 'PAUSED');
    await page.waitForSelector('[aria-label="Models"] tbody tr:nth-child(3)');
    assert.match(await confirm(page, 'Roll back to round 1', 'Roll back'), /next round starts from the model after round 1\b/);
    await until('the first model is current', async () => {
      const { models } = await setup.get('api/v1/models?run=letters', { Authorization: `Bearer ${setup.tokens.wall}` });
      return models.find((model) => model.current).round === 1;
    });
    assert.match(await confirm(page, 'Stop', 'Stop the run'), /cannot be resumed.*Its models stay/);
    await stateBecomes('letters', 'STOPPED');
    assert.deepEqual(await violations(page), []);
    assert.match(await confirm(page, 'Delete', 'Delete the run'), /with its history and all of its models/);
    await page.waitForURL(/#\/learning$/);
    assert.deepEqual(await setup.get('api/v1/runs', { Authorization: `Bearer ${setup.tokens.wall}` }).then(({ runs }) => runs), []);
    await until('the log has the last one', () => audit().at(-1).action === 'DeleteRun');
    const done = audit().filter((line) => line.name === 'anna' && line.outcome === 'OK').map((line) => line.action);
    assert.deepEqual(done, ['OpenSession', 'StartRun', 'PauseRun', 'ResumeRun', 'PauseRun', 'RollBackModel', 'StopRun', 'DeleteRun']);
    assert.deepEqual(unexpected(faults), []);
    await close();
  });

  test('a viewer sees no button that it may not press, and the API refuses it too', async () => {
    const begun = await setup.ask('api/v1/runs', {
      method: 'POST', headers: { Authorization: `Bearer ${setup.tokens.anna}`, 'Content-Type': 'application/toml' }, body: runToml('watched', 1000, 2),
    });
    assert.equal(begun.status, 201, begun.text);
    const { page, faults, close } = await open(browser(), `${setup.address}#/learning/watched`, { viewport: PHONE });
    await signIn(page, setup.tokens.wall);
    await page.waitForSelector('[aria-label="Models"] tbody tr');
    await page.waitForSelector('text=wall (viewer)');
    const buttons = await page.getByRole('button').allTextContents();
    assert.deepEqual(buttons, ['Sign out']);
    assert.equal(await page.locator('a[download]').count(), 0);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
    assert.deepEqual(await violations(page), []);
    assert.equal(await fetchAs(page, 'api/v1/runs/watched/stop', 'POST'), 403);
    assert.equal(await fetchAs(page, 'api/v1/runs/watched', 'DELETE'), 403);
    assert.equal(await fetchAs(page, 'api/v1/models/rollback?run=watched&round=0', 'POST'), 403);
    assert.match((await run('watched')).state, /RUNNING|WAITING/);
    await until('the log has all three', () => audit().filter((line) => line.name === 'wall' && line.outcome === 'PERMISSION_DENIED').length === 3);
    assert.deepEqual(unexpected(faults), []);
    await close();
  });

  test('of two operators, the later one is told what the earlier one did', async () => {
    const first = await open(browser(), `${setup.address}#/learning/watched`);
    const second = await open(browser(), `${setup.address}#/learning/watched`);
    await signIn(first.page, setup.tokens.anna);
    await signIn(second.page, setup.tokens.boris);
    await second.page.getByRole('button', { name: 'Pause' }).click();
    await second.page.waitForSelector(DIALOG);
    await confirm(first.page, 'Stop', 'Stop the run');
    await stateBecomes('watched', 'STOPPED');
    await second.page.locator(DIALOG).getByRole('button', { name: 'Pause the run' }).click();
    await second.page.waitForSelector(`${DIALOG} .notice.bad`);
    assert.match(await second.page.locator(`${DIALOG} .notice.bad`).textContent(), /has ended/);
    await second.page.keyboard.press('Escape');
    await second.page.waitForSelector('.state:text-is("stopped")');
    assert.equal(await second.page.getByRole('button', { name: 'Pause' }).count(), 0);
    assert.equal((await run('watched')).state, 'RUN_STATE_STOPPED');
    await until('the log has it', () => audit().some((line) => line.name === 'boris' && line.action === 'PauseRun' && line.outcome !== 'OK'));
    for (const { faults, close } of [first, second]) {
      assert.deepEqual(unexpected(faults), []);
      await close();
    }
  });

  test('a revoked and an expired token close the open page, which asks again', async () => {
    const { page, faults, close } = await open(browser(), `${setup.address}#/learning/watched`);
    const guest = await setup.token('guest', 'operator');
    await setup.untilInForce(guest);
    await signIn(page, guest);
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.waitForSelector(DIALOG);
    await setup.run('tributary', 'token', 'revoke', 'guest', '--file', setup.path('tokens.toml'));
    await page.waitForSelector('text=This aggregator asks who you are');
    assert.equal(await page.locator(DIALOG).count(), 0, 'what the page knew is gone');
    assert.equal(await page.locator('text=watched').count(), 0);
    assert.equal(await fetchAs(page, 'api/v1/runs/watched', 'DELETE'), 401);

    const short = await setup.token('short', 'viewer');
    const file = setup.path('tokens.toml');
    const soon = Math.floor(Date.now() / 1000) + 4;
    writeFileSync(file, readFileSync(file, 'utf8').replace(/(name = "short"[^[]*expires_unix_s = )\d+/, `$1${soon}`));
    await setup.untilInForce(short);
    await signIn(page, short);
    await page.waitForSelector('text=This aggregator asks who you are');
    assert.ok(Date.now() / 1000 >= soon);
    await page.getByLabel('Token').fill(short);
    await page.keyboard.press('Enter');
    await page.waitForSelector('.notice.bad');
    assert.match(await page.locator('.notice.bad').textContent(), /"short" has expired/);

    await signIn(page, setup.tokens.wall);
    await page.waitForSelector('text=watched');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.waitForSelector('text=This aggregator asks who you are');
    const kept = await page.evaluate(() => JSON.stringify([document.documentElement.outerHTML, localStorage, sessionStorage, location.href, document.cookie]));
    assert.ok(!kept.includes(setup.tokens.wall), 'the page does not keep the token');
    const log = readFileSync(setup.path('audit.jsonl'), 'utf8');
    for (const secret of [short, ...Object.values(setup.tokens)]) assert.ok(!log.includes(secret.slice(-64)), 'no secret in the audit log');
    assert.deepEqual(unexpected(faults), []);
    await close();
  });
}
