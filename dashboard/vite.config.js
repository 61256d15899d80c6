import { readFileSync } from 'node:fs';
import { defineConfig } from 'vite';

const { paths } = JSON.parse(readFileSync(new URL('../docs/openapi.json', import.meta.url), 'utf8'));
const calls = Object.entries(paths).flatMap(([path, methods]) => Object.keys(methods).map((method) => `${method} ${path}`));

// Relative addresses let a reverse proxy serve the page under a prefix. Nothing is inlined: the page's
// Content-Security-Policy allows no inline script and no data: address.
export default defineConfig({
  base: './',
  define: { __API_CALLS__: JSON.stringify(calls) },
  build: {
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: false,
    reportCompressedSize: false,
    emptyOutDir: true,
  },
  esbuild: { jsx: 'automatic', jsxImportSource: 'preact', legalComments: 'none' },
  // `npm run dev` shows an aggregator of this machine.
  server: { proxy: { '/api': process.env.TRIBUTARY_HTTP ?? 'http://127.0.0.1:7480' } },
  test: { include: ['src/**/*.test.ts'], environment: 'node' },
});
