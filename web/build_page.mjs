// @ts-check
// Makes vgpualloc.html of the module and the page's sources:
//   node build_page.mjs MODULE OUTPUT SOURCES ZIG
// SOURCES and ZIG: what the module was built of, as in licences.mjs.
// Everything is in the one file: the module as text of its LZMA, a third smaller than gzip, which browsers could unpack; scripts, styles, the clusters to try.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { buildSync } from 'esbuild';
import { notices } from './licences.mjs';
import { Vgpualloc } from './module.js';
import { text_of_bytes } from './page/seven_bits.js';

const here = dirname(fileURLToPath(import.meta.url));
const source = join(here, '..');
const [module_path, output, sources, zig] = process.argv.slice(2);
if (!module_path || !output || !sources || !zig) {
  console.error('usage: node build_page.mjs MODULE OUTPUT SOURCES ZIG');
  process.exit(2);
}

/** @type {Set<string>} packages of npm that scripts were bundled of */
const npm_packages = new Set();
/** @param {string} name */
function bundled(name) {
  const result = buildSync({
    entryPoints: [join(here, 'page', name)], bundle: true, minify: true, format: 'iife', write: false, charset: 'utf8', legalComments: 'none', metafile: true,
  });
  for (const input of Object.keys(result.metafile.inputs)) {
    const [, npm_package] = input.match(/.*node_modules\/((?:@[^/]+\/)?[^/]+)\//) ?? [];
    if (npm_package) npm_packages.add(npm_package);
  }
  return result.outputFiles[0].text.replaceAll('</script', '<\\/script');
}
/** @param {Uint8Array} bytes */
const packed = (bytes) => gzipSync(bytes, { level: 9 }).toString('base64');
/** Instructions of WebAssembly have no places that recur every two or four bytes. @param {string} path */
function packed_well(path) {
  const result = execFileSync('xz', ['--format=lzma', '--lzma1=preset=9e,lc=4,lp=0,pb=0,nice=273,dict=8MiB', '--stdout', path], { maxBuffer: 1 << 28 });
  result.writeBigUInt64LE(BigInt(statSync(path).size), 5); // xz leaves the size open, and the decoder is faster when it knows it
  return result;
}
/** @param {string} path */
const text_of = (path) => readFileSync(join(source, path), 'utf8').trim();
/** @param {string} text as HTML of seven bits */
const escaped = (text) => text.replaceAll(/[&<>]|[^\n -~]/gu, (letter) => `&#${letter.codePointAt(0)};`);

const script = bundled('app.js');
/** @param {string} text */
const hash_of = (text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
/** Scripts of a report of `compare`, which the page shows in a frame: they are the same in every report. */
async function scripts_of_reports() {
  const files = ['nodes.csv', 'pods.csv'].map((name) => /** @type {[string, Uint8Array]} */ ([name, new Uint8Array(readFileSync(join(source, 'traces/quickstart', name)))]));
  const vgpualloc = new Vgpualloc(await WebAssembly.compile(readFileSync(module_path)));
  const { files: written } = vgpualloc.ask({ args: ['compare', '--nodes', 'nodes.csv', '--pods', 'pods.csv', '--policy', 'best_fit', '--policy', 'fgd', '--out', 'out'], files });
  const report = new TextDecoder().decode(written.get('out/report.html'));
  return [...report.matchAll(/<script>(.*?)<\/script>/gs)].map(([, text]) => hash_of(text));
}
const hashes = [hash_of(`\n${script}\n`), ...await scripts_of_reports()];
const parts = {
  // The worker is a Blob of the page's own text; nothing may be fetched from anywhere.
  policy: `default-src 'none'; script-src ${hashes.join(' ')} 'wasm-unsafe-eval' blob:; worker-src blob:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'`,
  style: ['simulator/report/html/base.css', 'simulator/report/html/answer.css', 'web/page/page.css'].map(text_of).join('\n'),
  patterns: text_of('simulator/report/html/patterns.svg'),
  // In pieces, as a browser reads one without a break.
  module: text_of_bytes(packed_well(module_path))
    .replaceAll(/.{1,131072}/gs, (piece) => `<script type="text/plain" class="module">${piece}</script>`),
  worker: bundled('worker.js'),
  samples: JSON.stringify(Object.fromEntries([['atlas', 'scenarios/clusters/atlas.json'], ['harbor', 'scenarios/clusters/harbor.json'],
    ['nodes.csv', 'traces/quickstart/nodes.csv'], ['pods.csv', 'traces/quickstart/pods.csv']].map(([name, path]) =>
    [name, packed(readFileSync(join(source, path)))]))),
  licences: '', // when all is bundled
  script,
};
parts.licences = escaped(notices({ checkout: source, sources, zig }, [...npm_packages].sort()));
const page = text_of('web/page/index.html').replaceAll(/\{\{(\w+)\}\}/g, (_, name) => parts[/** @type {keyof typeof parts} */ (name)]);
writeFileSync(output, page + '\n');
for (const [name, part] of Object.entries(parts)) console.log(`${name.padEnd(10)} ${String(Buffer.byteLength(part)).padStart(9)}`);
console.log(`${'page'.padEnd(10)} ${String(Buffer.byteLength(page) + 1).padStart(9)}`);
