// @ts-check
// The field that finds a node or a pod by a part of its name.
import { by_id, h, replace } from './dom.js';

/** @typedef {import('./app.js').Page} Page */

const most = 100;

/** @param {Page} page */
export function search_field(page) {
  const field = h('input', {
    id: 'search', type: 'text', role: 'combobox', autocomplete: 'off', spellcheck: false, placeholder: 'Find node or pod',
    'aria-label': 'Find node or pod', 'aria-controls': 'hits', 'aria-expanded': 'false', 'aria-autocomplete': 'list', 'aria-keyshortcuts': '/',
  });
  const list = h('ul', { id: 'hits', role: 'listbox', 'aria-label': 'Nodes and pods' });
  const says = h('p', { class: 'hint' });
  const box = h('div', { class: 'hits', hidden: true }, list, says);
  /** @type {any[]} */
  let hits = [];
  let active = -1;
  let answered = Promise.resolve();

  function close() {
    replace(list);
    hits = [];
    box.hidden = true;
    field.setAttribute('aria-expanded', 'false');
    field.removeAttribute('aria-activedescendant');
  }
  function activate(/** @type {number} */ position) {
    active = position;
    [...list.children].forEach((entry, i) => entry.setAttribute('aria-selected', String(i === position)));
    if (position < 0) return;
    field.setAttribute('aria-activedescendant', `hit-${position}`);
    list.children[position].scrollIntoView({ block: 'nearest' });
  }
  function open(/** @type {any} */ hit) {
    close();
    field.value = '';
    if (hit.kind === 'node') {
      page.show_node(hit.name);
      return;
    }
    page.state.pod = hit.name;
    page.go('why', 'verdict');
  }
  async function find() {
    const text = field.value;
    if (text.trim() === '') return close();
    const answer = await page.look('find', { text, most });
    if (field.value !== text || document.activeElement !== field) return;
    hits = answer.hits;
    replace(list, hits.map((hit, i) => h('li', { id: `hit-${i}`, role: 'option', 'aria-selected': 'false', onmousedown: (/** @type {Event} */ event) => { event.preventDefault(); open(hit); } },
      h('span', {}, hit.name), h('span', { class: 'hint' }, hit.kind === 'node' ? 'node' : hit.node ? `pod on ${hit.node}` : 'pod, waits'))));
    says.textContent = answer.count > hits.length ? `and ${answer.count - hits.length} more` : answer.count === 0 ? 'No node and no pod has this in its name.' : '';
    by_id('status').textContent = `${answer.count} found`;
    box.hidden = false;
    field.setAttribute('aria-expanded', 'true');
    activate(hits.length > 0 ? 0 : -1);
  }
  field.addEventListener('input', () => { answered = find().catch(page.fail); });
  field.addEventListener('blur', close);
  field.addEventListener('keydown', (/** @type {KeyboardEvent} */ event) => {
    if (event.key === 'Escape') {
      if (box.hidden) field.value = '';
      close();
    }
    // Who types fast presses Enter before the names are there.
    if (event.key === 'Enter') answered.then(() => { if (hits[active]) open(hits[active]); });
    if (box.hidden) return;
    const to = { ArrowDown: active + 1, ArrowUp: active - 1 }[event.key];
    if (to === undefined || hits.length === 0) return;
    event.preventDefault();
    activate((to + hits.length) % hits.length);
  });
  return h('div', { class: 'search' }, field, box);
}
