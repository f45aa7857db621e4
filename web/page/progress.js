// @ts-check
// What stands below an answer while the next one is calculated.
import { button, by_id, focus_heading, h, replace } from './dom.js';
import { span } from './words.js';

/** @typedef {import('./app.js').Page} Page */

const stopped = 'Stopped. The answer above is of before.';
let calculating = 0;

/**
 * Waits for an answer: from 100 ms on the old one is dimmed, from 1 s on there is a bar, and a button that ends it.
 * @template T @param {Page} page @param {() => Promise<T>} calculate @returns {Promise<T>}
 */
export async function computing(page, calculate) {
  const panel = by_id('panel');
  const begin = performance.now();
  const slow = [setTimeout(() => panel.classList.add('busy'), 100), setTimeout(() => show(page, begin), 1000)];
  ++calculating;
  try {
    return await calculate();
  } finally {
    slow.forEach(clearTimeout);
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

/** @param {Page} page @param {number} begin */
function show(page, begin) {
  by_id('progress')?.remove();
  const [words, seconds] = [h('span', {}, 'Computing…'), h('span', {})];
  const bar = h('progress', { 'aria-label': 'Computing', role: 'progressbar', max: 100, 'aria-valuemin': 0, 'aria-valuemax': 100 });
  const row = h('div', { id: 'progress', class: 'progress' }, words, bar, seconds, button('Stop', () => {
    page.stop();
    row.classList.add('stopped');
    page.say(stopped);
    replace(row, h('p', { class: 'note' }, stopped));
    focus_heading(row.previousElementSibling ?? row);
  }, { id: 'stop' }));
  by_id('panel').after(row);
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
