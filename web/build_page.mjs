// @ts-check
// Makes vgpualloc.html of the module and the page's sources:
//   node build_page.mjs MODULE OUTPUT
// Everything is in the one file: the module as text of its zstd, a third smaller than gzip, which browsers could unpack; scripts, styles, the clusters to try.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { buildSync } from 'esbuild';
import { text_of_bytes } from './page/seven_bits.js';

const here = dirname(fileURLToPath(import.meta.url));
const source = join(here, '..');
const [module_path, output] = process.argv.slice(2);
if (!module_path || !output) {
  console.error('usage: node build_page.mjs MODULE OUTPUT');
  process.exit(2);
}

/** @param {string} name */
const bundled = (name) => buildSync({
  entryPoints: [join(here, 'page', name)], bundle: true, minify: true, format: 'iife', write: false, charset: 'utf8', legalComments: 'none',
}).outputFiles[0].text.replaceAll('</script', '<\\/script');
/** @param {Uint8Array} bytes */
const packed = (bytes) => gzipSync(bytes, { level: 9 }).toString('base64');
/** @param {string} path */
const text_of = (path) => readFileSync(join(source, path), 'utf8').trim();

const script = bundled('app.js');
const hash = createHash('sha256').update(`\n${script}\n`).digest('base64');
const parts = {
  // The worker is a Blob of the page's own text; nothing may be fetched from anywhere.
  policy: `default-src 'none'; script-src 'sha256-${hash}' 'wasm-unsafe-eval' blob:; worker-src blob:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'`,
  style: ['simulator/report/html/base.css', 'simulator/report/html/answer.css', 'web/page/page.css'].map(text_of).join('\n'),
  patterns: text_of('simulator/report/html/patterns.svg'),
  // In pieces, as a browser reads one without a break.
  module: text_of_bytes(execFileSync('zstd', ['-q', '--ultra', '-22', '-c', module_path], { maxBuffer: 1 << 28 }))
    .replaceAll(/.{1,131072}/gs, (piece) => `<script type="text/plain" class="module">${piece}</script>`),
  worker: bundled('worker.js'),
  samples: JSON.stringify(Object.fromEntries([['atlas', 'scenarios/clusters/atlas.json'], ['harbor', 'scenarios/clusters/harbor.json'],
    ['nodes.csv', 'traces/quickstart/nodes.csv'], ['pods.csv', 'traces/quickstart/pods.csv']].map(([name, path]) =>
    [name, packed(readFileSync(join(source, path)))]))),
  script,
};
const page = text_of('web/page/index.html').replaceAll(/\{\{(\w+)\}\}/g, (_, name) => parts[/** @type {keyof typeof parts} */ (name)]);
writeFileSync(output, page + '\n');
for (const [name, part] of Object.entries(parts)) console.log(`${name.padEnd(10)} ${String(Buffer.byteLength(part)).padStart(9)}`);
console.log(`${'page'.padEnd(10)} ${String(Buffer.byteLength(page) + 1).padStart(9)}`);
