// @ts-check
// Whether a file without names has none of those that the cluster has.
import { places_of_objects } from './objects.js';

const identifier = /\b(?:GPU|MIG|NPU)-(?!\d+g\b)[0-9A-Za-z][0-9A-Za-z-]+|\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g;

const of_every_cluster = new Set(['default', 'kube-system', 'kube-public', 'kube-node-lease']);

/** Objects of a JSON text, one after the other. @param {Uint8Array} bytes */
function* objects_of(bytes) {
  for (const [begin, end] of places_of_objects(bytes)) yield JSON.parse(new TextDecoder().decode(bytes.subarray(begin, end)));
}

/** Every text of a value. @param {any} value @returns {Generator<string>} */
function* texts_in(value) {
  if (typeof value === 'string') yield value;
  else if (value && typeof value === 'object') for (const [key, member] of Object.entries(value)) {
    if (!Array.isArray(value)) yield key;
    yield* texts_in(member);
  }
}

/** Names, addresses and serial numbers of the objects. @param {Iterable<Uint8Array>} texts JSON */
export function names_of(texts) {
  /** @type {Set<string>} */
  const names = new Set();
  const add = (/** @type {unknown} */ name) => { if (typeof name === 'string' && name.length > 1 && !of_every_cluster.has(name)) names.add(name); };
  for (const bytes of texts) {
    for (const { metadata = {}, spec = {}, status = {} } of objects_of(bytes)) {
      for (const name of [metadata.name, metadata.namespace, metadata.uid, spec.providerID, status.podIP, status.hostIP]) add(name);
      for (const owner of metadata.ownerReferences ?? []) add(owner.name);
      for (const { address } of status.addresses ?? []) add(address);
      for (const text of texts_in([metadata, spec])) for (const [name] of text.matchAll(identifier)) add(name);
    }
  }
  return names;
}

/** A text and its words. The part behind the domain of a resource or label is no word. @param {string} text */
const words_of = (text) => [text, ...text.split(/[^\w./-]+/), ...text.split(/[^\w./-]+/).filter((word) => !/^[\w-]+\./.test(word)).flatMap((word) => word.split('/'))];

/** Those of the names that a JSON text has, as a word or, if they are long, as a part of one. @param {Set<string>} names @param {Uint8Array} bytes */
export function names_found(names, bytes) {
  const text = new TextDecoder().decode(bytes);
  /** @type {Set<string>} */
  const words = new Set();
  for (const object of objects_of(bytes)) for (const value of texts_in(object)) for (const word of words_of(value)) words.add(word);
  return [...names].filter((name) => words.has(name) || (name.length > 7 && text.includes(name)));
}
