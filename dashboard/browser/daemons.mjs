// Real daemons in a scratch folder: an aggregator whose ports stay the same when it is started again, and nodes.
import { spawn } from 'node:child_process';
import { mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { servePage } from './page_server.mjs';

export const ROOT = resolve(import.meta.dirname ?? new URL('.', import.meta.url).pathname, '../..');
const BIN = process.env.TRIBUTARY_BIN_DIR ?? join(ROOT, 'build/release/bin');
const PATIENCE_MS = 20_000;

export const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

export async function until(what, condition, patienceMs = PATIENCE_MS) {
  const end = Date.now() + patienceMs;
  for (;;) {
    const found = await Promise.resolve().then(condition).catch(() => undefined);
    if (found) return found;
    if (Date.now() > end) throw new Error(`${what}: not within ${patienceMs / 1000} s`);
    await sleep(50);
  }
}

function freePort() {
  return new Promise((done, failed) => {
    const server = createServer().once('error', failed);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => done(port));
    });
  });
}

export class Setup {
  #folder = mkdtempSync(join(tmpdir(), 'tributary-dashboard-'));
  #processes = new Map();
  #aggregator = '';
  #authority; // PEM of the CA; undefined: no TLS
  #page; // instead of the aggregator's own

  // With `names`, everything speaks TLS: certificates of these names and of "aggregator" are in the folder certs.
  static async create({ names } = {}) {
    const setup = new Setup();
    setup.ingest = `127.0.0.1:${await freePort()}`;
    setup.http = `127.0.0.1:${await freePort()}`;
    setup.address = `${names ? 'https' : 'http'}://${setup.http}/`;
    if (names) {
      await setup.run('tributary', 'certs', '--out', setup.path('certs'), '--server', 'aggregator=127.0.0.1', ...names.flatMap((name) => ['--name', name]));
      setup.#authority = readFileSync(setup.path('certs/ca.pem'));
    } else if (process.env.TRIBUTARY_PAGE) {
      setup.#page = await servePage(process.env.TRIBUTARY_PAGE, () => setup.http);
      setup.address = setup.#page.address;
    }
    return setup;
  }

  path(name) {
    return join(this.#folder, name);
  }

  write(name, text) {
    writeFileSync(this.path(name), text);
    return this.path(name);
  }

  start(name, program, ...options) {
    const log = openSync(this.path(`${name}.log`), 'a');
    const process = spawn(join(BIN, program), options, { stdio: ['ignore', log, log] });
    this.#processes.set(name, process);
    return process;
  }

  // Runs a command to its end; returns what it printed.
  async run(program, ...options) {
    const process = spawn(join(BIN, program), options, { stdio: ['ignore', 'pipe', 'pipe'] });
    let text = '';
    process.stdout.on('data', (part) => (text += part));
    process.stderr.on('data', (part) => (text += part));
    const code = await new Promise((done) => process.on('close', done));
    if (code !== 0) throw new Error(`${program} ${options.join(' ')}: ${text}`);
    return text;
  }

  // `tables`: what follows the addresses in the configuration.
  async startAggregator(tables) {
    if (tables !== undefined) {
      this.#aggregator = this.write('aggregator.toml', `listen = "${this.ingest}"\n${tables[0] ?? ''}\n[http]\nlisten = "${this.http}"\n${tables[1]}`);
    }
    this.start('aggregator', 'tributary-aggregator', '--config', this.#aggregator);
    await until('the aggregator starts', async () => (await this.ask('healthz')).status === 200).catch((fault) => {
      throw new Error(`${fault.message}\n${this.log('aggregator')}`);
    });
  }

  startNode(name, config) {
    return this.start(name, 'tributary-node', '--config', this.write(`${name}.toml`, config));
  }

  residentMiB(name) {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${this.#processes.get(name).pid}/status`, 'utf8'))[1]) / 1024;
  }

  log(name) {
    return readFileSync(this.path(`${name}.log`), 'utf8').split('\n').slice(-15).join('\n');
  }

  // Without the browser; `headers` as of fetch.
  ask(path, { method = 'GET', headers = {}, body } = {}) {
    return new Promise((done, failed) => {
      const asked = (this.#authority ? https : http).request(`${this.#authority ? 'https' : 'http'}://${this.http}/${path}`, { method, headers, ca: this.#authority, agent: false }, (answer) => {
        let text = '';
        answer.on('data', (part) => (text += part));
        answer.on('end', () => done({ status: answer.statusCode, text }));
        answer.on('error', failed);
      });
      asked.on('error', failed);
      asked.end(body);
    });
  }

  async get(path, headers) {
    const { status, text } = await this.ask(path, { headers });
    if (status !== 200) throw new Error(`${path}: ${status} ${text}`);
    return JSON.parse(text);
  }

  // The table [tls] of a daemon.
  tls(name) {
    return `[tls]\ncertificate = "${this.path(`certs/${name}.pem`)}"\nkey = "${this.path(`certs/${name}.key`)}"\nca = "${this.path('certs/ca.pem')}"\n`;
  }

  // Makes a token. A running aggregator takes it within a second.
  async token(name, role) {
    return JSON.parse(await this.run('tributary', 'token', 'create', '--file', this.path('tokens.toml'), '--name', name, '--role', role, '--json')).token;
  }

  untilInForce(token) {
    return until('the token is in force', async () => (await this.ask('api/v1/session', { headers: { Authorization: `Bearer ${token}` } })).status === 200);
  }

  async stop(name, signal = 'SIGTERM') {
    const process = this.#processes.get(name);
    this.#processes.delete(name);
    if (process === undefined || process.exitCode !== null) return;
    const ended = new Promise((done) => process.on('exit', done));
    process.kill(signal);
    await ended;
  }

  async close() {
    for (const name of [...this.#processes.keys()].reverse()) await this.stop(name, name === 'aggregator' ? 'SIGTERM' : 'SIGKILL');
    this.#page?.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
