// @ts-check
// The menu of changes of a what-if, and the fields of the one that was chosen.
import { Refused } from './ask.js';
import { button, by_id, choice, h, replace } from './dom.js';
import { pod_field } from './pick.js';
import { add, drawn_arguments } from './state.js';
import { words_of_refusal } from './words.js';

/** @typedef {import('./app.js').Page} Page */

/** @type {[string, string][]} */
const menu = [['--add-nodes', 'Add nodes'], ['--drain', 'Drain'], ['--fail', 'Fail'], ['--uncordon', 'Uncordon'], ['cut', 'Cut MIG'], ['mode', 'Other mode'],
  ['--policy', 'Other policy'], ['--anew', 'Place all anew'], ['one-more', 'One more of a pod'], ['--add-pods', 'Add pods from a file']];
const layouts = ['all-balanced', 'all-1g.10gb', 'all-2g.20gb', 'all-3g.40gb', 'all-7g.80gb', 'all-disabled'];
let chosen = '--add-nodes';

/** The field that a refusal is about: the first of those that are there. @param {string} message */
const field_of = (message) => [...(/: mode:|\ba mode\b/.test(message) ? ['mode'] : []), ...(/\ba layout\b/.test(message) ? ['layout'] : []), 'set', 'like', 'policy', 'like-pod', 'manifest', 'change'].find(by_id) ?? 'change';

/** Adds a change, if the program takes it. @param {Page} page @param {string} flag @param {string} value */
async function put(page, flag, value) {
  const change = { flag, value: value.trim() };
  const trial = { ...page.state, changes: [...page.state.changes], undone: [] };
  add(trial, change);
  page.forget_complaint();
  try {
    await page.computing(() => page.ask('whatif', drawn_arguments(trial))); // the answer that is drawn then
  } catch (failure) {
    if (!(failure instanceof Refused)) return page.fail(failure);
    page.complain(field_of(failure.message), words_of_refusal(failure.message));
    return;
  }
  add(page.state, change);
  page.redraw();
}

/** Adds a change of the nodes that the field names. @param {Page} page @param {string} flag @param {(set: string) => string} [value_of] */
function put_nodes(page, flag, value_of = (set) => set) {
  const set = by_id('set').value.trim();
  if (set === '') page.complain('set', 'Name the nodes first.');
  else put(page, flag, value_of(set));
}

/** @param {string} id @param {string} label @param {string} value @param {string[]} offers */
const text_field = (id, label, value, offers) => [h('label', { class: 'field' }, h('span', {}, label),
  h('input', { id, type: 'text', value, list: id + '-offers', autocomplete: 'off', spellcheck: false })),
h('datalist', { id: id + '-offers' }, offers.map((offer) => h('option', { value: offer })))];

/** @param {string[]} names */
const nodes_field = (names) => text_field('set', 'Nodes: a name, a*, zone=b', '', names);

/** @type {Record<string, (page: Page, names: string[], modes: [string, string][]) => any[]>} */
const fields = {
  '--add-nodes': (page, names) => [choice('like', 'Like', names, names[0] ?? '', () => {}),
    button('Add', () => put(page, '--add-nodes', `${by_id('like').value}=1`), { id: 'add' }),
    button('Find nodes', () => put(page, '--find-nodes', by_id('like').value), { id: 'find', title: 'The smallest number of such nodes that is enough' })],
  cut: (page, names) => [nodes_field(names), text_field('layout', 'Layout', 'all-balanced', layouts),
    button('Add', () => put_nodes(page, '--set-mode', (set) => `${set}=mig:${by_id('layout').value.trim()}`), { id: 'add' }),
    button('Find layout', () => put_nodes(page, '--find-layout'), { id: 'find', title: 'The layouts of these nodes under which most pods run' })],
  mode: (page, names, modes) => [nodes_field(names), choice('mode', 'Mode', modes, 'hami_core', () => {}),
    button('Add', () => put_nodes(page, '--set-mode', (set) => `${set}=${by_id('mode').value}`), { id: 'add' })],
  '--policy': (page) => [choice('policy', 'Policy', page.policies, 'best_fit', () => {}), button('Add', () => put(page, '--policy', by_id('policy').value), { id: 'add' })],
  '--anew': (page) => [button('Add', () => put(page, '--anew', ''), { id: 'add' })],
  'one-more': (page) => [pod_field(page), button('Add', () => { put_one_more(page, by_id('like-pod').value).catch(page.fail); }, { id: 'add' })],
  '--add-pods': (page) => [h('label', { class: 'field' }, h('span', {}, 'Manifest'), h('input', {
    type: 'file', id: 'manifest', onchange: async () => {
      const [file] = by_id('manifest').files;
      if (file) put(page, '--add-pods', await page.add_file(file));
    },
  }))],
};

/** @param {Page} page @param {Element} editor @param {any[]} nodes rows of `show --by node --json` @param {{ name: string, summary: string }[]} modes as the program lists them */
export function draw_editor(page, editor, nodes, modes) {
  const names = nodes.map((node) => node.key);
  const words = modes.filter(({ name }) => name !== 'mig').map(({ name, summary }) => /** @type {[string, string]} */ ([name, `${name}: ${summary}`])); // Cut MIG has layouts
  const others = () => [nodes_field(names), button('Add', () => put_nodes(page, chosen), { id: 'add' })];
  replace(editor, h('div', { class: 'controls' },
    choice('change', 'Add a change', menu, chosen, (kind) => { chosen = kind; draw_editor(page, editor, nodes, modes); }),
    (fields[chosen] ?? others)(page, names.slice(0, 2000), words).flat()));
}

/** @param {Page} page @param {string} pod */
async function put_one_more(page, pod) {
  const other = await one_more(page, pod);
  if (other) await put(page, '--add-pods', other.file);
  else page.complain('like-pod', `No pod of this cluster is called ${pod}.`);
}

/**
 * Writes the manifest of a pod like one of the cluster, which the command then names. @param {Page} page @param {string} pod
 * @returns {Promise<{ pod: string, file: string } | null>} null if there is no such pod
 */
export async function one_more(page, pod) {
  const short = pod.slice(pod.indexOf('/') + 1);
  const file = `one-more-of-${pod.replace('/', '-')}`;
  const earlier = page.state.changes.filter(({ flag, value }) => flag === '--add-pods' && value.startsWith(file)).length;
  const number = earlier > 0 ? `-${earlier + 1}` : '';
  const manifest = await page.look('one_more', { pod, name: `${short}-one-more${number}` });
  if (!manifest) return null;
  const name = `${file}${number}.json`;
  page.put_file(name, JSON.stringify(manifest, null, 2) + '\n');
  return { pod: `${manifest.metadata.namespace ?? 'default'}/${manifest.metadata.name}`, file: name };
}
