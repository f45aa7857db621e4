// @ts-check
// Files are opened: what is read is said at once, and what is not taken leaves what was there.
import { Dropped } from './ask.js';
import { by_id } from './dom.js';
import { computing, report_reading } from './progress.js';
import { is_device_configuration, is_history, is_prices, read, with_own_names } from './reading.js';
import { fresh } from './state.js';

/** @typedef {import('./app.js').Page} Page */
/** @typedef {{ files: [string, Blob][], state: import('./state.js').State }} Cluster */

const invitation = 'Drop files here';

/**
 * Reads files and hands them on. Whoever opens others meanwhile wants these no more.
 * @param {Page} page @param {Iterable<Blob & { name?: string }>} list @param {(entries: [string, Blob][]) => Promise<void>} take
 */
export async function open_files(page, list, take) {
  const files = [...list];
  if (files.length === 0) return;
  page.abort();
  const controller = new AbortController();
  page.abort = () => controller.abort();
  const name = files.length === 1 ? files[0].name ?? 'what was pasted' : `${files.length} files`;
  const size = files.reduce((sum, file) => sum + file.size, 0);
  const read_of = files.map(() => 0);
  page.say(`Reading ${name} …`);
  if (by_id('invitation')) by_id('invitation').textContent = `Reading ${name} …`;
  try {
    await computing(page, async () => {
      const entries = await Promise.all(files.map((file, i) => read(file, { signal: controller.signal, hear: (bytes) => {
        read_of[i] = bytes;
        report_reading(name, read_of.reduce((sum, part) => sum + part), size);
      } })));
      controller.signal.throwIfAborted(); // a stop just before the last of them was read
      report_reading(name, size, size);
      await take(entries);
    }, `Reading ${name} …`);
  } catch (failure) {
    page.refuse(controller.signal.aborted ? new Dropped() : failure);
  } finally {
    if (by_id('invitation')) by_id('invitation').textContent = invitation;
  }
}

/** What a list of files is: a cluster, and what belongs to it. @param {[string, Blob][]} entries @returns {Promise<Cluster>} */
export async function cluster_of(entries) {
  const files = with_own_names(entries);
  const named = async (/** @type {(content: Blob) => Promise<boolean>} */ is) => {
    const are = await Promise.all(files.map(([, content]) => is(content)));
    return files.filter((_, i) => are[i]).map(([name]) => name);
  };
  const [settings, prices, histories] = [await named(is_device_configuration), await named(is_prices), await named(is_history)];
  const beside = [...settings, ...prices, ...histories];
  const state = { ...fresh(), cluster: files.map(([name]) => name).filter((name) => !beside.includes(name)), settings, prices: prices[0] ?? '' };
  if (histories.length > 0) Object.assign(state.history, { source: 'used', used: histories[0] });
  return { files, state };
}

/** A field of the page that takes files itself. @param {EventTarget | null} target */
const takes_files = (target) => target instanceof HTMLInputElement && target.type === 'file';
/** @param {EventTarget | null} target */
const takes_text = (target) => target instanceof Element && target.closest('textarea, input') !== null;

/** Files can be dropped everywhere; nothing that is dropped leads the browser away. @param {(files: FileList) => void} open */
export function listen_to_drops(open) {
  const mark = (/** @type {boolean} */ is_over) => document.body.classList.toggle('dropping', is_over);
  const has_files = (/** @type {DragEvent} */ event) => event.dataTransfer?.types.includes('Files') ?? false;
  window.addEventListener('dragover', (event) => {
    const is_own = takes_files(event.target) || (!has_files(event) && takes_text(event.target));
    mark(has_files(event) && !is_own);
    if (!is_own) event.preventDefault();
  });
  window.addEventListener('dragleave', (event) => { if (event.relatedTarget === null) mark(false); });
  window.addEventListener('drop', (event) => {
    mark(false);
    if (takes_files(event.target) || (!has_files(event) && takes_text(event.target))) return;
    event.preventDefault();
    if (event.dataTransfer && event.dataTransfer.files.length > 0) open(event.dataTransfer.files);
  });
}
