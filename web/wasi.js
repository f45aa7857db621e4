// @ts-check
// The interface that the module calls, wasi_snapshot_preview1, over files in memory: the part of it that the commands use. Numbers are
// those of the interface.
import { normalised, put, truncate } from './files.js';

/** @typedef {import('./files.js').Files} Files */
/** @typedef {import('./files.js').File} File */
/** @typedef {{ path: string, entry: File | import('./files.js').Folder, offset: number, isAppending: boolean }} Open */
/**
 * What one call of the module sees.
 * @typedef {object} Surroundings
 * @property {string[]} args
 * @property {Files} files
 * @property {Uint8Array} stdin
 * @property {(fd: 1 | 2, bytes: Uint8Array) => void} print is called with a copy
 * @property {boolean} isTerminal whether standard error shows progress
 */

const errno = { success: 0, badf: 8, exist: 20, inval: 28, isdir: 31, noent: 44, nosys: 52, notdir: 54, notempty: 55, spipe: 70 };
const fileType = { unknown: 0, terminal: 2, folder: 3, file: 4 };
const openFlag = { create: 1, folder: 2, exclusive: 4, truncate: 8 };
const appendFlag = 1;
const root = 3; // the descriptor of the one folder that is open from the beginning
const allRights = 0xffffffffffffffffn;
const seekAndTell = (1n << 2n) | (1n << 5n); // what a terminal cannot do
const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The module has asked to end, which no command does. */
export class Ended extends Error {}

/**
 * The functions for an instance. `memory` is asked at every call, as it is replaced when it grows; `now` likewise, because an instance
 * outlives a question.
 * @param {() => WebAssembly.Memory} memory
 * @param {() => Surroundings} now
 */
