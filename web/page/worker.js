// @ts-check
// The thread that calculates: it has the module and the files, and answers one question after the other.
import { Vgpualloc } from '../module.js';
import { unpacked } from './lzma.js';
import { mix_of, nodes_of } from './mix.js';
import { names_found, names_of } from './names.js';
import { entries_of, found_by, has_nodes, object_of, one_more, places_of_objects, pods_like, pods_of } from './objects.js';
import { bytes_of_text } from './seven_bits.js';

/** @type {Map<string, Uint8Array>} */
let files = new Map();
/** @type {Vgpualloc | undefined} */
let module;
/** Nodes and pods of the files of a cluster, from the first question about them on. @type {{ cluster: string, entries: import('./objects.js').Entry[] } | null} */
let index = null;

function the_module() {
  if (!module) throw new Error('the module is not there');
  return module;
}

/** A line that is drawn over itself as it is at the end. @param {string} text as a terminal gets it */
const as_shown = (text) => text.split('\n').map((line) => line.split('\u001b[K').at(-1)).join('\n');

/** @param {{ id: number, args: string[] }} question */
function answer({ id, args }) {
  const begin = performance.now();
  const { code, stdout, stderr, files: written } = the_module().ask({
    args, files, onProgress: (text) => postMessage({ type: 'progress', id, text }),
  });
  const text = new TextDecoder();
  postMessage({
    type: 'answer', id, code, stdout: text.decode(stdout), stderr: as_shown(text.decode(stderr)), written, ms: performance.now() - begin,
  });
}

/** The files of a cluster as JSON: of YAML the module writes some. @param {string[]} about */
function texts_of(about) {
  const texts = about.map((name) => files.get(name) ?? new Uint8Array()).filter((bytes) => bytes.length > 0);
  if (texts.every((bytes) => places_of_objects(bytes).length > 0)) return texts;
  const { files: written } = the_module().ask({ args: ['snapshot', ...about, '--out', 'objects.json'], files });
  return [written.get('objects.json')?.slice() ?? new Uint8Array()];
}

/** @param {string[]} about */
function entries(about) {
  const cluster = about.join('\n');
  if (index?.cluster !== cluster) index = { cluster, entries: entries_of(texts_of(about)) };
  return index.entries;
}

/** @type {Record<string, (about: string[], question: any) => any>} */
const looks = {
  find: (about, question) => found_by(entries(about), question),
  pods_of: (about, { node }) => pods_of(entries(about), node),
  files_with_nodes: (about) => about.filter((name) => has_nodes(files.get(name) ?? new Uint8Array())),
  pods_like: (about, question) => pods_like(entries(about), question),
  names_in: (about, { bytes }) => {
    const names = names_of(texts_of(about));
    const of_kind = (/** @type {string} */ kind) => entries(about).filter((entry) => entry.kind === kind).length;
    return { nodes: of_kind('node'), pods: of_kind('pod'), names: names.size, found: names_found(names, bytes) };
  },
  mix: (about, { without }) => ({ ...mix_of(entries(about), without), nodes: nodes_of(entries(about)) }),
  one_more: (about, { pod, name }) => {
    const entry = entries(about).find((other) => other.kind === 'pod' && other.name === pod);
    return entry ? one_more(object_of(entry), name) : null;
  },
};

/** @param {Blob} content */
const bytes_of = async (content) => new Uint8Array(await content.arrayBuffer());

/** Messages wait for one another: a question must not overtake the files that it is about. */
let before = Promise.resolve();
onmessage = ({ data }) => {
  before = before.then(async () => {
    if (data.type === 'module') module = new Vgpualloc(await WebAssembly.compile(/** @type {Uint8Array<ArrayBuffer>} */ (unpacked(bytes_of_text(data.pieces.join(''))))));
    if (data.type === 'files') {
      files = new Map(await Promise.all(data.files.map(async (/** @type {[string, Blob]} */ [name, content]) => [name, await bytes_of(content)])));
      index = null;
    }
    if (data.type === 'file') files.set(data.name, await bytes_of(data.content));
    try {
      if (data.type === 'ask') answer(data);
      if (data.type === 'look') postMessage({ type: 'answer', id: data.id, result: looks[data.what](data.about, data.question) });
    } catch (failure) {
      postMessage({ type: 'failed', id: data.id, message: String(failure) });
    }
  }).catch((failure) => postMessage({ type: 'broken', message: String(failure) }));
};
