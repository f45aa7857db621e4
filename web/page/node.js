// @ts-check
// A node that was chosen in the picture: what it has, and its pods.
import { button, by_id, focus_heading, h, replace, table } from './dom.js';
import { add } from './state.js';
import { counted, gpus, in_tenths } from './words.js';

/** @typedef {import('./app.js').Page} Page */

/** @param {Page} page @param {Element} place */
export function close_node(page, place) {
  const name = page.state.node;
  page.state.node = '';
  replace(place);
  const opener = by_id('node-' + name);
  if (opener) opener.focus();
  else focus_heading(by_id('panel'));
}

/** Used, free and out of service. @param {any} node */
const amounts_of = (node) => in_tenths([node.used, node.free, node.out]).map(gpus);

/** @param {any} node a row of `show --by node --json` */
function facts_of(node) {
  const reasons = node.out_because.map((/** @type {{ because: string }} */ entry) => entry.because);
  const { host_cpu_milli: cpu, host_memory_mib: memory } = node;
  const [used, free, out] = amounts_of(node);
  return [
    ['kind', `${node.gpus} x ${node.kind}`], ['used', `${used} of ${gpus(node.milli)} GPUs`], ['free', free],
    ['out of service', out + (reasons.length ? ': ' + reasons.join(', ') : '')],
    ['CPU', `${(cpu.total - cpu.used) / 1000} of ${cpu.total / 1000} free`], ['memory', `${Math.round((memory.total - memory.used) / 1024)} of ${Math.round(memory.total / 1024)} GiB free`],
    ['labels', Object.entries(node.labels).map(([key, value]) => `${key}=${value}`).join(', ')],
  ];
}

/** @param {Page} page @param {Element} place @param {boolean} [has_focus] whether the focus goes to it */
export async function open_node(page, place, has_focus) {
  const name = page.state.node;
  const [nodes, pods] = [await page.nodes(), await page.look('pods_of', { node: name })];
  const node = nodes.find((/** @type {any} */ entry) => entry.key === name);
  const is_cordoned = node?.out_because.some((/** @type {any} */ entry) => entry.because === 'cordoned');
  const change = (/** @type {string} */ flag) => { add(page.state, { flag, value: name }); page.go('whatif'); };
  const [used, free] = node ? amounts_of(node) : [];
  const title = node ? `${name}: ${used} of ${gpus(node.milli)} GPUs used, ${free} free` : `${name}: no GPU`;
  replace(place, h('section', { class: place.closest('section') ? 'inner' : 'card', 'aria-labelledby': 'chosen-title',
    onkeydown: (/** @type {KeyboardEvent} */ event) => { if (event.key === 'Escape') { event.stopPropagation(); close_node(page, place); } } },
  h('h3', { id: 'chosen-title', tabIndex: -1 }, title),
  node && h('dl', { class: 'facts' }, facts_of(node).flatMap(([what, value]) => [h('dt', {}, what), h('dd', {}, value)])),
  h('div', { class: 'buttons' },
    node && button('Why not here?', () => { page.only_node = name; page.go('why'); }),
    node && button('Drain', () => change('--drain')), node && button('Fail', () => change('--fail')), is_cordoned && button('Uncordon', () => change('--uncordon')),
    button('Close', () => close_node(page, place), { 'aria-label': `Close ${name}` })),
  pods.length === 0 ? h('p', { class: 'hint' }, 'No pod is on this node.') : table(`${counted(pods.length, 'pod')} on ${name}`, [
    { title: 'Pod', of: (pod) => pod.name, order: (pod) => pod.name },
    { title: 'Asks', of: (pod) => pod.asks || '-', order: (pod) => pod.asks },
    { title: 'Owner', of: (pod) => pod.owner || '-', order: (pod) => pod.owner },
    { title: 'Phase', of: (pod) => pod.phase, order: (pod) => pod.phase },
  ], pods, { most: 50, pick: (pod) => { page.state.pod = pod.name; page.go('why', 'verdict'); } })));
  if (!has_focus) return;
  by_id('chosen-title').focus({ preventScroll: true });
  place.scrollIntoView({ block: 'nearest' });
}