export function wasi(memory, now) {
  /** @type {Map<number, Open>} */
  let open = new Map();
  const view = () => new DataView(memory().buffer);
  /** @param {number} at @param {number} size */
  const bytesAt = (at, size) => new Uint8Array(memory().buffer, at, size);
  /** @param {number} folder @param {number} at @param {number} size */
  const pathAt = (folder, at, size) => {
    const from = open.get(folder)?.path ?? '';
    return normalised(`${from}/${decoder.decode(bytesAt(at, size))}`);
  };
  /** @param {number} at @param {string[]} texts @param {number} to */
  const writeTexts = (texts, at, to) => {
    for (const text of texts) {
      view().setUint32(at, to, true);
      const bytes = encoder.encode(`${text}\0`);
      bytesAt(to, bytes.length).set(bytes);
      at += 4;
      to += bytes.length;
    }
    return errno.success;
  };
  /** @param {string[]} texts @param {number} count @param {number} size */
  const writeSizes = (texts, count, size) => {
    view().setUint32(count, texts.length, true);
    view().setUint32(size, texts.reduce((sum, text) => sum + encoder.encode(text).length + 1, 0), true);
    return errno.success;
  };
  /** @param {number} at @param {Open['entry'] | null} entry null: a stream */
  const writeStat = (at, entry) => {
    bytesAt(at, 64).fill(0);
    const to = view();
    to.setBigUint64(at, 1n, true);
    to.setBigUint64(at + 8, entry?.ino ?? 0n, true);
    to.setUint8(at + 16, !entry ? fileType.unknown : 'isFolder' in entry ? fileType.folder : fileType.file);
    to.setBigUint64(at + 24, 1n, true);
    if (entry && 'size' in entry) {
      to.setBigUint64(at + 32, BigInt(entry.size), true);
      to.setBigUint64(at + 48, entry.changed, true); // the time of the last change
    }
    return errno.success;
  };
  /** The error of a path at which nothing is. @param {string | null} path */
  const absent = (path) => (path !== null && now().files.parentOf(path) === 'file' ? errno.notdir : errno.noent);
  /** Calls `step` with each of the buffers until one is not filled. @param {number} at @param {number} count
   * @param {(buffer: Uint8Array) => number} step @param {number} result */
  const overBuffers = (at, count, step, result) => {
    let total = 0;
    for (let i = 0; i < count; ++i) {
      const size = view().getUint32(at + 8 * i + 4, true);
      const moved = step(bytesAt(view().getUint32(at + 8 * i, true), size));
      total += moved;
      if (moved < size) break;
    }
    view().setUint32(result, total, true);
    return errno.success;
  };
  /** @param {number} fd @returns {(Open & { entry: File }) | number} */
  const fileOf = (fd) => {
    const opened = open.get(fd);
    if (!opened) return errno.badf;
    return 'isFolder' in opened.entry ? errno.isdir : /** @type {Open & { entry: File }} */ (opened);
  };
  let stdinOffset = 0;

  /** Between two questions. */
  const reset = () => {
    open = new Map();
    stdinOffset = 0;
  };

  /** @type {Record<string, (...args: any[]) => number | void>} */
  const functions = {
    args_sizes_get: (count, size) => writeSizes(now().args, count, size),
    args_get: (at, to) => writeTexts(now().args, at, to),
    environ_sizes_get: (count, size) => writeSizes([], count, size),
    environ_get: () => errno.success,
    clock_res_get: (_clock, to) => (view().setBigUint64(to, 1000n, true), errno.success),
    clock_time_get: (clock, _precision, to) => {
      const ms = clock === 0 ? Date.now() : performance.now();
      view().setBigUint64(to, BigInt(Math.round(ms * 1e6)), true);
      return errno.success;
    },
    random_get: (at, size) => (globalThis.crypto.getRandomValues(bytesAt(at, size)), errno.success),
    proc_exit: (code) => {
      throw new Ended(`the module has ended itself with ${code}`);
    },
    sched_yield: () => errno.success,
    fd_prestat_get: (fd, to) => {
      if (fd !== root) return errno.badf;
      view().setUint32(to, 0, true);
      view().setUint32(to + 4, 1, true);
      return errno.success;
    },
    fd_prestat_dir_name: (_fd, at) => (bytesAt(at, 1).set(encoder.encode('/')), errno.success),
    fd_fdstat_get: (fd, to) => {
      const opened = open.get(fd);
      const isFolder = fd === root || (opened && 'isFolder' in opened.entry);
      if (fd > root && !opened) return errno.badf;
      const isTerminal = fd === 2 && now().isTerminal;
      bytesAt(to, 24).fill(0);
      view().setUint8(to, isFolder ? fileType.folder : opened ? fileType.file : isTerminal ? fileType.terminal : fileType.unknown);
      view().setUint16(to + 2, opened?.isAppending ? appendFlag : 0, true);
      view().setBigUint64(to + 8, isTerminal ? allRights & ~seekAndTell : allRights, true);
      view().setBigUint64(to + 16, allRights, true);
      return errno.success;
    },
    fd_fdstat_set_flags: (fd, flags) => {
      const opened = open.get(fd);
      if (opened) opened.isAppending = (flags & appendFlag) !== 0;
      return errno.success;
    },
    fd_filestat_get: (fd, to) => {
      if (fd < root) return writeStat(to, null);
      const entry = fd === root ? now().files.at('') : open.get(fd)?.entry;
      return entry ? writeStat(to, entry) : errno.badf;
    },
    fd_read: (fd, at, count, result) => {
      if (fd === 0) {
        const { stdin } = now();
        return overBuffers(at, count, (buffer) => {
          const part = stdin.subarray(stdinOffset, stdinOffset + buffer.length);
          buffer.set(part);
          stdinOffset += part.length;
          return part.length;
        }, result);
      }
      const opened = fileOf(fd);
      if (typeof opened === 'number') return opened;
      const { entry } = opened;
      return overBuffers(at, count, (buffer) => {
        const part = entry.bytes.subarray(opened.offset, Math.min(entry.size, opened.offset + buffer.length));
        buffer.set(part);
        opened.offset += part.length;
        return part.length;
      }, result);
    },
    fd_write: (fd, at, count, result) => {
      if (fd === 1 || fd === 2) {
        return overBuffers(at, count, (buffer) => {
          if (buffer.length > 0) now().print(fd, buffer.slice());
          return buffer.length;
        }, result);
      }
      const opened = fileOf(fd);
      if (typeof opened === 'number') return opened;
      return overBuffers(at, count, (buffer) => {
        if (opened.isAppending) opened.offset = opened.entry.size;
        put(opened.entry, opened.offset, buffer);
        opened.offset += buffer.length;
        return buffer.length;
      }, result);
    },
    fd_seek: (fd, offset, whence, result) => {
      if (fd < root) return errno.spipe;
      const opened = fileOf(fd);
      if (typeof opened === 'number') return opened;
      const from = [0, opened.offset, opened.entry.size][whence];
      if (from === undefined || from + Number(offset) < 0) return errno.inval;
      opened.offset = from + Number(offset);
      view().setBigUint64(result, BigInt(opened.offset), true);
      return errno.success;
    },
    fd_close: (fd) => (open.delete(fd) || fd <= root ? errno.success : errno.badf),
    fd_readdir: (fd, at, size, cookie, result) => {
      const folder = fd === root ? '' : open.get(fd)?.path;
      if (folder === undefined) return errno.badf;
      const names = now().files.list(folder);
      const end = at + size;
      let to = at;
      for (let i = Number(cookie); i < names.length && to < end; ++i) {
        const [name, entry] = /** @type {[string, Open['entry']]} */ (names[i]);
        const bytes = encoder.encode(name);
        const record = new Uint8Array(24 + bytes.length);
        const fields = new DataView(record.buffer);
        fields.setBigUint64(0, BigInt(i + 1), true);
        fields.setBigUint64(8, entry.ino, true);
        fields.setUint32(16, bytes.length, true);
        fields.setUint8(20, 'isFolder' in entry ? fileType.folder : fileType.file);
        record.set(bytes, 24);
        const part = record.subarray(0, end - to); // one that is cut off says that there is more
        bytesAt(to, part.length).set(part);
        to += part.length;
      }
      view().setUint32(result, to - at, true);
      return errno.success;
    },
    path_open: (folder, _lookup, at, size, flags, _rights, _inheriting, fdFlags, result) => {
      const { files } = now();
      const path = pathAt(folder, at, size);
      if (path === null) return errno.noent;
      let entry = files.at(path);
      if (!entry) {
        if (!(flags & openFlag.create) || files.parentOf(path) !== 'folder') return absent(path);
        entry = files.create(path);
      } else if ((flags & openFlag.create) && (flags & openFlag.exclusive)) {
        return errno.exist;
      } else if ('isFolder' in entry) {
        if (flags & (openFlag.create | openFlag.truncate)) return errno.isdir;
      } else if (flags & openFlag.folder) {
        return errno.notdir;
      } else if (flags & openFlag.truncate) {
        truncate(entry);
      }
      let fd = root + 1;
      while (open.has(fd)) ++fd;
      open.set(fd, { path, entry, offset: 0, isAppending: (fdFlags & appendFlag) !== 0 });
      view().setUint32(result, fd, true);
      return errno.success;
    },
    path_filestat_get: (folder, _lookup, at, size, to) => {
      const path = pathAt(folder, at, size);
      const entry = path === null ? undefined : now().files.at(path);
      return entry ? writeStat(to, entry) : absent(path);
    },
    path_create_directory: (folder, at, size) => {
      const { files } = now();
      const path = pathAt(folder, at, size);
      if (path === null) return errno.noent;
      if (files.at(path)) return errno.exist;
      if (files.parentOf(path) !== 'folder') return absent(path);
      files.createFolder(path);
      return errno.success;
    },
    path_unlink_file: (folder, at, size) => {
      const path = pathAt(folder, at, size);
      const entry = path === null ? undefined : now().files.at(path);
      if (path === null || !entry) return absent(path);
      if ('isFolder' in entry) return errno.isdir;
      now().files.remove(path);
      return errno.success;
    },
    path_remove_directory: (folder, at, size) => {
      const path = pathAt(folder, at, size);
      const entry = path === null ? undefined : now().files.at(path);
      if (path === null || !entry) return absent(path);
      if (!('isFolder' in entry)) return errno.notdir;
      if (now().files.list(path).length > 0) return errno.notempty;
      now().files.remove(path);
      return errno.success;
    },
  };
  /** What is called of the interface and is not here answers that it is not. @param {string} name */
  const functionOf = (name) => functions[name] ?? (() => errno.nosys);
  return { functionOf, reset };
}
