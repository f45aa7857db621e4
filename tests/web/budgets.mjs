// How long the module takes for the questions of the page, and how much memory: node budgets.mjs LIST.json
// The list: {module, files: {name: path}, questions: [{name, args, warm}, …]}. Prints for each its CPU seconds, of a warm one the
// least of three, and the memory that the module holds afterwards.
import { readFileSync } from 'node:fs';
import { Vgpualloc } from '../../web/module.js';

const list = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const vgpualloc = new Vgpualloc(await WebAssembly.compile(readFileSync(list.module)));
const files = new Map(Object.entries(list.files).map(([name, path]) => [name, new Uint8Array(readFileSync(path))]));

/** @param {string[]} args */
function seconds_of(args) {
  const begin = process.cpuUsage();
  const { code, stderr } = vgpualloc.ask({ args, files });
  const used = process.cpuUsage(begin);
  if (code !== 0) throw new Error(`${args.join(' ')}: ${new TextDecoder().decode(stderr)}`);
  return (used.user + used.system) / 1e6;
}

const rows = list.questions.map(({ name, args, warm }) => {
  const all = Array.from({ length: warm ? 4 : 1 }, () => seconds_of(args));
  return { name, seconds: Math.min(...(warm ? all.slice(1) : all)), bytes: vgpualloc.memoryBytes };
});
console.log(JSON.stringify(rows));
