// @ts-check
// What stands below an answer while the next one is calculated.
import { button, by_id, focus_heading, h, replace } from './dom.js';
import { span } from './words.js';

/** @typedef {import('./app.js').Page} Page */

/** What is said after a stop: an answer has its command with it. */
const stopped = () => (by_id('terminal') ? 'Stopped. The answer above is of before.' : 'Stopped.');
let calculating = 0;
/** How far files are read, also where the bar is not there yet. @type {[name: string, bytes: number, size: number] | null} */
let read_so_far = null;

/**
 * Waits for an answer: from 100 ms on the old one is dimmed, from 1 s on there is a bar, and a button that ends it.
 * Files that are read have the bar from 100 ms on.
 * @template T @param {Page} page @param {() => Promise<T>} calculate @param {string} [reading] what is said of files that are read @returns {Promise<T>}
 */
export async function computing(page, calculate, reading = '') {
  const panel = by_id('panel');
  const begin = performance.now();
  const slow = [setTimeout(() => panel.classList.add('busy'), 100), setTimeout(() => show(page, begin, reading || 'Computing…'), reading ? 100 : 1000)];
  ++calculating;
  if (reading) read_so_far = null;
  try {
    return await calculate();
  } finally {
    slow.forEach(clearTimeout);
    if (reading) read_so_far = null;
    if (--calculating === 0) {
      panel.classList.remove('busy');
      hide();
    }
  }
}

function hide() {
  const row = by_id('progress');
  if (!row || row.classList.contains('stopped')) return;
  const has_focus = row.contains(document.activeElement);
  row.remove();
  if (has_focus) focus_heading(by_id('panel'));
}

/** Says how many bytes of files are read; those that are read are computed with. @param {string} name @param {number} bytes @param {number} size */
export function report_reading(name, bytes, size) {
  const [words, bar] = [by_id('progress-words'), by_id('progress-bar')];
  read_so_far = [name, bytes, size];
  if (!words) return;
  const percent = String(Math.floor((100 * bytes) / Math.max(size, 1)));
  const megabytes = (/** @type {number} */ number) => (number / 1e6).toFixed(1);
  words.textContent = bytes < size ? `Reading ${name} … ${megabytes(bytes)} of ${megabytes(size)} MB` : `${name}: ${megabytes(size)} MB are read. Computing…`;
  if (bytes < size) {
    bar.value = Number(percent);
    bar.setAttribute('aria-valuenow', percent);
  } else for (const attribute of ['value', 'aria-valuenow']) bar.removeAttribute(attribute);
}

/** @param {Page} page @param {number} begin @param {string} title */
function show(page, begin, title) {
  by_id('progress')?.remove();
  const [words, seconds] = [h('span', { id: 'progress-words' }, title), h('span', {})];
  const bar = h('progress', { id: 'progress-bar', 'aria-label': 'Computing', role: 'progressbar', max: 100, 'aria-valuemin': 0, 'aria-valuemax': 100 });
  const row = h('div', { id: 'progress', class: 'progress' }, words, bar, seconds, button('Stop', () => {
    page.stop();
    row.classList.add('stopped');
    const sentence = stopped();
    page.say(sentence);
    replace(row, h('p', { class: 'note' }, sentence));
    focus_heading(row.previousElementSibling ?? row);
  }, { id: 'stop' }));
  by_id('panel').after(row);
  if (read_so_far) report_reading(...read_so_far);
  let [label, announced] = ['', -25];
  page.when_progress((/** @type {string} */ text) => {
    // "best_fit [###...]  61%  …": several runs follow one another.
    const [, of, percent] = text.match(/^\s*(.*?) \[[#.]*\] +(\d+)%/) ?? [];
    if (!percent) return;
    if (of !== label) [label, announced] = [of, -25];
    bar.value = Number(percent);
    bar.setAttribute('aria-valuenow', percent);
    bar.setAttribute('aria-valuetext', `${label}, ${percent} %`);
    words.textContent = `Computing… ${label}, ${percent} %`;
    const step = Math.floor(Number(percent) / 25) * 25;
    if (step > announced) by_id('status').textContent = `${label}, ${announced = step} %`;
  });
  const timer = setInterval(() => {
    if (!row.isConnected) clearInterval(timer);
    seconds.textContent = span((performance.now() - begin) / 1000);
  }, 100);
}

/** A new answer takes the note of a stop away. */
export function forget_stop() {
  by_id('progress')?.remove();
}
