// @ts-check
// The menu of changes of a what-if, and the fields of the one that was chosen.
import { button, by_id, choice, h, replace } from './dom.js';
import { pod_field } from './pick.js';
import { add } from './state.js';

/** @typedef {import('./app.js').Page} Page */

/** @type {[string, string][]} */
const menu = [['--add-nodes', 'Add nodes'], ['--drain', 'Drain'], ['--fail', 'Fail'], ['--uncordon', 'Uncordon'], ['cut', 'Cut MIG'], ['mode', 'Other mode'],
  ['--policy', 'Other policy'], ['--anew', 'Place all anew'], ['one-more', 'One more of a pod'], ['--add-pods', 'Add pods from a file']];
const layouts = ['all-balanced', 'all-1g.10gb', 'all-2g.20gb', 'all-3g.40gb', 'all-7g.80gb', 'all-disabled'];
const modes = ['hami_core', 'mps', 'time_slicing', 'exclusive', 'mig'];
let chosen = '--add-nodes';

/** @param {Page} page @param {string} flag @param {string} value */
function put(page, flag, value) {
  if (value.trim() === '' && flag !== '--anew') return;
  add(page.state, { flag, value: value.trim() });
  page.redraw();
}

/** @param {string} id @param {string} label @param {string} value @param {string[]} offers */
const text_field = (id, label, value, offers) => [h('label', { class: 'field' }, h('span', {}, label),
  h('input', { id, type: 'text', value, list: id + '-offers', autocomplete: 'off', spellcheck: false })),
h('datalist', { id: id + '-offers' }, offers.map((offer) => h('option', { value: offer })))];

/** @param {string[]} names */
const nodes_field = (names) => text_field('set', 'Nodes: a name, a*, zone=b', '', names);

/** @type {Record<string, (page: Page, names: string[]) => any[]>} */
const fields = {
  '--add-nodes': (page, names) => [choice('like', 'Like', names, names[0] ?? '', () => {}),
    button('Add', () => put(page, '--add-nodes', `${by_id('like').value}=1`), { id: 'add' }),
    button('Find nodes', () => put(page, '--find-nodes', by_id('like').value), { id: 'find', title: 'The smallest number of such nodes that is enough' })],
  cut: (page, names) => [nodes_field(names), text_field('layout', 'Layout', 'all-balanced', layouts),
    button('Add', () => put(page, '--set-mode', by_id('set').value && `${by_id('set').value}=mig:${by_id('layout').value}`), { id: 'add' }),
    button('Find layout', () => put(page, '--find-layout', by_id('set').value), { id: 'find', title: 'The layouts of these nodes under which most pods run' })],
  mode: (page, names) => [nodes_field(names), text_field('mode', 'Mode', 'hami_core', modes),
    button('Add', () => put(page, '--set-mode', by_id('set').value && `${by_id('set').value}=${by_id('mode').value}`), { id: 'add' })],
  '--policy': (page) => [choice('policy', 'Policy', page.policies, 'best_fit', () => {}), button('Add', () => put(page, '--policy', by_id('policy').value), { id: 'add' })],
  '--anew': (page) => [button('Add', () => put(page, '--anew', ''), { id: 'add' })],
  'one-more': (page) => [pod_field(page), button('Add', () => { one_more(page, by_id('like-pod').value).catch(page.fail); }, { id: 'add' })],
  '--add-pods': (page) => [h('label', { class: 'field' }, h('span', {}, 'Manifest'), h('input', {
    type: 'file', id: 'manifest', onchange: async () => {
      const [file] = by_id('manifest').files;
      if (file) put(page, '--add-pods', await page.add_file(file));
    },
  }))],
};

/** @param {Page} page @param {Element} editor @param {any[]} nodes rows of `show --by node --json` */
export function draw_editor(page, editor, nodes) {
  const names = nodes.map((node) => node.key);
  const others = () => [nodes_field(names), button('Add', () => put(page, chosen, by_id('set').value), { id: 'add' })];
  replace(editor, h('div', { class: 'controls' },
    choice('change', 'Add a change', menu, chosen, (kind) => { chosen = kind; draw_editor(page, editor, nodes); }),
    (fields[chosen] ?? others)(page, names.slice(0, 2000)).flat()));
}

/**
 * Adds a pod like one of the cluster, from a manifest that the command names. @param {Page} page @param {string} pod
 * @returns {Promise<boolean>} whether there is such a pod
 */
export async function one_more(page, pod) {
  const short = pod.slice(pod.indexOf('/') + 1);
  const file = `one-more-of-${pod.replace('/', '-')}`;
  const earlier = page.state.changes.filter(({ flag, value }) => flag === '--add-pods' && value.startsWith(file)).length;
  const number = earlier > 0 ? `-${earlier + 1}` : '';
  const manifest = await page.look('one_more', { pod, name: `${short}-one-more${number}` });
  if (!manifest) {
    page.complain('like-pod', `No pod of this cluster is called ${pod}.`);
    return false;
  }
  const name = `${file}${number}.json`;
  page.put_file(name, JSON.stringify(manifest, null, 2) + '\n');
  put(page, '--add-pods', name);
  return true;
}
