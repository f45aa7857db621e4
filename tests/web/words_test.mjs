// Words of the page: commands as a shell reads them, changes, numbers.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import test from 'node:test';

import { add, address_of, fresh, helped_pod, read_address, remove, rows_by_labels, undo, whatif_arguments, words_of } from '../../web/page/state.js';
import { bytes_of_text, text_of_bytes } from '../../web/page/seven_bits.js';
import { arguments_of, command_line, gpus, in_tenths, model_of, moment, names_of_free_parts, quoted, signed, unwrapped, words_of_no_plan, words_of_refusal } from '../../web/page/words.js';

test('a shell reads a command line as it is meant', () => {
  for (const words of [['plain'], ["it's"], ['a b', '$HOME', '`x`', '"', '\\', "'", '', '*'], ['mig-2=mig:all-balanced']]) {
    const line = command_line(words).replace('vgpusim', 'printf "%s\\n"');
    assert.equal(execFileSync('sh', ['-c', line], { encoding: 'utf8' }), words.join('\n') + '\n');
    if (!words.includes('')) assert.deepEqual(arguments_of(command_line(words)), words);
  }
  assert.equal(quoted('a/b.json'), 'a/b.json');
});

test('a kind is a model and how it is shared', () => {
  const models = { 'A100-80GB whole': 'A100-80GB', 'A100-80GB mig all-balanced': 'A100-80GB', 'T4 time-slicing x4': 'T4', 'T4 mps x10': 'T4', 'L40S hami-core': 'L40S',
    'NVIDIA-NVIDIA A100-SXM4-80GB hami-core': 'NVIDIA-NVIDIA A100-SXM4-80GB', 'A100-40GB mig 2x1g.5gb+1x2g.10gb': 'A100-40GB', '310P3 mindcluster-310p': '310P3', 'A30 mig': 'A30' };
  assert.deepEqual(Object.fromEntries(Object.keys(models).map((kind) => [kind, model_of(kind)])), models);
});

test('long lines are put together again', () => {
  const wrapped = `7 nodes are enough for a,
  b and 1 more; 6 are not (heuristic;
  fewer may do)
  never, on this kind  c: asks 1, the kind is A100
                       hami-core
  held back            d: gate

17 pods start, 0 stop.
  + e      f  8 x 1 MiB

                     BEFORE  AFTER
GPUs                   36.0   36.0
  used                 20.5   24.9
`;
  assert.deepEqual(unwrapped(wrapped).split('\n'), ['7 nodes are enough for a, b and 1 more; 6 are not (heuristic; fewer may do)', '  never, on this kind  c: asks 1, the kind is A100 hami-core',
    '  held back            d: gate', '', '17 pods start, 0 stop.', '  + e      f  8 x 1 MiB', '', '                     BEFORE  AFTER', 'GPUs                   36.0   36.0', '  used                 20.5   24.9', '']);
});

test('numbers are printed as in the terminal', () => {
  assert.equal(gpus(20501), '20.5');
  assert.equal(signed(-400, gpus), '-0.4');
  assert.deepEqual(in_tenths([171550, 39550, 4900]).map(gpus), ['171.6', '39.5', '4.9']);
  assert.deepEqual(in_tenths([20501, 11499, 4000]).map(gpus), ['20.5', '11.5', '4.0']);
  assert.equal(signed(4000, gpus), '+4.0');
  assert.equal(moment('2026-11-25T13:00:00Z'), '11-25 13:00Z');
  assert.equal(moment(null), '-');
});

test('parts that are free have the names of the command', () => {
  const part = (kind, name) => ({ kind, part: name });
  assert.deepEqual(names_of_free_parts([part('A100-80GB whole', 'gpu'), part(null, '1g.10gb'), part('T4 time-slicing x4', 'replicas'), part('L40S hami-core', 'slice')]),
    ['A100-80GB whole free', 'mig-1g.10gb free', 'T4 replicas, one node', 'L40S largest MiB']);
  assert.deepEqual(names_of_free_parts([part('T4 time-slicing x4', 'replicas'), part('T4 mps x10', 'replicas')]), ['T4 time-slicing x4 replicas, one node', 'T4 mps x10 replicas, one node']);
});

test('a refusal has no words of a command line', () => {
  for (const [said, words] of [
    ["--drain: got 'r0', expected a node of the cluster: a100-1, a100-2", 'r0 is not a node of the cluster: a100-1, a100-2'],
    ["--set-mode: node t4-1: got 'Tesla-T4-SHARED', expected a GPU that the catalog has MIG profiles of", 'node t4-1: Tesla-T4-SHARED is not a GPU that the catalog has MIG profiles of'],
    ["--add-nodes: got 'a100-1=1', expected none beside --find-layout", 'a100-1=1 cannot be beside Find layout'],
    ["--set-mode: got '=mps', expected NODES=MODE or NODES=mig:LAYOUT", '=mps: expected NODES=MODE or NODES=mig:LAYOUT'],
    ['pods.yaml:3: kind: missing', 'pods.yaml:3: kind: missing']]) assert.equal(words_of_refusal(said), words);
  assert.equal(words_of_no_plan({ reason: 'none_within_moves', moves_ruled_out: 3 }, 3), 'there is none with 3 moves: all of them were looked at');
  assert.equal(words_of_no_plan({ reason: 'step_limit', moves_ruled_out: 1 }, 3), 'the search came to its limit of steps; there is none with 1 move');
});

