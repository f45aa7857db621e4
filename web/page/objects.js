// @ts-check
// The nodes and pods of the files: where each is in its file, so that a list of 100,000 needs no memory for what they say.

/**
 * @typedef {{ kind: 'node' | 'pod', name: string, node: string, phase: string, bytes: Uint8Array, begin: number, end: number }} Entry
 * `name` of a pod has its namespace; `node` is the one that a pod is on, or empty.
 * @typedef {{ name: string, node: string, phase: string, owner: string, asks: string }} PodLine
 */

const open_brace = 123, close_brace = 125, open_bracket = 91, close_bracket = 93, quote = 34, backslash = 92;

/**
 * Where the objects of a JSON text are: items of a list, or the text itself. Empty for a text that is not JSON.
 * @param {Uint8Array} bytes @returns {[number, number][]}
 */
export function places_of_objects(bytes) {
  /** @type {[number, number][]} */
  const items = [];
  /** @type {[number, number][]} */
  const documents = [];
  let depth = 0;
  let list_at = 0; // the depth of the list that items are in, or 0
  let begin = 0;
  let document_begin = 0;
  let first = 0;
  while (first < bytes.length && bytes[first] <= 32) ++first;
  if (bytes[first] !== open_brace && bytes[first] !== open_bracket) return [];
  for (let i = first; i < bytes.length; ++i) {
    const byte = bytes[i];
    if (byte === quote) {
      for (++i; i < bytes.length && bytes[i] !== quote; ++i) if (bytes[i] === backslash) ++i;
    } else if (byte === open_brace || byte === open_bracket) {
      if (depth === 0) document_begin = i;
      ++depth;
      if (byte === open_bracket && depth <= 2) list_at = depth;
      else if (byte === open_brace && list_at > 0 && depth === list_at + 1) begin = i;
    } else if (byte === close_brace || byte === close_bracket) {
      if (byte === close_brace && list_at > 0 && depth === list_at + 1) items.push([begin, i + 1]);
      if (byte === close_bracket && depth === list_at) list_at = 0;
      if (--depth === 0) documents.push([document_begin, i + 1]);
    }
  }
  return items.length > 0 ? items : documents;
}

/** @param {Entry} entry @returns {any} */
export const object_of = ({ bytes, begin, end }) => JSON.parse(new TextDecoder().decode(bytes.subarray(begin, end)));

/** @param {Iterable<Uint8Array>} texts JSON @returns {Entry[]} */
export function entries_of(texts) {
  /** @type {Map<string, Entry>} */
  const entries = new Map();
  for (const bytes of texts) {
    for (const [begin, end] of places_of_objects(bytes)) {
      const place = { bytes, begin, end };
      const object = object_of(/** @type {Entry} */ (place));
      const { name = '', namespace = 'default' } = object.metadata ?? {};
      if (object.kind === 'Node') entries.set('node ' + name, { ...place, kind: 'node', name, node: '', phase: '' });
      if (object.kind === 'Pod') {
        const full_name = `${namespace}/${name}`;
        entries.set('pod ' + full_name, { ...place, kind: 'pod', name: full_name, node: object.spec?.nodeName ?? '', phase: object.status?.phase ?? '' });
      }
    }
  }
  return [...entries.values()];
}

const by_number = new Intl.Collator('en', { numeric: true });
export const has_ended = (/** @type {Entry} */ { phase }) => phase === 'Succeeded' || phase === 'Failed';

/** A quantity of Kubernetes as a number. @param {string | number} text */
export function amount_of(text) {
  const parts = String(text).match(/^([+-]?[\d.]+(?:e[+-]?\d+)?)([A-Za-z]*)$/i);
  if (!parts) return NaN;
  const factors = { m: 1e-3, '': 1, k: 1e3, M: 1e6, G: 1e9, T: 1e12, Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40 };
  return Number(parts[1]) * (factors[/** @type {keyof typeof factors} */ (parts[2])] ?? NaN);
}

/** What the containers of a pod ask for together, by resource. @param {any} pod @returns {Map<string, number>} */
export function asks_of(pod) {
  /** @type {Map<string, number>} */
  const sums = new Map();
  for (const container of pod.spec?.containers ?? []) {
    for (const [resource, text] of Object.entries({ ...container.resources?.limits, ...container.resources?.requests })) {
      sums.set(resource, (sums.get(resource) ?? 0) + amount_of(/** @type {string} */ (text)));
    }
  }
  return sums;
}

/** @param {any} pod */
const words_of_asks = (pod) => [...asks_of(pod)].filter(([resource]) => resource.includes('/')).map(([resource, amount]) => `${resource} ${amount}`).join(', ');

