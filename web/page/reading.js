// @ts-check
// Files that were dropped, chosen or pasted.

/** More than this is nothing for the 4 GiB that a page has. */
export const most_bytes = 1 << 30;

/**
 * The bytes of a file, unpacked where it is a gzip. @param {Blob & { name?: string }} file @returns {Promise<[string, Uint8Array]>}
 */
export async function read(file) {
  const begin = new Uint8Array(await file.slice(0, 2).arrayBuffer());
  const is_packed = begin[0] === 0x1f && begin[1] === 0x8b;
  const stream = is_packed ? file.stream().pipeThrough(new DecompressionStream('gzip')) : file.stream();
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const name = (file.name ?? 'pasted.yaml').replace(/\.gz$/, is_packed ? '' : '.gz');
  return [name, bytes];
}

/** Names that are there once. @param {[string, Uint8Array][]} files @returns {[string, Uint8Array][]} */
export function with_own_names(files) {
  /** @type {Set<string>} */
  const names = new Set();
  return files.map(([name, bytes]) => {
    let own = name.replaceAll(/[/\\]/g, '_');
    for (let i = 2; names.has(own); ++i) own = name.replace(/(\.[^.]*)?$/, `-${i}$1`);
    names.add(own);
    return [own, bytes];
  });
}

/** Whether the text is one of some objects, or settings of devices or of a scheduler. @param {Uint8Array} bytes */
export function is_device_configuration(bytes) {
  const text = new TextDecoder().decode(bytes.subarray(0, 1 << 16));
  return !/"?kind"?\s*:\s*"?(List|Node|Pod)/.test(text) && /^(nvidia|vnpus|ascend)\b|device-config\.yaml/m.test(text);
}

/** Whether the text is prices of GPUs, as `show --prices` reads them. @param {Uint8Array} bytes */
export const is_prices = (bytes) => bytes.length < 1 << 16 && /"gpu_hour"\s*:/.test(new TextDecoder().decode(bytes));

/** base64 of a gzip. @param {string} text @returns {Promise<Uint8Array>} */
export async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
