// @ts-check
// What if: changes, and the cluster before and after them.
import { button, by_id, card, choice, h, replace, table } from './dom.js';
import { share_bar } from './see.js';
import { add, remove, undo, whatif_arguments, words_of } from './state.js';
import { counted, gpus, signed } from './words.js';

/** @typedef {import('./app.js').Page} Page */

export const command = (/** @type {Page} */ page) => whatif_arguments(page.state);

/** @type {[string, string][]} */
const kinds_of_change = [['--add-nodes', 'Add nodes'], ['--drain', 'Drain'], ['--fail', 'Fail'], ['--uncordon', 'Uncordon'],
  ['--set-mode', 'Cut MIG, or other mode'], ['--add-pods', 'Add pods from a file']];
let chosen_kind = '--add-nodes';

/** @param {Page} page @param {Element} panel */
export async function draw(page, panel) {
  const nodes = await page.nodes();
  const answer = h('div', { id: 'whatif-answer' });
  const editor = h('div', {});
  draw_editor(page, editor, nodes);
  replace(panel, card('Change', list_of_changes(page), editor, policies(page)), answer, page.terminal(command(page)));
  await page.answer_in(answer, () => draw_answer(page, answer));
}

/** @param {Page} page */
function list_of_changes(page) {
  const { changes } = page.state;
  if (changes.length === 0) return h('p', { class: 'hint' }, 'No change yet: what follows is what the next pass of the scheduler would do.');
  return h('ul', { class: 'changes' }, changes.map((change, i) => h('li', {},
    h('span', {}, (change.flag === '--add-nodes' ? '+ ' : '~ ') + words_of(change)),
    change.flag === '--add-nodes' && slider(page, change),
    button('×', () => { remove(page.state, i); page.redraw(); }, { 'aria-label': `Remove change: ${words_of(change)}`, class: 'small' }))),
  h('li', {}, button('Undo', () => { undo(page.state); page.redraw(); }, { id: 'undo', class: 'small' }),
    button('Start over', () => { page.state.undone.push([...changes]); page.state.changes = []; page.redraw(); }, { id: 'over', class: 'small' })));
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
  const number = change.value.slice(cut + 1);
  const how = { min: 1, max: Math.max(16, Number(number)), value: number, 'aria-label': `Nodes like ${kind} to add` };
  return h('span', { class: 'slide' }, h('input', { type: 'range', id, ...how, oninput: () => set(by_id(id).value) }),
    h('input', { type: 'number', id: id + '-number', ...how, max: 1000, onchange: () => set(by_id(id + '-number').value) }));
}

/** @param {Page} page @param {Element} editor @param {any[]} nodes */
function draw_editor(page, editor, nodes) {
  const names = nodes.map((node) => node.key);
  const put = (/** @type {string} */ value) => {
    if (value.trim() === '') return;
    add(page.state, { flag: chosen_kind, value: value.trim() });
    page.redraw();
  };
  const set_field = h('input', { id: 'set', type: 'text', list: 'node-names', autocomplete: 'off', spellcheck: false });
  const fields = {
    '--add-nodes': () => [choice('like', 'Like', names, names[0] ?? '', () => {}), button('Add', () => put(`${by_id('like').value}=1`), { id: 'add' })],
    '--set-mode': () => [nodes_field(set_field), h('label', { class: 'field' }, h('span', {}, 'Mode'), h('input', { id: 'mode', type: 'text', list: 'modes', value: 'mig:all-balanced' })),
      h('datalist', { id: 'modes' }, ['mig:all-balanced', 'mig:all-1g.10gb', 'hami_core', 'mps', 'time_slicing', 'exclusive', 'mig'].map((value) => h('option', { value }))),
      button('Add', () => put(`${set_field.value}=${by_id('mode').value}`), { id: 'add' })],
    '--add-pods': () => [h('label', { class: 'field' }, h('span', {}, 'Manifest'), h('input', {
      type: 'file', id: 'manifest', onchange: async () => {
        const [file] = by_id('manifest').files;
        if (file) put(await page.add_file(file));
      },
    }))],
  };
  const others = () => [nodes_field(set_field), button('Add', () => put(set_field.value), { id: 'add' })];
  const own = fields[/** @type {keyof typeof fields} */ (chosen_kind)] ?? others;
  replace(editor, h('div', { class: 'controls' },
    choice('change', 'Add a change', kinds_of_change, chosen_kind, (kind) => { chosen_kind = kind; draw_editor(page, editor, nodes); }),
    own(), h('datalist', { id: 'node-names' }, names.slice(0, 2000).map((value) => h('option', { value })))));
}

const nodes_field = (/** @type {Element} */ field) => h('label', { class: 'field' }, h('span', {}, 'Nodes: a name, a*, zone=b'), field);

