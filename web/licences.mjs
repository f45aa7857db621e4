// @ts-check
// The notices of what others have written and vgpualloc.html has in it, gathered where this machine keeps them: with the packages of the
// system, of zig and of npm, and in THIRD_PARTY_LICENSES what has no such file.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Where notices are: the checkout, the sources of yaml-cpp and zlib, the folder of zig.
 * @typedef {{ checkout: string, sources: string, zig: string }} Places
 *
 * A part of the page. `lies_in`: paths of its files, below the folder of the build or, as zig/…, that of zig.
 * @typedef {{ name: string, lies_in: RegExp, notice: (places: Places) => string }} Part
 */

const system_copyrights = '/usr/share/doc';
const eigen_licence = 'Mozilla Public License 2.0, https://www.mozilla.org/MPL/2.0/. The headers are compiled in as they are. Their source is '
  + 'Debian\'s package libeigen3-dev (https://packages.debian.org/source/eigen3), or that of https://gitlab.com/libeigen/eigen.';

/** @param {string[]} path */
function text_of(...path) {
  const file = join(...path);
  if (!existsSync(file)) throw new Error(`no ${file}: the page has to have its notice`);
  return readFileSync(file, 'utf8').trim();
}

/**
 * The file of a package whose version is in the name of its folder.
 * @param {string} folder @param {string} name
 */
function source_of(folder, name) {
  const versioned = readdirSync(folder).find((entry) => entry.startsWith(`${name}-`));
  if (!versioned) throw new Error(`no sources of ${name} in ${folder}`);
  return join(folder, versioned);
}

/** @param {string} paragraph @returns {Record<string, string>} fields of a paragraph of Debian's format, by name */
function fields_of(paragraph) {
  /** @type {Record<string, string>} */
  const result = {};
  for (const [, name, value] of paragraph.matchAll(/^([A-Z][A-Za-z-]*):[ \t]*(.*(?:\n[ \t].*)*)/gm)) {
    result[name] = value.split('\n').map((line) => line.trim()).map((line) => (line === '.' ? '' : line)).join('\n').trim();
  }
  return result;
}

/**
 * Of a package of the system who has written its headers and sources, and the licences of these.
 * @param {string} name @param {Record<string, string>} [instead] texts in the place of licences
 */
function of_package(name, instead = {}) {
  const paragraphs = text_of(system_copyrights, name, 'copyright').split(/\n\s*\n/).map(fields_of);
  const code = paragraphs.filter((fields) => fields.Files?.split(/\s+/).some((path) => path === '*' || /^(include|src|Eigen)\//.test(path)));
  const authors = new Set(code.flatMap((fields) => fields.Copyright.split('\n')));
  /** @type {Map<string, string>} */
  const licences = new Map();
  for (const { License } of code) {
    const [title, ...inline] = License.split('\n');
    const apart = paragraphs.find((fields) => !fields.Files && fields.License?.split('\n')[0] === title)?.License.split('\n').slice(1) ?? [];
    const ours = Object.entries(instead).find(([licence]) => title.includes(licence))?.[1];
    const text = ours ?? (inline.length > 0 ? inline : apart).join('\n').trim();
    if (!text) throw new Error(`the copyright of ${name} has no text of ${title}`);
    licences.set(ours ?? title, text);
  }
  return [[...authors].map((author) => `Copyright ${author}`).join('\n'), ...licences.values()].join('\n\n');
}

/** The part of THIRD_PARTY_LICENSES that begins with these words. @param {Places} places @param {string} words */
function of_checkout(places, words) {
  const section = text_of(places.checkout, 'THIRD_PARTY_LICENSES').split('------\n').find((part) => part.startsWith(words));
  if (!section) throw new Error(`THIRD_PARTY_LICENSES has no part '${words}'`);
  return section.trim();
}

/** @type {Part[]} */
export const parts = [
  { name: 'fmt', lies_in: /^headers\/fmt\//, notice: () => of_package('libfmt-dev') },
  { name: 'nlohmann/json', lies_in: /^headers\/nlohmann\//, notice: () => of_package('nlohmann-json3-dev') },
  { name: 'CLI11', lies_in: /^headers\/CLI\//, notice: () => of_package('libcli11-dev') },
  { name: 'tl::expected', lies_in: /^headers\/tl\//, notice: () => of_package('libexpected-dev') },
  { name: 'Boost (Graph and what it needs)', lies_in: /^headers\/boost\//, notice: (places) => of_checkout(places, 'Boost Software License') },
  { name: 'Eigen', lies_in: /^headers\/Eigen\//, notice: () => of_package('libeigen3-dev', { 'MPL-2': eigen_licence }) },
  { name: 'yaml-cpp', lies_in: /^sources\/yaml-cpp-/, notice: (places) => text_of(source_of(places.sources, 'yaml-cpp'), 'LICENSE') },
  { name: 'zlib', lies_in: /^sources\/zlib-/, notice: (places) => text_of(source_of(places.sources, 'zlib'), 'LICENSE') },
  { name: 'libc++, libc++abi, libunwind and headers of clang, of the LLVM Project', lies_in: /^zig\/lib\/(libcxx|libcxxabi|libunwind|include)\//,
    notice: (places) => text_of(places.zig, 'lib/libcxx/LICENSE.TXT') },
  { name: 'wasi-libc', lies_in: /^zig\/lib\/libc\/(include\/(wasm32-wasi|any-wasi)|wasi)/,
    notice: (places) => ['LICENSE', 'LICENSE-MIT', 'libc-bottom-half/cloudlibc/LICENSE'].map((file) => text_of(places.zig, 'lib/libc/wasi', file)).join('\n\n') },
  { name: 'musl, in wasi-libc', lies_in: /^zig\/lib\/libc\/include\/(wasm-wasi-musl|generic-musl)\//,
    notice: (places) => text_of(places.zig, 'lib/libc/wasi/libc-top-half/musl/COPYRIGHT') },
  { name: 'compiler_rt of Zig', lies_in: /^zig\/lib\/compiler_rt/, notice: (places) => text_of(places.zig, 'LICENSE') },
  { name: 'dygraphs, in reports', lies_in: /\/dygraphs?[./]/, notice: (places) => text_of(places.checkout, 'simulator/report/html/dygraphs_licence.txt') },
  { name: 'a table of Go', lies_in: /^go_random_table/, notice: (places) => of_checkout(places, 'Go\'s math/rand') },
];

/**
 * All notices as one text.
 * @param {Places} places @param {string[]} npm_packages what the scripts of the page are bundled of, besides our own
 */
export function notices(places, npm_packages) {
  const entries = parts.map(({ name, notice }) => ({ name, text: notice(places) }));
  for (const name of npm_packages) entries.push({ name, text: text_of(places.checkout, 'web/node_modules', name, 'LICENSE') });
  const own = 'vgpualloc: Apache License 2.0, http://www.apache.org/licenses/LICENSE-2.0. The page has these parts of others in it:';
  return [`${own}\n${entries.map(({ name }) => `- ${name}`).join('\n')}`, ...entries.map(({ name, text }) => `==== ${name}\n\n${text}`)].join('\n\n');
}
