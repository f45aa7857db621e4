// vgpualloc.html has the notice of every part that others have written: headers and sources that the module was compiled of, archives of its
// link, files embedded into it, packages of its scripts. The build says what these are.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { fileURLToPath } from 'node:url';

import { notices, parts } from '../../web/licences.mjs';

const checkout = realpathSync(fileURLToPath(new URL('../..', import.meta.url)));
const build = join(checkout, 'build', 'web');
const cache = readFileSync(join(build, 'CMakeCache.txt'), 'utf8');
const program = readFileSync(join(build, 'build.ninja'), 'utf8');
const page = readFileSync(join(build, 'vgpualloc.html'), 'utf8');
const text = (page.match(/<pre class="licences">(.*?)<\/pre>/s)?.[1] ?? '').replaceAll(/&#(\d+);/g, (_, number) => String.fromCodePoint(Number(number)));

/** @param {string} name of a variable of the build @returns {string} */
const configured = (name) => cache.match(new RegExp(`^${name}:[A-Z]+=(.*)$`, 'm'))?.[1] ?? '';

/** @param {string} path @returns {string} as `lies_in` of a part has it; '' of what is our own */
function place_of(path) {
  const [, in_zig] = path.match(/\/ziglang\/(.*)/) ?? [];
  if (in_zig) return `zig/${in_zig}`;
  const in_build = path.startsWith('/') ? path.replace(`${build}/`, '') : path;
  if (/^(headers|sources)\//.test(in_build)) return in_build;
  return in_build.startsWith('/') && !in_build.startsWith(`${checkout}/`) ? in_build : '';
}

/** @param {Iterable<string>} places */
function assert_named(places) {
  const nameless = [...places].filter((place) => place && !parts.some(({ lies_in }) => lies_in.test(place)));
  assert.deepEqual(nameless.slice(0, 5), []);
}

test('every file that the module is compiled of belongs to a part that is named', () => {
  const lines = execFileSync(configured('CMAKE_MAKE_PROGRAM'), ['-C', build, '-t', 'deps'], { encoding: 'utf8', maxBuffer: 1 << 28 }).split('\n');
  const places = new Set(lines.filter((line) => line.startsWith('    ')).map((line) => place_of(line.trim())));
  assert.ok(places.size > 500, `${places.size} files`);
  assert_named(places);
  for (const name of ['fmt', 'nlohmann', 'CLI', 'boost', 'Eigen', 'tl']) assert.ok([...places].some((place) => place.startsWith(`headers/${name}/`)), name);
});

test('so does every file that is embedded', () => {
  const files = [...program.matchAll(/-DPAIRS=([^"]*)"/g)].flatMap(([, pairs]) => pairs.split(';').map((pair) => pair.replace(/^[^=]*=/, '')));
  assert.ok(files.length > 10);
  assert_named(files.map(place_of));
});

test('so does every archive that is linked', () => {
  const [, line] = program.match(/build vgpualloc\.wasm:[^]*?LINK_LIBRARIES = (.*)/) ?? [];
  const names = line.split(/\s+/).map((word) => word.replace(/^(.*\/)?lib|^-l|\.a$/g, '')).filter((name) => !/^(vgpu|cxx_runtime)/.test(name));
  assert.deepEqual(names.filter((name) => !parts.some((part) => part.name.startsWith(name.replace(/^wasi-emulated-.*/, 'wasi-libc')))), []);
});

test('the page has each notice once, in letters of seven bits', () => {
  assert.equal(text, notices({ checkout, sources: configured('VGA_SOURCES'), zig: configured('VGA_ZIG') }, []));
  for (const { name } of parts) assert.equal(text.split(`\n==== ${name}\n`).length, 2, name);
  assert.match(text, /Eigen[^]*Mozilla Public License 2\.0[^]*https:\/\/gitlab\.com\/libeigen\/eigen/);
  assert.doesNotMatch(page.match(/<pre class="licences">.*?<\/pre>/s)?.[0] ?? 'é', /[^\n -~]/);
});
