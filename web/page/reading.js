// @ts-check
// Files that were dropped, chosen or pasted.
import { Refused } from './ask.js';

/** More than this is nothing for the 4 GiB that a page has. */
export const most_bytes = 1 << 30;

/**
 * The same stream; `hear` is called with how many bytes have passed, and `fail` with what ends it before its time.
 * @param {ReadableStream<Uint8Array>} stream @param {{ hear?: (bytes: number) => void, fail?: (why: unknown) => void, signal?: AbortSignal }} how
 */
function watched(stream, { hear, fail, signal }) {
  const reader = stream.getReader();
  let bytes = 0;
  return new ReadableStream({
    async pull(to) {
      try {
        signal?.throwIfAborted();
        const { done, value } = await reader.read();
        if (done) return to.close();
        hear?.(bytes += value.length);
        to.enqueue(value);
      } catch (failure) {
        fail?.(failure);
        throw failure;
      }
    },
    cancel: (why) => reader.cancel(why),
  });
}

/** What is wrong with a file that cannot be read. @param {string} name @param {boolean} is_packed @param {unknown} why */
function words_of_failure(name, is_packed, why) {
  const message = why instanceof Error ? why.message : String(why);
  if (!is_packed || (why instanceof DOMException && why.name === 'NotReadableError')) return `${name} cannot be read: ${message}`;
  const is_cut = /truncat|unexpected end|ended|incomplete/i.test(message); // as browsers say it
  return `${name}: the gzip file is ${is_cut ? 'cut short' : 'damaged'}. What was read before it is not used.`;
}

/** @param {Blob} content */
const is_empty = async (content) => content.size === 0 || (content.size < 1000 && (await content.text()).trim() === '');

/**
 * A file, unpacked where it is a gzip. It is in the browser's memory and not in the page's, so that it need not be copied to the thread
 * that reads it; whatever becomes of the file on the disk, the page has it as it was.
 * @param {Blob & { name?: string }} file @param {{ hear?: (bytes: number) => void, signal?: AbortSignal }} [how] `hear`: is told how many bytes of the file are read
 * @returns {Promise<[string, Blob]>}
 */
export async function read(file, how = {}) {
  const own_name = file.name ?? 'pasted.yaml';
  let is_packed = false;
  /** @type {unknown} */
  let why = null;
  try {
    const begin = new Uint8Array(await file.slice(0, 2).arrayBuffer());
    is_packed = begin[0] === 0x1f && begin[1] === 0x8b;
    // What a Response says of a stream that fails is not why.
    const fail = (/** @type {unknown} */ failure) => { why = failure; };
    const bytes = watched(file.stream(), { ...how, fail });
    const content = await new Response(is_packed ? watched(bytes.pipeThrough(new DecompressionStream('gzip')), { fail }) : bytes).blob();
    if (await is_empty(content)) throw new Refused(`${own_name} is empty.`);
    return [own_name.replace(/\.gz$/, is_packed ? '' : '.gz'), content];
  } catch (failure) {
    throw failure instanceof Refused ? failure : new Refused(words_of_failure(own_name, is_packed, why ?? failure));
  }
}

/** Names that are there once. @param {[string, Blob][]} files @returns {[string, Blob][]} */
export function with_own_names(files) {
  /** @type {Set<string>} */
  const names = new Set();
  return files.map(([name, content]) => {
    let own = name.replaceAll(/[/\\]/g, '_');
    for (let i = 2; names.has(own); ++i) own = name.replace(/(\.[^.]*)?$/, `-${i}$1`);
    names.add(own);
    return [own, content];
  });
}

/** Whether the text is one of some objects, or settings of devices or of a scheduler. @param {Blob} content */
export async function is_device_configuration(content) {
  const text = await content.slice(0, 1 << 16).text();
  return !/"?kind"?\s*:\s*"?(List|Node|Pod)/.test(text) && /^(nvidia|vnpus|ascend)\b|device-config\.yaml/m.test(text);
}

/** Whether the text is prices of GPUs, as `show --prices` reads them. @param {Blob} content */
export const is_prices = async (content) => content.size < 1 << 16 && /"gpu_hour"\s*:/.test(await content.text());

/** Whether the text is a table of GPUs in use, as `forecast --history` reads it. @param {Blob} content */
export const is_history = async (content) => /^(?=.*\btime\b)(?=.*\bused\b)[\w, ]+\r?\n/.test(await content.slice(0, 1000).text());

/** base64 of a gzip. @param {string} text @returns {Promise<Blob>} */
export async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Response(stream).blob();
}
