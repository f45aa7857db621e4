// @ts-check
// What if: changes, and the cluster before and after them.
import { button, by_id, card, h, replace, save, table } from './dom.js';
import { draw_editor } from './editor.js';
import { draw_layouts, found_nodes_card } from './searches.js';
import { share_bar } from './see.js';
import { drawn_arguments, helped_pod, mark_of, put_changes, remove, search_of, undo, whatif_arguments, words_of } from './state.js';
import { counted, gpus, in_tenths, names_of_free_parts, signed, unwrapped } from './words.js';

/** @typedef {import('./app.js').Page} Page */

export const command = (/** @type {Page} */ page) => whatif_arguments(page.state);

/** @param {Page} page @param {Element} panel */
export async function draw(page, panel) {
  const [nodes, modes] = [await page.nodes(), await page.modes()];
  const answer = h('div', { id: 'whatif-answer' });
  const editor = h('div', {});
  draw_editor(page, editor, nodes, modes);
  replace(panel, card('Change', list_of_changes(page), editor), answer, page.terminal(command(page)));
  await page.answer_in(answer, () => draw_answer(page, answer));
  mark_refused(page, panel, answer.querySelector('.error h1'));
}

/** Ties an error to the change that it is about: the flag is the first word of what the program said. @param {Page} page @param {Element} panel @param {Element | null} error */
function mark_refused(page, panel, error) {
  const position = error ? page.state.changes.findLastIndex(({ flag }) => error.getAttribute('data-said')?.startsWith(flag)) : -1;
  const row = panel.querySelectorAll('.changes li')[position];
  if (!error || !row) return;
  error.id = 'refused';
  row.classList.add('refused');
  row.querySelector("[aria-label^='Remove change']")?.setAttribute('aria-describedby', 'refused');
}

/** @param {Page} page */
function list_of_changes(page) {
  const { changes, undone } = page.state;
  const undo_button = undone.length > 0 && button('Undo', () => { undo(page.state); page.redraw(); }, { id: 'undo', class: 'small' });
  if (changes.length === 0) return h('div', {}, h('p', { class: 'hint' }, 'No change yet: what follows is what the next pass of the scheduler would do.'), undo_button);
  return h('ul', { class: 'changes' }, changes.map((change, i) => h('li', {},
    h('span', {}, `${mark_of(change)} ${words_of(change)}`),
    change.flag === '--add-nodes' && slider(page, change),
    page.own_file(change.value) && button('Save this file', () => save(change.value, page.own_file(change.value) ?? '', 'application/json'), { class: 'small', 'aria-label': `Save this file: ${change.value}` }),
    button('×', () => { remove(page.state, i); page.redraw(); }, { 'aria-label': `Remove change: ${words_of(change)}`, class: 'small' }))),
  h('li', {}, undo_button, button('Start over', () => { put_changes(page.state, []); page.redraw(); }, { id: 'over', class: 'small' })));
}

/** @param {Page} page @param {import('./state.js').Change} change */
function slider(page, change) {
  const cut = change.value.lastIndexOf('=');
  const kind = change.value.slice(0, cut);
  const id = 'nodes-like-' + kind;
  const set = (/** @type {string} */ text) => {
    const number = Math.min(Math.max(Math.round(Number(text)) || 1, 1), 1000);
    change.value = `${kind}=${number}`;
    by_id(id).value = number;
    by_id(id + '-number').value = number;
    const place = by_id('whatif-answer');
    if (place) page.answer_in(place, () => draw_answer(page, place)).catch(page.fail);
    by_id('terminal')?.replaceWith(page.terminal(command(page)));
  };
  const by_five = (/** @type {KeyboardEvent} */ event) => {
    const by = { PageUp: 5, PageDown: -5 }[event.key];
    if (!by) return;
    event.preventDefault();
    set(String(Math.min(Number(by_id(id).value) + by, Number(by_id(id).max))));
  };
  const number = change.value.slice(cut + 1);
  const how = { min: 1, max: Math.max(16, Number(number)), value: number, 'aria-label': `Nodes like ${kind} to add` };
  return h('span', { class: 'slide' }, h('input', { type: 'range', id, ...how, oninput: () => set(by_id(id).value), onkeydown: by_five }),
    h('input', { type: 'number', id: id + '-number', ...how, max: 1000, onchange: () => set(by_id(id + '-number').value) }));
}

const marks = { starts: '+', moves: '~', restarts: '~', stops: '-', waits: '.' };

/** @param {Page} page @param {Element} place */
async function draw_answer(page, place) {
  const { written } = await page.ask('whatif', drawn_arguments(page.state));
  const content = (/** @type {string} */ name) => new TextDecoder().decode(written.get('out/' + name));
  const [answer, text] = [JSON.parse(content('whatif.json')), unwrapped(content('whatif.txt'))];
  if (search_of(page.state)?.flag === '--find-layout') draw_layouts(page, place, answer, text);
  else draw_comparison(page, place, answer, text);
}

