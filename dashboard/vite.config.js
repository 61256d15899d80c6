import { defineConfig } from 'vite';

// Relative addresses let a reverse proxy serve the page under a prefix. Nothing is inlined: the page's
// Content-Security-Policy allows no inline script and no data: address.
export default defineConfig({
  base: './',
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
