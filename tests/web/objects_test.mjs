// Nodes and pods of files of JSON: where they are, who is on a node, one more of a pod.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';

import { mix_of, nodes_of } from '../../web/page/mix.js';
import { names_found, names_of } from '../../web/page/names.js';
import { amount_of, asks_of, entries_of, found_by, has_nodes, object_of, one_more, places_of_objects, pods_like, pods_of } from '../../web/page/objects.js';

const bytes = (text) => new TextEncoder().encode(text);
const cluster = (name) => readFileSync(new URL(`../../scenarios/clusters/${name}.json`, import.meta.url));
const atlas = entries_of([cluster('atlas')]);
const texts_of = (text) => places_of_objects(bytes(text)).map(([begin, end]) => text.slice(begin, end));

test('objects are items of a list, of an array, or documents', () => {
  assert.deepEqual(texts_of('{"kind":"List","items":[{"a":[{"b":1}]},{"c":"}]{"}],"metadata":{}}'), ['{"a":[{"b":1}]}', '{"c":"}]{"}']);
  assert.deepEqual(texts_of(' [{"a":{}}, {"b":"\\"]"}]'), ['{"a":{}}', '{"b":"\\"]"}']);
  assert.deepEqual(texts_of('{"kind":"Pod","spec":{"containers":[{"x":1}]}}\n{"kind":"Node"}'), ['{"kind":"Pod","spec":{"containers":[{"x":1}]}}', '{"kind":"Node"}']);
  assert.deepEqual(texts_of('kind: Pod\n'), []);
  assert.deepEqual(texts_of('{"kind":"List","items":[]}'), ['{"kind":"List","items":[]}']);
});

test('every object of a cluster is there', () => {
  for (const name of ['atlas', 'harbor']) {
    const { items } = JSON.parse(cluster(name).toString());
    assert.deepEqual(entries_of([cluster(name)]).map(object_of), items.filter(({ kind }) => kind === 'Node' || kind === 'Pod'));
  }
});

test('pods of a node, with what they ask for', () => {
  assert.deepEqual(pods_of(atlas, 'a100-2').map(({ name, asks }) => `${name}: ${asks}`), ['train/cv-0: nvidia.com/gpu 4', 'research/nb-0: nvidia.com/gpu 1']);
});

test('names are found by a part of them, those that begin with it first', () => {
  assert.deepEqual(found_by(atlas, { text: 'LLM', most: 100 }).hits.map(({ name }) => name), ['train/llm-0', 'train/llm-1', 'train/llm-3']);
  const nodes = found_by(atlas, { text: 'mig-', most: 1 });
  assert.deepEqual(nodes.hits.map(({ kind, name }) => `${kind} ${name}`), ['node mig-1']);
  assert.equal(nodes.count, 2);
  assert.equal(found_by(atlas, { text: '', most: 100, kind: 'pod' }).count, 32);
});

test('amounts are read as Kubernetes reads them', () => {
  assert.deepEqual(['4', '500m', '192Gi', '1e3', '2k', 'x'].map(amount_of), [4, 0.5, 192 * 2 ** 30, 1000, 2000, NaN]);
  assert.equal(asks_of({ spec: { containers: [{ resources: { limits: { 'a/b': '1' } } }, { resources: { requests: { 'a/b': 2 }, limits: { 'a/b': 2 } } }] } }).get('a/b'), 3);
});

test('pods of a shape', () => {
  const asks = { 'nvidia.com/gpu': 4, cpu_milli: 48000, memory_mib: 196608 };
  assert.deepEqual(pods_like(atlas, { asks, most: 2 }).map(({ name }) => name), ['train/llm-3'], 'one of each that have the same rules');
  const dev = pods_like(atlas, { asks: { 'nvidia.com/gpu': 1, cpu_milli: 2000, memory_mib: 8192 }, most: 20 });
  assert.deepEqual(dev.map(({ name }) => name), ['research/embed-0', 'dev/nb-0']);
});

test('a file has nodes if an object of it is one', () => {
  assert.equal(has_nodes(cluster('atlas')), true);
  assert.equal(has_nodes(bytes('{"kind":"List","items":[{"kind":"Pod","metadata":{"ownerReferences":[{"kind":"Node"}]}}]}')), false);
  assert.equal(has_nodes(bytes('kind: List\nitems:\n- apiVersion: v1\n  kind: Node\n')), true);
  assert.equal(has_nodes(bytes('kind: Pod\nmetadata:\n  ownerReferences:\n  - kind: Job\n    name: Node\n')), false);
});

