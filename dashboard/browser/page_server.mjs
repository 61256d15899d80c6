// Serves a built page from a folder, before an aggregator that has another page or none: to test an edit without a build in C++.
import { createServer, request } from 'node:http';
import { existsSync, readFileSync } from 'node:fs';
import { extname, join, normalize } from 'node:path';

const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml' };
// The policy of aggregator/publish/page.cc.
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; " +
  "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

export function servePage(folder, aggregator) {
  const server = createServer((asked, answer) => {
    const path = new URL(asked.url, 'http://x').pathname;
    const file = join(folder, normalize(path === '/' ? '/index.html' : path));
    if (existsSync(file) && TYPES[extname(file)]) {
      answer.writeHead(200, { 'Content-Type': TYPES[extname(file)], 'Content-Security-Policy': POLICY });
      answer.end(readFileSync(file));
      return;
    }
    const [host, port] = aggregator().split(':');
    const onward = request({ host, port, path: asked.url, method: asked.method, headers: { ...asked.headers, host: aggregator() } }, (got) => {
      answer.writeHead(got.statusCode, got.headers);
      got.pipe(answer);
      got.on('error', () => answer.destroy());
    });
    onward.on('error', () => answer.destroy());
    answer.on('close', () => onward.destroy());
    asked.pipe(onward);
  });
  return new Promise((done) => server.listen(0, '127.0.0.1', () => done({ address: `http://127.0.0.1:${server.address().port}/`, close: () => server.closeAllConnections() ?? server.close() })));
}
