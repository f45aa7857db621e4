// What xz packs is unpacked, whatever it is and however contexts are made.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { fileURLToPath } from 'node:url';

import { unpacked } from '../../web/page/lzma.js';

/** Numbers below `end` that look drawn, the same in every run. */
function drawn(seed) {
  let state = seed;
  return (end) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * end);
  };
}

function packed(bytes, options) {
  const result = execFileSync('xz', ['--format=lzma', `--lzma1=${options}`, '--stdout'], { input: bytes, maxBuffer: 1 << 26 });
  result.writeBigUInt64LE(BigInt(bytes.length), 5);
  return new Uint8Array(result);
}

/** Pieces of what went before, near and far, between bytes of a small alphabet: all kinds of copies. */
function text_with_copies(seed, size) {
  const next = drawn(seed);
  const bytes = new Uint8Array(size);
  for (let i = 0; i < size;) {
    if (next(3) > 0 || i === 0) { bytes[i++] = next(next(2) ? 4 : 256); continue; }
    const back = 1 + next(Math.min(i, 10 ** (1 + next(6))));
    for (let left = Math.min(1 + next(next(2) ? 12 : 400), size - i); left > 0; --left) { bytes[i] = bytes[i - back]; ++i; }
  }
  return bytes;
}

const contexts = ['lc=4,lp=0,pb=0', 'lc=3,lp=0,pb=2', 'lc=0,lp=4,pb=4', 'lc=0,lp=0,pb=0', 'lc=2,lp=2,pb=1'];

test('drawn texts of all kinds of copies, in all kinds of contexts', () => {
  let seed = 0;
  for (const size of [0, 1, 2, 5, 1000, 70_000, 1_500_000]) {
    for (const context of contexts) {
      const bytes = text_with_copies(++seed, size);
      assert.deepEqual(Buffer.compare(unpacked(packed(bytes, context)), bytes), 0, `${size} bytes, ${context}`);
    }
  }
});

test('a program, as the page has one', () => {
  const bytes = readFileSync(process.execPath).subarray(0, 4_000_000);
  assert.equal(Buffer.compare(unpacked(packed(bytes, 'preset=9e,lc=4,lp=0,pb=0,nice=273,dict=8MiB')), bytes), 0);
});

test('sources, with the bytes of another buffer before them', () => {
  const bytes = readFileSync(fileURLToPath(import.meta.url));
  const small = packed(bytes, 'preset=0');
  const shifted = new Uint8Array(small.length + 3);
  shifted.set(small, 3);
  assert.equal(Buffer.compare(unpacked(shifted.subarray(3)), bytes), 0);
});
