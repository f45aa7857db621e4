// @ts-check
// Keys of the whole page.
import { button, by_id, h } from './dom.js';

/** @typedef {import('./app.js').Page} Page */

/** @type {[string, string][]} */
const words = [['/', 'find a node or a pod'], ['g, then s w i d m', 'See, Why, What if, Defragment, Simulate'], ['← → Home End', 'between the tabs, and between the nodes of the picture'],
  ['Enter', 'opens what has the focus'], ['Escape', 'closes what was opened, and gives the focus back'], ['Ctrl+Z', 'takes a change of What if back'],
  ['← → Page ↑ ↓', 'a slider by 1 and by 5'], ['?', 'these keys']];

export function show_keys() {
  const dialog = h('dialog', { id: 'keys', 'aria-labelledby': 'keys-title', onclose: () => dialog.remove() }, h('h2', { id: 'keys-title' }, 'Keys'),
    h('dl', { class: 'facts' }, words.flatMap(([key, meaning]) => [h('dt', {}, key), h('dd', {}, meaning)])),
    h('div', { class: 'buttons' }, button('Close', () => dialog.close())));
  document.body.append(dialog);
  dialog.showModal();
}

/** @param {Page} page @param {{ name: import('./app.js').Tab, key: string }[]} tabs */
export function listen_to_keys(page, tabs) {
  let after_g = false;
  document.addEventListener('keydown', (event) => {
    const is_typing = event.target instanceof Element && event.target.closest('input:not([type=checkbox], [type=range]), select, textarea, dialog');
    if (is_typing || event.metaKey || event.altKey) return;
    if (event.key === '?') return show_keys();
    if (!page.has_files()) return;
    if (event.ctrlKey && event.key === 'z') by_id('undo')?.click();
    if (event.ctrlKey) return;
    const chosen = after_g && tabs.find((entry) => entry.key === event.key);
    after_g = event.key === 'g';
    if (chosen) page.go(chosen.name, 'tab-' + chosen.name);
    if (event.key === '/') {
      event.preventDefault();
      by_id('search').focus();
    }
  });
}