/** The pods on a node that have not ended. @param {Entry[]} entries @param {string} node @returns {PodLine[]} */
export const pods_of = (entries, node) => entries.filter((entry) => entry.kind === 'pod' && entry.node === node && !has_ended(entry)).map((entry) => {
  const pod = object_of(entry);
  const owner = (pod.metadata.ownerReferences ?? []).find((/** @type {any} */ reference) => reference.controller);
  return { name: entry.name, node, phase: entry.phase, owner: owner ? `${owner.kind} ${owner.name}` : '', asks: words_of_asks(pod) };
});

/**
 * Nodes and pods whose names have the text in them; those that begin with it come first.
 * @param {Entry[]} entries @param {{ text: string, most: number, kind?: string }} question
 */
export function found_by(entries, { text, most, kind }) {
  const wanted = text.trim().toLowerCase();
  const rank = (/** @type {Entry} */ entry) => {
    const name = entry.name.toLowerCase();
    return name.startsWith(wanted) || name.slice(name.indexOf('/') + 1).startsWith(wanted) ? 0 : name.includes(wanted) ? 1 : 2;
  };
  const hits = entries.filter((entry) => (!kind || entry.kind === kind) && !has_ended(entry) && rank(entry) < 2);
  const order = (/** @type {Entry} */ entry) => rank(entry) + (entry.kind === 'node' ? 0 : 0.5);
  hits.sort((left, right) => order(left) - order(right) || by_number.compare(left.name, right.name));
  return { count: hits.length, hits: hits.slice(0, most).map(({ kind: hit_kind, name, node, phase }) => ({ kind: hit_kind, name, node, phase })) };
}

/** Whether a node is among the objects of a file, JSON or YAML. @param {Uint8Array} bytes */
export function has_nodes(bytes) {
  const places = places_of_objects(bytes);
  if (places.length === 0) return /^(- | {2})?kind: ["']?Node["']?\s*$/m.test(new TextDecoder().decode(bytes));
  return places.some(([begin, end]) => {
    const text = new TextDecoder().decode(bytes.subarray(begin, end));
    return /"kind"\s*:\s*"Node"/.test(text) && JSON.parse(text).kind === 'Node'; // a node also owns pods
  });
}

/** What rules there are for where a pod goes, in its own words. @param {any} pod */
const rules_of = ({ metadata, spec }) => JSON.stringify([spec.nodeSelector, spec.affinity, spec.tolerations, spec.topologySpreadConstraints,
  Object.entries(metadata.annotations ?? {}).filter(([key]) => !written_by_schedulers.test(key))]);

/**
 * Pods that ask for these amounts, those that wait first, and one of each that have the same rules.
 * @param {Entry[]} entries @param {{ asks: Record<string, number>, most: number }} question `asks` as `show --json` has it
 */
export function pods_like(entries, { asks, most }) {
  const { cpu_milli, memory_mib, ...resources } = asks;
  const is_like = (/** @type {Entry} */ entry) => {
    const own = asks_of(object_of(entry));
    const of_devices = [...own].filter(([resource]) => resource.includes('/'));
    return of_devices.length === Object.keys(resources).length && of_devices.every(([resource, amount]) => resources[resource] === amount)
      && Math.round((own.get('cpu') ?? 0) * 1000) === cpu_milli && Math.ceil((own.get('memory') ?? 0) / 2 ** 20) === memory_mib;
  };
  const pods = [];
  /** @type {Set<string>} */
  const rules = new Set();
  for (const waits of [true, false]) {
    for (const entry of entries) {
      if (pods.length === most) return pods;
      if (entry.kind !== 'pod' || (entry.node === '') !== waits || has_ended(entry) || !is_like(entry)) continue;
      const own = rules_of(object_of(entry));
      if (!rules.has(own)) pods.push({ name: entry.name, node: entry.node });
      rules.add(own);
    }
  }
  return pods;
}

// What schedulers and device plugins write on a pod when they give it devices: another pod does not have it.
const written_by_schedulers = /vgpu-(node|time|ids-new|devices|mig-allocations)|devices-(to-allocate|allocated)|bind-(phase|time)|predicate-time|AscendReal|gpu-index|kubectl\.kubernetes\.io\/last-applied|kubernetes\.io\/config\.|cni\./;

/** The manifest of one more pod like this one. @param {any} pod @param {string} name */
export function one_more(pod, name) {
  const { namespace, labels, annotations } = pod.metadata;
  const own = Object.entries(annotations ?? {}).filter(([key]) => !written_by_schedulers.test(key));
  const spec = { ...pod.spec };
  for (const member of ['nodeName', 'hostname', 'ephemeralContainers']) delete spec[member];
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace, ...(labels && { labels }), ...(own.length > 0 && { annotations: Object.fromEntries(own) }) }, spec };
}
