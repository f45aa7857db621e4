// @ts-check
// A workload like the pods of a cluster: their manifests as classes, and a table of arrivals that is drawn from them.
import { asks_of, has_ended, object_of, one_more } from './objects.js';

/** @typedef {import('./objects.js').Entry} Entry */

const most_rows = 20_000;

/** Numbers from 0 to 1, the same ones every time: the files of one cluster are to be the same tomorrow. @returns {() => number} */
function draws() {
  let state = 1;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** @param {any[]} items */
const list_of = (items) => JSON.stringify({ apiVersion: 'v1', kind: 'List', items }, null, 1) + '\n';

/** The nodes without their pods. @param {Entry[]} entries */
export const nodes_of = (entries) => list_of(entries.filter(({ kind }) => kind === 'node').map(object_of));

/** When a pod has begun, in seconds, or NaN. @param {any} pod */
const begin_of = ({ metadata, status }) => Date.parse(status?.startTime ?? metadata.creationTimestamp) / 1000;

/**
 * Each pod of the table is like one of the cluster's, all with the same chance. They stay as long as the pods that run have run on
 * average, and come so often that as many are there as in the cluster.
 * @param {Entry[]} entries @param {string[]} without pods, with their namespaces, whose likes are left out
 */
export function mix_of(entries, without) {
  /** @type {Map<string, any>} */
  const classes = new Map();
  /** @type {Set<string>} */
  const names = new Set();
  /** @type {string[]} */
  const class_of_pods = [];
  const begins = [];
  let newest = 0; // of all pods: when the file was written, as `run --start` takes it
  for (const entry of entries) {
    if (entry.kind !== 'pod') continue;
    const pod = object_of(entry);
    newest = Math.max(newest, begin_of(pod) || 0);
    if (has_ended(entry)) continue;
    if (![...asks_of(pod).keys()].some((resource) => resource.includes('/'))) continue;
    if (entry.node) begins.push(begin_of(pod));
    const { metadata, spec } = one_more(pod, '');
    delete spec.schedulingGates; // who set a gate on the one does not set it on the others
    const key = JSON.stringify([metadata.annotations, spec.nodeSelector, spec.affinity, spec.tolerations, spec.priority,
      [...(spec.initContainers ?? []), ...spec.containers].map(({ resources }) => resources)]);
    if (!classes.has(key)) {
      let name = pod.metadata.name;
      for (let i = 2; names.has(name); ++i) name = `${pod.metadata.name}-${i}`;
      names.add(name);
      if (without.includes(`${pod.metadata.namespace ?? 'default'}/${name}`)) classes.set(key, null);
      else classes.set(key, { apiVersion: 'v1', kind: 'Pod', metadata: { ...metadata, name }, spec });
    }
    if (classes.get(key)) class_of_pods.push(classes.get(key).metadata.name);
  }
  const known = begins.filter((begin) => !Number.isNaN(begin));
  const stay = known.reduce((sum, begin) => sum + newest - begin, 0) / known.length || 3600;
  const draw = draws();
  const length_of = (/** @type {number} */ mean) => -Math.log(1 - draw()) * mean;
  const rows = ['name,class,arrival,duration'];
  let arrival = 0;
  const count = class_of_pods.length === 0 ? 0 : Math.min(Math.max(5 * class_of_pods.length, 200), most_rows);
  for (let i = 0; i < count; ++i) {
    arrival += length_of(stay / class_of_pods.length);
    rows.push(`pod-${i},${class_of_pods[Math.floor(draw() * class_of_pods.length)]},${Math.round(arrival)},${Math.ceil(length_of(stay))}`);
  }
  return { classes: list_of([...classes.values()].filter(Boolean)), arrivals: rows.join('\n') + '\n', stay, pods: count };
}
