// Asks the module the commands of a list, one after the other, and writes the answers down: node answers.mjs LIST.json
// The list: {module, place, answers, commands: [[argument, …], …], stdin}. What a command writes is there for those after it.
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { Vgpualloc } from '../../web/module.js';

const list = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const vgpualloc = new Vgpualloc(await WebAssembly.compile(readFileSync(list.module)));
const stdin = new TextEncoder().encode(list.stdin);

const files = new Map();
for (const entry of readdirSync(list.place, { recursive: true, withFileTypes: true })) {
  const path = join(entry.path, entry.name);
  if (entry.isFile()) files.set(relative(list.place, path), new Uint8Array(readFileSync(path)));
}

/** @param {string} path @param {Uint8Array | string} content */
function write(path, content) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
}

list.commands.forEach((args, number) => {
  const folder = join(list.answers, String(number));
  let answer;
  const begin = performance.now();
  try {
    answer = vgpualloc.ask({ args, files, stdin });
  } catch (failure) {
    answer = { code: -1, stdout: new Uint8Array(0), stderr: new TextEncoder().encode(`${failure}\n`), files: new Map() };
  }
  write(join(folder, 'code'), String(answer.code));
  write(join(folder, 'ms'), String(performance.now() - begin));
  write(join(folder, 'stdout'), answer.stdout);
  write(join(folder, 'stderr'), answer.stderr);
  for (const [name, bytes] of answer.files) {
    const kept = bytes.slice();
    write(join(folder, 'files', name), kept);
    files.set(name, kept);
  }
});
