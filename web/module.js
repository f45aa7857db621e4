// @ts-check
// The commands of vgpusim over files in memory, for a page and for node: one question at a time, answered as the command line answers.
import { Files } from './files.js';
import { wasi } from './wasi.js';

/** @typedef {import('./wasi.js').Surroundings} Surroundings */
/**
 * @typedef {object} Question
 * @property {string[]} args what stands behind `vgpusim`: the command, its flags, names of files
 * @property {Iterable<[string, Uint8Array]>} [files] by the names that `args` has; compressed with gzip or not
 * @property {Uint8Array} [stdin] what `-` reads
 * @property {(text: string) => void} [onProgress] is called with what a terminal would be shown of a long run: lines that begin with \r
 */
/**
 * @typedef {object} Answer
 * @property {number} code 0 done, 1 a failure that is not the input's, 2 bad input
 * @property {Uint8Array} stdout
 * @property {Uint8Array} stderr
 * @property {Map<string, Uint8Array>} files what was written, by name
 */

/** A bug of ours, or no memory was left. The module can be asked again. */
export class ModuleFailed extends Error {}

/** @param {Uint8Array[]} parts */
function joined(parts) {
  const result = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    result.set(part, at);
    at += part.length;
  }
  return result;
}

export class Vgpualloc {
  #module;
  /** @type {{ answer: () => number, memory: WebAssembly.Memory, reset: () => void } | null} */
  #instance = null;
  /** @type {Surroundings | null} */
  #now = null;

  /** @param {WebAssembly.Module} module what WebAssembly.compile() makes of vgpualloc.wasm */
  constructor(module) {
    this.#module = module;
  }

  #start() {
    /** @type {WebAssembly.Memory} */
    let memory;
    const { functionOf, reset } = wasi(() => memory, () => /** @type {Surroundings} */ (this.#now));
    /** @type {Record<string, WebAssembly.ImportValue>} */
    const functions = {};
    for (const { name } of WebAssembly.Module.imports(this.#module)) functions[name] = functionOf(name);
    const { exports } = new WebAssembly.Instance(this.#module, { wasi_snapshot_preview1: functions });
    memory = /** @type {WebAssembly.Memory} */ (exports['memory']);
    /** @type {() => void} */ (exports['_initialize'])();
    return { answer: /** @type {() => number} */ (exports['answer']), memory, reset };
  }

  /** Bytes of memory that the module holds; they are not given back until forget(). */
  get memoryBytes() {
    return this.#instance?.memory.buffer.byteLength ?? 0;
  }

  /** Gives the memory back. */
  forget() {
    this.#instance = null;
  }

  /** @param {Question} question @returns {Answer} */
  ask({ args, files = [], stdin = new Uint8Array(0), onProgress }) {
    /** @type {{ 1: Uint8Array[], 2: Uint8Array[] }} */
    const printed = { 1: [], 2: [] };
    const decoder = new TextDecoder();
    const place = new Files(files);
    this.#now = {
      args: ['vgpusim', ...args],
      files: place,
      stdin,
      isTerminal: onProgress !== undefined,
      print: (fd, bytes) => {
        printed[fd].push(bytes);
        if (fd === 2 && onProgress) onProgress(decoder.decode(bytes, { stream: true }));
      },
    };
    try {
      this.#instance ??= this.#start();
      this.#instance.reset();
      const code = this.#instance.answer();
      return { code, stdout: joined(printed[1]), stderr: joined(printed[2]), files: place.written() };
    } catch (failure) {
      this.#instance = null; // nobody knows what state it is in
      const said = decoder.decode(joined(printed[2])).trim();
      throw new ModuleFailed(said || String(failure), { cause: failure });
    } finally {
      this.#now = null;
    }
  }
}
