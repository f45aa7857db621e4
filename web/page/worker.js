// @ts-check
// The thread that calculates: it has the module and the files, and answers one question after the other.
import { decompress } from 'fzstd';
import { Vgpualloc } from '../module.js';

/** @type {Map<string, Uint8Array>} */
let files = new Map();
/** @type {Vgpualloc | undefined} */
let module;

/** @param {string} text base64 of zstd: a third smaller than gzip, which browsers could unpack by themselves */
function unpacked(text) {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; ++i) bytes[i] = binary.charCodeAt(i);
  return decompress(bytes);
}

/** @param {{ id: number, args: string[] }} question */
function answer({ id, args }) {
  const begin = performance.now();
  try {
    if (!module) throw new Error('the module is not there');
    const { code, stdout, stderr, files: written } = module.ask({
      args, files, onProgress: (text) => postMessage({ type: 'progress', id, text }),
    });
    const text = new TextDecoder();
    postMessage({
      type: 'answer', id, code, stdout: text.decode(stdout), stderr: text.decode(stderr), written, ms: performance.now() - begin,
    });
  } catch (failure) {
    postMessage({ type: 'failed', id, message: String(failure) });
  }
}

/** Messages wait for one another: a question must not overtake the files that it is about. */
let before = Promise.resolve();
onmessage = ({ data }) => {
  before = before.then(async () => {
    if (data.type === 'module') module = new Vgpualloc(await WebAssembly.compile(/** @type {Uint8Array<ArrayBuffer>} */ (unpacked(data.text))));
    if (data.type === 'files') files = new Map(data.files);
    if (data.type === 'ask') answer(data);
  }).catch((failure) => postMessage({ type: 'broken', message: String(failure) }));
};
