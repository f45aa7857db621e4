// Files as they are read: packed or not, cut short, empty.
import assert from 'node:assert/strict';
import test from 'node:test';
import { gzipSync } from 'node:zlib';

import { Refused } from '../../web/page/ask.js';
import { read } from '../../web/page/reading.js';

const text = JSON.stringify({ kind: 'List', items: Array.from({ length: 20_000 }, (_, i) => ({ kind: 'Pod', i: i * 7919 })) });
const file = (content, name) => new File([content], name);
const refusal = (content, name) => read(file(content, name)).then(() => '', (failure) => (failure instanceof Refused ? failure.message : String(failure)));

test('a file is read, packed or not, and says how far it is', async () => {
  const packed = gzipSync(text);
  for (const [content, name] of [[text, 'a.json'], [packed, 'a.json.gz']]) {
    let last = 0;
    const [own_name, blob] = await read(file(content, name), { hear: (bytes) => { last = bytes; } });
    assert.equal(own_name, 'a.json');
    assert.equal(await blob.text(), text);
    assert.equal(last, content.length);
  }
});

test('a gzip file that is cut short says so', async () => {
  const packed = gzipSync(text);
  assert.equal(await refusal(packed.subarray(0, packed.length / 2), 'a.json.gz'), 'a.json.gz: the gzip file is cut short. What was read before it is not used.');
  const damaged = new Uint8Array(packed);
  damaged.fill(255, 1000, 2000);
  assert.equal(await refusal(damaged, 'a.json.gz'), 'a.json.gz: the gzip file is damaged. What was read before it is not used.');
});

test('an empty file says so', async () => {
  assert.equal(await refusal('', 'a.json'), 'a.json is empty.');
  assert.equal(await refusal(' \n', 'a.yaml'), 'a.yaml is empty.');
  assert.equal(await refusal(gzipSync(''), 'a.json.gz'), 'a.json.gz is empty.');
});

test('reading ends when nobody wants it', async () => {
  const stop = new AbortController();
  stop.abort();
  await assert.rejects(read(file(text, 'a.json'), { signal: stop.signal }), Refused);
});