test('rows are by labels that group nodes', () => {
  const node = (i, more = {}) => ({ 'kubernetes.io/hostname': `n${i}`, 'nvidia.com/gpu.count': String(i % 2), 'feature.nvidia.com/x': String(i % 2), 'hami.io/x': String(i % 2),
    'beta.kubernetes.io/arch': String(i % 2), id: `n${i}`, one: 'same', pool: `p${i % 2}`, rack: `r${i % 3}`, ...more });
  const nodes = [0, 1, 2, 3, 4, 5].map((i) => node(i));
  assert.deepEqual(rows_by_labels(nodes), ['rack']);
  assert.deepEqual(rows_by_labels(nodes.map((labels) => ({ ...labels, 'topology.kubernetes.io/zone': 'a' }))), ['topology.kubernetes.io/zone', 'rack']);
});

test('the pod of a shape is asked about as long as it is added', () => {
  const state = { ...fresh(), helped: { pod: 'train/a-one-more', file: 'one-more-of-train-a.json' } };
  assert.equal(helped_pod(state), '');
  add(state, { flag: '--add-pods', value: 'one-more-of-train-a.json' });
  assert.equal(helped_pod(state), 'train/a-one-more');
});

test('changes add up, and are taken back one by one', () => {
  const state = { ...fresh(), cluster: ['atlas.json'] };
  add(state, { flag: '--add-nodes', value: 'a100-1=1' });
  add(state, { flag: '--drain', value: 'a100-2' });
  add(state, { flag: '--drain', value: 'a100-2' });
  add(state, { flag: '--add-nodes', value: 'a100-1=3' });
  assert.deepEqual(whatif_arguments(state), ['whatif', 'atlas.json', '--add-nodes', 'a100-1=3', '--drain', 'a100-2']);
  undo(state);
  assert.deepEqual(whatif_arguments(state).slice(2, 4), ['--add-nodes', 'a100-1=1']);
  remove(state, 0);
  assert.deepEqual(whatif_arguments(state), ['whatif', 'atlas.json', '--drain', 'a100-2']);
  add(state, { flag: '--policy', value: 'best_fit' });
  add(state, { flag: '--policy', value: 'binpack' });
  add(state, { flag: '--anew', value: '' });
  assert.deepEqual(whatif_arguments(state).slice(-3), ['--policy', 'binpack', '--anew']);
  add(state, { flag: '--find-nodes', value: 'a100-1' });
  add(state, { flag: '--find-layout', value: 'mig-*' });
  assert.deepEqual(whatif_arguments(state).slice(-2), ['--find-layout', 'mig-*']);
});

test('changes have words', () => {
  assert.equal(words_of({ flag: '--add-nodes', value: 'a100-1=1' }), '1 node like a100-1');
  assert.equal(words_of({ flag: '--add-nodes', value: 'T4:time_slicing=2' }), '2 nodes like T4:time_slicing');
  assert.equal(words_of({ flag: '--set-mode', value: 'mig-2=mig:all-balanced' }), 'mig-2 cut all-balanced');
});

test('bytes are text that a page can have in it, and are read back', () => {
  for (let size = 0; size < 40; ++size) {
    const bytes = Uint8Array.from({ length: size }, (_, i) => (i * 97 + size * 31) & 255);
    assert.deepEqual(bytes_of_text(text_of_bytes(bytes)), bytes);
  }
  const all = Uint8Array.from({ length: 70000 }, (_, i) => (i * i + (i >> 8)) & 255);
  const text = text_of_bytes(all);
  assert.deepEqual(bytes_of_text(text), all);
  assert.doesNotMatch(text, /[\0\r<]/);
});

test('choices are in the address, and names of the cluster are not', () => {
  const state = { ...fresh(), by: 'owner', all: true, goal: 'nodes', moves: 5, node: 'a100-1', pod: 'train/llm-3' };
  assert.equal(address_of('see', state), 'see&by=owner&all');
  assert.equal(address_of('why', state), 'why');
  assert.equal(address_of('defragment', state), 'defragment&goal=nodes&moves=5');
  const other = fresh();
  assert.equal(read_address('see&by=owner&all', other), 'see');
  assert.equal(read_address('defragment&goal=nodes&moves=5', other), 'defragment');
  assert.deepEqual([other.by, other.all, other.goal, other.moves], ['owner', true, 'nodes', 5]);
  assert.equal(address_of('see', { ...fresh(), by: 'rack' }), 'see', 'a label is a name of the cluster');
  read_address('see&by=zone', other);
  assert.equal(other.by, 'pool');
});