/** @param {Page} page @param {Element} place @param {any} answer @param {string} text the answer as the command prints it */
function draw_comparison(page, place, answer, text) {
  const { comparison } = answer;
  // What was searched for comes first in the text, and then an empty line.
  const [search, ...others] = answer.find_nodes ? text.split('\n\n') : ['', text];
  const [sentence, second] = others.join('\n\n').split('\n');
  const own = helped_pod(page.state);
  page.say(search.split('\n')[0] || sentence);
  const row = (/** @type {string} */ name, /** @type {any} */ cells, words = gpus) =>
    ({ name, before: words(cells.before), after: words(cells.after), change: cells.change === 0 ? '0' : signed(cells.change, words) });
  const whole = (/** @type {number} */ number) => String(number);
  const names = names_of_free_parts(comparison.free_parts);
  const [before, after] = ['before', 'after'].map((when) => in_tenths(['used', 'free', 'out'].map((part) => comparison[part][when])));
  const rows = [row('GPUs', comparison.gpus),
    ...['used', 'free', 'out of service'].map((name, i) => row(name, { before: before[i], after: after[i], change: after[i] - before[i] })),
    row('pods run', comparison.pods_run, whole),
    ...comparison.free_parts.map((/** @type {any} */ part, /** @type {number} */ i) => row(names[i], part, whole)),
    ...(comparison.energy_at_most_wh ? [row('kWh a day, at most', comparison.energy_at_most_wh, gpus)] : [])];
  const bars = ['before', 'after'].map((when) => h('div', { class: 'bar' }, h('span', {}, when === 'before' ? 'Before' : 'After'),
    share_bar({ used: comparison.used[when], free: comparison.free[when], out: comparison.out[when] })));
  const pods = answer.pods.flatMap((/** @type {any} */ pod) => Object.entries(pod.fates).map(([fate, number]) => ({ pod, fate, number })))
    .filter((/** @type {any} */ entry) => entry.fate in marks);
  replace(place, answer.find_nodes && found_nodes_card(page, answer, search, own), h('section', { class: 'card answer' }, h('h1', {}, sentence), answer.anew && words_of_anew(page, second)),
    card('Before, After, Change', bars, table('GPUs and pods before and after', [
      { title: 'What', of: (entry) => entry.name }, { title: 'Before', number: true, of: (entry) => entry.before },
      { title: 'After', number: true, of: (entry) => entry.after }, { title: 'Change', number: true, of: (entry) => entry.change },
    ], rows)),
    answer.nodes.length > 0 && card('Nodes', h('ul', { class: 'plain' }, answer.nodes.map((/** @type {any} */ node) =>
      h('li', {}, `${node.mark} ${node.nodes.join(', ')}  ${node.change}`)))),
    pods_card(pods, own), page.notes([...answer.not_considered, ...answer.warnings]));
}

/** The second line of an answer in which all is placed anew; moves are another tab. @param {Page} page @param {string} line */
const words_of_anew = (page, line) => h('p', {}, line.replace(/ Not a plan: see .*$/, ''), ' Not a plan: see ', button('Defragment', () => page.go('defragment'), { class: 'link' }), '.');

/** @param {any[]} pods @param {string} own the pod that the question is about, or empty */
function pods_card(pods, own) {
  const name_of = (/** @type {any} */ pod) => `${pod.namespace}/${pod.name}`;
  const rows_of = (/** @type {any[]} */ some, /** @type {string} */ caption) => table(caption, [
    { title: 'Pod', of: ({ pod, number }) => `${name_of(pod)}${number > 1 ? ` (${number})` : ''}`, order: ({ pod }) => name_of(pod) },
    { title: 'What', of: ({ pod, fate }) => `${marks[/** @type {keyof typeof marks} */ (fate)]} ${words_of_fate(pod, fate)}`, order: ({ fate }) => fate },
    { title: 'Where', of: ({ pod, fate }) => where_of(pod, fate) },
  ], some, { most: 50 });
  if (pods.length === 0) return card('Pods', h('p', { class: 'hint' }, 'No pod starts, moves, stops or waits.'));
  const own_rows = pods.filter(({ pod }) => name_of(pod) === own);
  if (own_rows.length === 0) return card('Pods', rows_of(pods, counted(pods.length, 'pod')));
  const others = pods.filter((entry) => !own_rows.includes(entry));
  return card('Pods', rows_of(own_rows, 'The pod in question'), others.length > 0 && h('details', {}, h('summary', {}, `Other pods: ${others.length}`), rows_of(others, counted(others.length, 'other pod'))));
}

/** What becomes of a pod, and why it has no place. @param {any} pod @param {string} fate */
function words_of_fate({ verdict }, fate) {
  if (fate === 'waits') return verdict ?? fate;
  return fate === 'stops' && verdict ? `stops: ${verdict}` : fate;
}

/** @param {any} pod @param {string} fate */
function where_of(pod, fate) {
  if (fate === 'waits' || fate === 'stops') return pod.from ?? '';
  const nodes = [...new Set(pod.placed.map((/** @type {any} */ place) => place.node))].join(', ');
  return pod.from ? `${pod.from} → ${nodes}` : nodes;
}
