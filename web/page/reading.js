// @ts-check
// Files that were dropped, chosen or pasted.

/** More than this is nothing for the 4 GiB that a page has. */
export const most_bytes = 1 << 30;

/**
 * A file, unpacked where it is a gzip. It is in the browser's memory and not in the page's, so that it need not be copied to the thread
 * that reads it; whatever becomes of the file on the disk, the page has it as it was.
 * @param {Blob & { name?: string }} file @returns {Promise<[string, Blob]>}
 */
export async function read(file) {
  const begin = new Uint8Array(await file.slice(0, 2).arrayBuffer());
  const is_packed = begin[0] === 0x1f && begin[1] === 0x8b;
  const stream = is_packed ? file.stream().pipeThrough(new DecompressionStream('gzip')) : file.stream();
  const content = await new Response(stream).blob();
  const name = (file.name ?? 'pasted.yaml').replace(/\.gz$/, is_packed ? '' : '.gz');
  return [name, content];
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
