// @ts-check
// What a search of a what-if found: a number of nodes, or layouts.
import { button, card, h, replace, table } from './dom.js';
import { put_changes, search_of } from './state.js';
import { counted } from './words.js';

/** @typedef {import('./app.js').Page} Page */

/** The changes without the search, and these. @param {Page} page @param {import('./state.js').Change[]} changes */
function instead_of_search(page, changes) {
  put_changes(page.state, [...page.state.changes.filter((change) => change !== search_of(page.state)), ...changes]);
  page.redraw();
}

/** @param {Page} page @param {any} search member `find_nodes` of the answer @param {string} text what the command prints of it */
export function found_nodes_card(page, { kind, nodes }, text) {
  const [sentence, ...rest] = text.split('\n');
  const rows = rest.map((line) => line.trim().split(/ {2,}/));
  return card('Find nodes', h('p', { class: 'found' }, sentence),
    nodes > 0 && h('div', { class: 'buttons' }, button(`Add ${counted(nodes, 'node')}`, () => instead_of_search(page, [{ flag: '--add-nodes', value: `${kind}=${nodes}` }]), { id: 'take-nodes' })),
    rows.length > 0 && table('Pods that these nodes do not help', [
      { title: 'Why not', of: ([word]) => word, order: ([word]) => word }, { title: 'Pods', of: ([, ...words]) => words.join('  ') },
    ], rows, { most: 20 }));
}

/** @param {Page} page @param {Element} place @param {any} search @param {string} text the answer as the command prints it */
export function draw_layouts(page, place, search, text) {
  const now = search.rows.find((/** @type {any} */ row) => row.is_now);
  const changes_of = (/** @type {any} */ row) => search.nodes.map((/** @type {string} */ node, /** @type {number} */ i) => ({ node, layout: row.layouts[i] }))
    .filter((/** @type {any} */ { layout }, /** @type {number} */ i) => layout !== now?.layouts[i]);
  const words = (/** @type {any} */ row) => (row.is_now ? 'as now' : changes_of(row).map((/** @type {any} */ { node, layout }) => `${node} ${layout}`).join(', '));
  const [sentence, mix, ...lines] = text.trimEnd().split('\n');
  const tried = (lines.find((line) => / (was|were) tried/.test(line)) ?? '').replace(/^and .*?; /, '');
  page.say(sentence);
  const take = (/** @type {any} */ row) => instead_of_search(page, changes_of(row).map((/** @type {any} */ { node, layout }) => ({ flag: '--set-mode', value: `${node}=mig:${layout}` })));
  replace(place, h('section', { class: 'card answer' }, h('h1', {}, sentence), h('p', {}, mix)),
    card('Find layout', h('p', { class: 'hint' }, `${tried} Choose a row to make it the change.`), table('Layouts, best first', [
      { title: 'Cut', of: words },
      { title: 'Run', number: true, of: (row) => row.run, order: (row) => row.run },
      { title: 'Wait', number: true, of: (row) => row.wait, order: (row) => row.wait },
      { title: 'Restart', number: true, of: (row) => row.restart, order: (row) => row.restart },
      { title: 'Cut s', number: true, of: (row) => (row.cut_us === null ? '-' : (row.cut_us / 1e6).toFixed(1)), order: (row) => row.cut_us ?? -1 },
      ...search.mix.map((/** @type {any} */ { profile }) => ({ title: `Spare ${profile}`, number: true, of: (/** @type {any} */ row) => row.spare[profile], order: (/** @type {any} */ row) => row.spare[profile] })),
    ], search.rows, { most: 20, pick: take })),
    page.notes(search.warnings));
}
