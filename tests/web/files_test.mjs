// The files in memory that the module sees, and the part of WASI that is over them.
import assert from 'node:assert/strict';
import test from 'node:test';
import { Files, normalised, put, truncate } from '../../web/files.js';
import { wasi } from '../../web/wasi.js';

const bytes = (text) => new TextEncoder().encode(text);
const text = (content) => new TextDecoder().decode(content);
const errno = { success: 0, badf: 8, exist: 20, isdir: 31, noent: 44, nosys: 52, notdir: 54, notempty: 55 };

test('a path is read from the root', () => {
  assert.equal(normalised('./a//b/../c'), 'a/c');
  assert.equal(normalised('/a'), 'a');
  assert.equal(normalised('a/..'), '');
  assert.equal(normalised('../a'), null);
});

test('inputs have folders and are not what was written', () => {
  const files = new Files([['a/b/c.json', bytes('{}')]]);
  assert.ok('isFolder' in files.at('a/b'));
  assert.equal(files.written().size, 0);
  assert.deepEqual(files.list('a').map(([name]) => name), ['b']);
  assert.throws(() => new Files([['..', bytes('')]]), RangeError);
});

test('what is written into an input leaves the bytes of the caller as they are', () => {
  const input = bytes('abc');
  const files = new Files([['a', input]]);
  put(files.at('a'), 1, bytes('X'));
  assert.equal(text(files.written().get('a')), 'aXc');
  assert.equal(text(input), 'abc');
  truncate(files.at('a'));
  assert.equal(files.written().get('a').length, 0);
});

test('a file grows in pieces', () => {
  const files = new Files([]);
  const file = files.create('out');
  let at = 0;
  for (let i = 0; i < 3000; ++i) {
    put(file, at, bytes(`${i},`));
    at += `${i},`.length;
  }
  assert.equal(text(files.written().get('out')), Array.from({ length: 3000 }, (_, i) => `${i},`).join(''));
});

/** The interface over files, called as the module calls it: texts lie in a memory. */
class Caller {
  constructor(files, more = {}) {
    this.memory = new WebAssembly.Memory({ initial: 1 });
    this.printed = [];
    this.now = { args: ['vgpusim'], files: new Files(files), stdin: bytes('typed'), isTerminal: false, print: (fd, part) => this.printed.push([fd, text(part)]), ...more };
    this.wasi = wasi(() => this.memory, () => this.now);
  }
  call(name, ...args) {
    return this.wasi.functionOf(name)(...args);
  }
  put(at, content) {
    new Uint8Array(this.memory.buffer, at).set(bytes(content));
    return [at, bytes(content).length];
  }
  number(at) {
    return new DataView(this.memory.buffer).getUint32(at, true);
  }
  /** @returns the descriptor, or minus the error */
  open(path, flags = 0) {
    const failure = this.call('path_open', 3, 0, ...this.put(100, path), flags, 0n, 0n, 0, 0);
    return failure === errno.success ? this.number(0) : -failure;
  }
  buffers(size) {
    new DataView(this.memory.buffer).setUint32(8, 1000, true);
    new DataView(this.memory.buffer).setUint32(12, size, true);
    return [8, 1, 4];
  }
  read(fd, size = 100) {
    assert.equal(this.call('fd_read', fd, ...this.buffers(size)), errno.success);
    return text(new Uint8Array(this.memory.buffer, 1000, this.number(4)));
  }
  write(fd, content) {
    const [, size] = this.put(1000, content);
    return this.call('fd_write', fd, ...this.buffers(size));
  }
}

test('a file is opened, read and closed', () => {
  const caller = new Caller([['in/a.json', bytes('content')]]);
  const fd = caller.open('in/a.json');
  assert.equal(caller.read(fd, 3), 'con');
  assert.equal(caller.read(fd), 'tent');
  assert.equal(caller.read(fd), '');
  assert.equal(caller.call('fd_close', fd), errno.success);
  assert.equal(caller.call('fd_close', fd), errno.badf);
});

test('what cannot be opened says why', () => {
  const caller = new Caller([['a', bytes('')], ['in/b', bytes('')]]);
  assert.equal(caller.open('none'), -errno.noent);
  assert.equal(caller.open('a/b'), -errno.notdir);
  assert.equal(caller.open('none/b', 1), -errno.noent);
  assert.equal(caller.open('in', 1), -errno.isdir);
  assert.equal(caller.open('a', 2), -errno.notdir);
  assert.equal(caller.open('a', 1 | 4), -errno.exist);
});

test('a file is created, written and listed', () => {
  const caller = new Caller([]);
  assert.equal(caller.call('path_create_directory', 3, ...caller.put(100, 'out')), errno.success);
  assert.equal(caller.call('path_create_directory', 3, ...caller.put(100, 'out')), errno.exist);
  const fd = caller.open('out/a.txt', 1 | 8);
  assert.equal(caller.write(fd, 'first '), errno.success);
  assert.equal(caller.write(fd, 'second'), errno.success);
  assert.deepEqual([...caller.now.files.written()].map(([name, content]) => [name, text(content)]), [['out/a.txt', 'first second']]);
  assert.equal(caller.call('path_remove_directory', 3, ...caller.put(100, 'out')), errno.notempty);
  assert.equal(caller.call('path_unlink_file', 3, ...caller.put(100, 'out/a.txt')), errno.success);
  assert.equal(caller.call('path_remove_directory', 3, ...caller.put(100, 'out')), errno.success);
});

test('streams are the caller\'s', () => {
  const caller = new Caller([]);
  assert.equal(caller.read(0, 2), 'ty');
  assert.equal(caller.read(0), 'ped');
  caller.write(1, 'out');
  caller.write(2, 'err');
  assert.deepEqual(caller.printed, [[1, 'out'], [2, 'err']]);
  caller.wasi.reset();
  assert.equal(caller.read(0), 'typed');
});

test('standard error is a terminal where somebody follows', () => {
  const type = (caller) => {
    caller.call('fd_fdstat_get', 2, 200);
    return new Uint8Array(caller.memory.buffer)[200];
  };
  assert.equal(type(new Caller([])), 0);
  assert.equal(type(new Caller([], { isTerminal: true })), 2);
});

test('what is not there says so', () => {
  assert.equal(new Caller([]).call('sock_accept', 0, 0, 0), errno.nosys);
});
