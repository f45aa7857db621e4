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

/**
 * What nodes more do for one pod: it is helped, starts without them, or waits, and why.
 * @param {string} name @param {any} answer of the what-if @param {string[][]} rows pods that these nodes do not help
 */
function words_of_one(name, answer, rows) {
  const pod = answer.pods.find((/** @type {any} */ entry) => `${entry.namespace}/${entry.name}` === name);
  const node = pod?.placed[0]?.node;
  if (node && answer.find_nodes.helped.includes(name)) return `${name} is helped: it starts on ${node}.`;
  if (node) return `${name} fits without a node more; ${node.startsWith(`${answer.find_nodes.kind}-added-`) ? 'with them it' : 'it'} starts on ${node}.`;
  const [word, ...words] = rows.find(([, ...others]) => others.join(' ').split(/[\s:,]+/).includes(name)) ?? [pod?.verdict ? `waits, ${pod.verdict}` : 'is not helped'];
  const about_it = words.join('  ').replace(/^[^:]*: /, '');
  return `${name}: ${word}${about_it && `: ${about_it}`}.`;
}

/**
 * @param {Page} page @param {any} answer of the what-if, with a search in it @param {string} text what the command prints of the search
 * @param {string} own the pod that the search is for, or empty: others are then folded away
 */
export function found_nodes_card(page, answer, text, own) {
  const { kind, nodes } = answer.find_nodes;
  const [sentence, ...rest] = text.split('\n');
  const rows = rest.map((line) => line.trim().split(/ {2,}/));
  const about_all = all_pods_that_wait(page, kind, nodes, sentence, rows);
  if (!own) return card('Find nodes', about_all);
  const words = words_of_one(own, answer, rows);
  page.say(words);
  return card('What would help', h('p', { class: 'found', id: 'own-answer' }, words), h('details', {}, h('summary', {}, 'All pods that wait'), about_all));
}

/** @param {Page} page @param {string} kind @param {number} nodes @param {string} sentence @param {string[][]} rows */
function all_pods_that_wait(page, kind, nodes, sentence, rows) {
  return h('div', {}, h('p', { class: 'found' }, sentence),
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
