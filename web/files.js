// @ts-check
// Files in memory, as one question to the module sees them: a file system that begins with the inputs and ends with what was written.

/** @typedef {{ ino: bigint, bytes: Uint8Array, size: number, isWritten: boolean, changed: bigint }} File of which `bytes` may be longer than `size`; `changed` stands for a time, and differs where bytes may */
/** @typedef {{ ino: bigint, isFolder: true }} Folder */

const firstCapacity = 4096;

let changes = 0n;
/** @type {WeakMap<Uint8Array, bigint>} the same bytes are the same version in every question */
const versions = new WeakMap();

/** @param {Uint8Array} bytes of an input, which nobody changes */
function versionOf(bytes) {
  const known = versions.get(bytes) ?? ++changes;
  versions.set(bytes, known);
  return known;
}

/** The path from the root without ".", ".." and doubled slashes; null where it leads above the root. @param {string} path */
export function normalised(path) {
  /** @type {string[]} */
  const parts = [];
  for (const part of path.split('/')) {
    if (part === '' || part === '.') continue;
    if (part !== '..') parts.push(part);
    else if (parts.pop() === undefined) return null;
  }
  return parts.join('/');
}

/** @param {string} path */
const folderOf = (path) => path.slice(0, Math.max(0, path.lastIndexOf('/')));

export class Files {
  /** @type {Map<string, File | Folder>} by path; the root is "" */
  #entries = new Map();
  #inodes = 1n;

  /** @param {Iterable<[string, Uint8Array]>} inputs which are read and never changed */
  constructor(inputs) {
    this.#entries.set('', { ino: this.#inodes++, isFolder: true });
    for (const [name, bytes] of inputs) {
      const path = normalised(name);
      if (!path) throw new RangeError(`"${name}" is no name of a file`);
      this.#addParents(path);
      this.#entries.set(path, { ino: this.#inodes++, bytes, size: bytes.length, isWritten: false, changed: versionOf(bytes) });
    }
  }

  /** @param {string} path */
  #addParents(path) {
    for (let folder = folderOf(path); folder !== ''; folder = folderOf(folder)) {
      if (!this.#entries.has(folder)) this.#entries.set(folder, { ino: this.#inodes++, isFolder: true });
    }
  }

  /** @param {string} path */
  at(path) {
    return this.#entries.get(path);
  }

  /** Whether a part of the path before its last is a file, or is not there. @param {string} path @returns {'file' | 'absent' | 'folder'} */
  parentOf(path) {
    const parent = this.#entries.get(folderOf(path));
    if (parent) return 'isFolder' in parent ? 'folder' : 'file';
    for (let above = folderOf(folderOf(path)); ; above = folderOf(above)) {
      const entry = this.#entries.get(above);
      if (entry) return 'isFolder' in entry ? 'absent' : 'file';
    }
  }

  /** A new file, empty, whose folder is there. @param {string} path */
  create(path) {
    const file = { ino: this.#inodes++, bytes: new Uint8Array(0), size: 0, isWritten: true, changed: ++changes };
    this.#entries.set(path, file);
    return file;
  }

  /** @param {string} path */
  createFolder(path) {
    this.#entries.set(path, { ino: this.#inodes++, isFolder: true });
  }

  /** @param {string} path */
  remove(path) {
    this.#entries.delete(path);
  }

  /** Names in a folder, sorted. @param {string} folder @returns {[string, File | Folder][]} */
  list(folder) {
    const begin = folder === '' ? '' : `${folder}/`;
    /** @type {[string, File | Folder][]} */
    const names = [];
    for (const [path, entry] of this.#entries) {
      if (path === '' || !path.startsWith(begin) || path.indexOf('/', begin.length) >= 0) continue;
      names.push([path.slice(begin.length), entry]);
    }
    return names.sort(([a], [b]) => (a < b ? -1 : 1));
  }

  /** What has been written, by path. @returns {Map<string, Uint8Array>} */
  written() {
    /** @type {Map<string, Uint8Array>} */
    const result = new Map();
    for (const [path, entry] of this.#entries) {
      if ('isWritten' in entry && entry.isWritten) result.set(path, entry.bytes.subarray(0, entry.size));
    }
    return result;
  }
}

/** Puts bytes at a place of a file, which grows where it has to. @param {File} file @param {number} offset @param {Uint8Array} bytes */
export function put(file, offset, bytes) {
  const end = offset + bytes.length;
  if (!file.isWritten || end > file.bytes.length) { // the bytes of an input are the caller's
    const grown = new Uint8Array(Math.max(firstCapacity, end, end > file.bytes.length ? 2 * file.bytes.length : 0));
    grown.set(file.bytes.subarray(0, file.size));
    file.bytes = grown;
  }
  file.bytes.set(bytes, offset);
  file.size = Math.max(file.size, end);
  file.isWritten = true;
  file.changed = ++changes;
}

/** Empties a file. @param {File} file */
export function truncate(file) {
  file.bytes = new Uint8Array(0);
  file.size = 0;
  file.isWritten = true;
  file.changed = ++changes;
}
