// Questions to the thread: the last of a topic is answered, answers are remembered as long as the files are the same.
import assert from 'node:assert/strict';
import test from 'node:test';

import { Asker, Dropped } from '../../web/page/ask.js';

/** A thread that answers when it is told to. */
class Thread {
  static all = [];
  constructor() {
    this.questions = [];
    Thread.all.push(this);
  }
  postMessage(message) {
    if (message.type === 'ask') this.questions.push(message);
  }
  answer(stdout = '') {
    const { id } = this.questions.at(-1);
    this.onmessage({ data: { type: 'answer', id, code: 0, stdout, stderr: '', written: new Map(), ms: 1 } });
  }
  terminate() {}
}
globalThis.Worker = Thread;

function fresh() {
  Thread.all = [];
  const asker = new Asker('', []);
  return { asker, thread: Thread.all[0] };
}
const settled = () => new Promise((resolve) => { setTimeout(resolve); });

test('of one topic the last question is answered', async () => {
  const { asker, thread } = fresh();
  const first = asker.ask('slider', ['1']);
  const second = assert.rejects(asker.ask('slider', ['2']), Dropped);
  const third = asker.ask('slider', ['3']);
  thread.answer('one');
  thread.answer('three');
  assert.equal((await first).stdout, 'one');
  assert.equal((await third).stdout, 'three');
  await second;
  assert.deepEqual(thread.questions.map(({ args }) => args), [['1'], ['3']]);
});

test('an answer is remembered until the files are others', async () => {
  const { asker, thread } = fresh();
  asker.use([['a', new Blob(['1'])]]);
  const first = asker.ask('see', ['show', 'a']);
  thread.answer('one');
  await first;
  assert.equal((await asker.ask('see', ['show', 'a'])).stdout, 'one');
  asker.put('b', new Blob(['1']));
  await asker.ask('see', ['show', 'a']);
  assert.equal(thread.questions.length, 1);
  asker.put('b', new Blob(['2']));
  const late = asker.ask('see', ['show', 'a']);
  asker.use([['a', new Blob(['2'])]]);
  thread.answer('of other files');
  assert.equal((await late).stdout, 'of other files');
  asker.ask('see', ['show', 'a']);
  assert.equal(thread.questions.length, 3);
});

test('a question that is stopped is dropped, and the next one has a new thread', async () => {
  const { asker } = fresh();
  const stopped = assert.rejects(asker.ask('run', ['run']), Dropped);
  const waits = asker.ask('see', ['show', 'a']);
  const waiting = assert.rejects(waits, Dropped, 'nothing begins after a stop');
  asker.stop();
  await stopped;
  await waiting;
  const next = asker.ask('see', ['show']);
  await settled();
  Thread.all[1].answer('shown');
  assert.equal((await next).stdout, 'shown');
});