/** @param {Page} page */
function policies(page) {
  return h('div', { class: 'controls' },
    choice('policy', 'Policy', page.policies, page.state.policy, (policy) => { page.state.policy = policy; page.redraw(); }),
    h('label', { class: 'tick' }, h('input', {
      type: 'checkbox', id: 'anew', checked: page.state.anew,
      onchange: () => { page.state.anew = by_id('anew').checked; page.redraw(); },
    }), 'Place all anew'));
}

const marks = { starts: '+', moves: '~', restarts: '~', stops: '-', waits: '.' };

/** @param {Page} page @param {Element} place */
async function draw_answer(page, place) {
  const answer = JSON.parse((await page.ask('whatif', [...command(page), '--json'])).stdout);
  const { counts, comparison } = answer;
  const verdicts = Object.entries(counts.waiting).filter(([, pods]) => pods > 0).map(([verdict, pods]) => `${pods} ${verdict}`);
  const parts = [[counts.starts, 'start'], [counts.moves, 'move'], [counts.restarts, 'restart'], [counts.stops, 'stop']]
    .filter(([pods, word]) => pods > 0 || word === 'start' || word === 'stop')
    .map(([pods, word], i) => `${pods}${i > 0 ? '' : pods === 1 ? ' pod' : ' pods'} ${word}${pods === 1 ? 's' : ''}`);
  const sentence = `${parts.join(', ')}; ${counts.waits} still ${counts.waits === 1 ? 'waits' : 'wait'}`
    + (verdicts.length ? ` (${verdicts.join(', ')}).` : '.');
  page.say(sentence);
  const row = (/** @type {string} */ name, /** @type {any} */ cells, words = gpus) =>
    ({ name, before: words(cells.before), after: words(cells.after), change: cells.change === 0 ? '0' : signed(cells.change, words) });
  const whole = (/** @type {number} */ number) => String(number);
  const rows = [row('GPUs', comparison.gpus), row('used', comparison.used), row('free', comparison.free), row('out of service', comparison.out),
    row('pods run', comparison.pods_run, whole),
    ...comparison.free_parts.map((/** @type {any} */ part) => row(`${part.kind ? part.kind + ' ' : ''}${part.part} free`, part, whole)),
    ...(comparison.energy_at_most_wh ? [row('kWh a day, at most', comparison.energy_at_most_wh, gpus)] : [])];
  const bars = ['before', 'after'].map((when) => h('div', { class: 'bar' }, h('span', {}, when === 'before' ? 'Before' : 'After'),
    share_bar({ used: comparison.used[when], free: comparison.free[when], out: comparison.out[when] })));
  const pods = answer.pods.flatMap((/** @type {any} */ pod) => Object.entries(pod.fates).map(([fate, number]) => ({ pod, fate, number })))
    .filter((/** @type {any} */ entry) => entry.fate in marks);
  replace(place, h('section', { class: 'card answer' }, h('h1', {}, sentence)),
    card('Before, After, Change', bars, table('GPUs and pods before and after', [
      { title: 'What', of: (entry) => entry.name }, { title: 'Before', number: true, of: (entry) => entry.before },
      { title: 'After', number: true, of: (entry) => entry.after }, { title: 'Change', number: true, of: (entry) => entry.change },
    ], rows)),
    answer.nodes.length > 0 && card('Nodes', h('ul', { class: 'plain' }, answer.nodes.map((/** @type {any} */ node) =>
      h('li', {}, `${node.mark} ${node.nodes.join(', ')}  ${node.change}`)))),
    card('Pods', pods.length === 0 ? h('p', { class: 'hint' }, 'No pod starts, moves, stops or waits.') : table(counted(pods.length, 'pod'), [
      { title: 'Mark', of: (entry) => marks[/** @type {keyof typeof marks} */ (entry.fate)] },
      { title: 'Pod', of: ({ pod, number }) => `${pod.namespace}/${pod.name}${number > 1 ? ` (${number})` : ''}`, order: ({ pod }) => `${pod.namespace}/${pod.name}` },
      { title: 'What', of: ({ pod, fate }) => (fate === 'waits' ? pod.verdict ?? 'waits' : fate), order: ({ fate }) => fate },
      { title: 'Where', of: ({ pod, fate }) => where_of(pod, fate) },
    ], pods, { most: 50 })),
    page.notes([...answer.not_considered, ...answer.warnings]));
}

/** @param {any} pod @param {string} fate */
function where_of(pod, fate) {
  if (fate === 'waits' || fate === 'stops') return pod.from ?? '';
  const nodes = [...new Set(pod.placed.map((/** @type {any} */ place) => place.node))].join(', ');
  return pod.from ? `${pod.from} → ${nodes}` : nodes;
}