test('one more of a pod has neither its node nor its devices', () => {
  const pod = {
    kind: 'Pod', metadata: { name: 'chat-0', namespace: 'prod', uid: '1', labels: { app: 'chat' }, ownerReferences: [{ name: 'chat' }],
      annotations: { 'hami.io/vgpu-node': 'h1', 'hami.io/vgpu-devices-allocated': 'GPU-h1-0', 'hami.io/bind-phase': 'success', 'nvidia.com/use-gputype': 'L40S' } },
    spec: { nodeName: 'h1', containers: [{ name: 'main' }] }, status: { phase: 'Running' },
  };
  assert.deepEqual(one_more(pod, 'chat-0-one-more'), {
    apiVersion: 'v1', kind: 'Pod', metadata: { name: 'chat-0-one-more', namespace: 'prod', labels: { app: 'chat' }, annotations: { 'nvidia.com/use-gputype': 'L40S' } },
    spec: { containers: [{ name: 'main' }] },
  });
});

test('a mix has the shapes of a cluster, and is the same every time', () => {
  const { classes, arrivals, pods } = mix_of(atlas, []);
  assert.deepEqual(mix_of(atlas, []).arrivals, arrivals);
  const names = JSON.parse(classes).items.map(({ metadata }) => metadata.name);
  assert.equal(new Set(names).size, names.length);
  assert.ok(JSON.parse(classes).items.every(({ spec }) => !spec.nodeName && !spec.schedulingGates));
  const rows = arrivals.trim().split('\n').slice(1).map((row) => row.split(','));
  assert.equal(rows.length, pods);
  assert.deepEqual(new Set(rows.map(([, name]) => name)), new Set(names));
  assert.ok(rows.every(([, , arrival, duration], i) => Number(duration) > 0 && (i === 0 || Number(arrival) >= Number(rows[i - 1][2]))));
  assert.equal(JSON.parse(mix_of(atlas, ['train/llm-0']).classes).items.length, names.length - 1);
  assert.deepEqual(mix_of([], []).pods, 0);
  assert.deepEqual(JSON.parse(nodes_of(atlas)).items.map(({ kind }) => kind), Array(6).fill('Node'));
});

test('pods of a mix stay as long as those that run have run until the newest pod of the file came, as run --start has it', () => {
  const pod = (name, moment, spec, asks = { 'nvidia.com/gpu': '1' }) => ({ kind: 'Pod', metadata: { name, creationTimestamp: moment },
    spec: { ...spec, containers: [{ name: 'm', resources: { limits: asks } }] }, status: spec.nodeName ? { phase: 'Running', startTime: moment } : { phase: 'Pending' } });
  const together = [pod('a', '2026-11-20T10:00:00Z', { nodeName: 'n' }), pod('b', '2026-11-20T10:00:00Z', { nodeName: 'n' })];
  const stay = (...others) => mix_of(entries_of([bytes(JSON.stringify({ kind: 'List', items: [...together, ...others] }))]), []).stay;
  assert.equal(stay(), 3600);
  assert.equal(stay(pod('w', '2026-11-20T10:01:40Z', {})), 100);
  assert.equal(stay(pod('host', '2026-11-20T10:03:20Z', { nodeName: 'n' }, { cpu: '1' })), 200);
  assert.equal(stay(pod('c', '2026-11-20T10:05:00Z', { nodeName: 'n' })), 200);
});

test('names that are left in a file are found, and parts of resources are no names', () => {
  const names = names_of([cluster('atlas'), bytes('{"kind":"Node","metadata":{"name":"n","annotations":{"a/register":"GPU-4f2a-01,10:"}},"status":{"addresses":[{"address":"10.1.2.3"}]}}')]);
  assert.equal(names.size, 54);
  assert.deepEqual(names_found(names, cluster('atlas')).length, 52);
  assert.deepEqual(names_found(names, bytes('{"items":[{"kind":"Node","metadata":{"name":"node-1"},"status":{"allocatable":{"nvidia.com/gpu":"8"}}}]}')), []);
  const left = '{"items":[{"metadata":{"annotations":{"x":"[node-1,GPU-4f2a-01]","y":"train/node-2","z":"10.1.2.3"}}}]}';
  assert.deepEqual(names_found(names, bytes(left)), ['train', '10.1.2.3', 'GPU-4f2a-01']);
});
