// @ts-check
// See: what is used, free and out of service, what is idle and why it is of no use, who has it.
import { button, by_id, choice, h, replace } from './dom.js';
import { about, add } from './state.js';
import { gpus } from './words.js';

/** @typedef {import('./app.js').Page} Page */

const rows_by = ['pool', 'kind', 'node', 'resource', 'namespace', 'queue', 'owner'];

/** @param {Page} page */
export const command = (page) => ['show', ...about(page.state), ...(page.state.by === 'pool' ? [] : ['--by', page.state.by]),
  ...(page.state.all ? ['--all'] : [])];

/** @param {Page} page @param {Element} panel */
export async function draw(page, panel) {
  const answer = await page.ask('see', [...command(page), '-o', 'html=answer.html']);
  const written = answer.written.get('answer.html');
  if (!written) return;
  const seen = new DOMParser().parseFromString(new TextDecoder().decode(written), 'text/html');
  const sentence = seen.querySelector('h1')?.textContent ?? '';
  page.say(sentence);
  // The last section is the command, which the page has in its own place.
  const sections = [...seen.querySelectorAll('main > .total, main > section')].slice(0, -1);
  const chosen = h('div', { id: 'chosen-node' });
  for (const name of seen.querySelectorAll('.strips li > span')) {
    const text = name.firstChild;
    if (!text || text.nodeType !== Node.TEXT_NODE) continue;
    const node = (text.textContent ?? '').trim();
    text.replaceWith(button(node, () => { choose(page, chosen, node).catch(page.fail); }, { class: 'link' }), ' ');
  }
  const every_gpu = sections.find((section) => section.querySelector('.strips'));
  every_gpu?.append(chosen);
  const controls = h('div', { class: 'controls' },
    choice('by', 'Rows by', rows_by, page.state.by, (by) => { page.state.by = by; page.redraw(); }),
    h('label', { class: 'tick' }, h('input', {
      type: 'checkbox', id: 'all', checked: page.state.all,
      onchange: () => { page.state.all = by_id('all').checked; page.redraw(); },
    }), 'Every row'));
  replace(panel,
    h('section', { class: 'card answer' }, h('h1', {}, sentence), h('p', {}, seen.querySelector('.subtitle')?.textContent ?? '')),
    controls, ...sections, page.terminal(command(page)));
}

/** @param {Page} page @param {Element} place @param {string} name */
async function choose(page, place, name) {
  const node = (await page.nodes()).find((/** @type {any} */ entry) => entry.key === name);
  if (!node) return;
  const reasons = node.out_because.map((/** @type {{ because: string }} */ entry) => entry.because);
  const go = (/** @type {string} */ flag) => { add(page.state, { flag, value: name }); page.go('whatif'); };
  const rows = [
    ['kind', node.kind], ['used', `${gpus(node.used)} of ${gpus(node.milli)} GPUs`],
    ['free', gpus(node.free)], ['out of service', gpus(node.out) + (reasons.length ? ': ' + reasons.join(', ') : '')],
    ['CPU', `${(node.host_cpu_milli.used / 1000).toFixed(1)} of ${(node.host_cpu_milli.total / 1000).toFixed(1)} used`],
    ['memory', `${Math.round(node.host_memory_mib.used / 1024)} of ${Math.round(node.host_memory_mib.total / 1024)} GiB used`],
    ['labels', Object.entries(node.labels).map(([key, value]) => `${key}=${value}`).join(', ')],
  ];
  replace(place, h('section', { class: 'inner', 'aria-label': `Node ${name}` },
    h('h3', {}, `${name}: ${gpus(node.used)} of ${gpus(node.milli)} GPUs used, ${gpus(node.free)} free`),
    h('dl', { class: 'facts' }, rows.flatMap(([what, value]) => [h('dt', {}, what), h('dd', {}, value)])),
    h('div', { class: 'buttons' },
      button('Why not here?', () => { page.only_node = name; page.go('why'); }),
      button('Drain', () => go('--drain')), button('Fail', () => go('--fail')),
      reasons.includes('cordoned') && button('Uncordon', () => go('--uncordon')),
      button('Close', () => replace(place)))));
  place.scrollIntoView({ block: 'nearest' });
}

/** A picture of amounts in one bar. @param {{ used: number, free: number, out: number }} parts milli-GPU */
export function share_bar({ used, free, out }) {
  const total = Math.max(used + free + out, 1);
  const svg = (/** @type {string} */ tag, /** @type {Record<string, string>} */ how) => {
    const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
    for (const [name, value] of Object.entries(how)) element.setAttribute(name, value);
    return element;
  };
  const words = `used ${gpus(used)}, free ${gpus(free)}, out of service ${gpus(out)}, together ${gpus(used + free + out)} GPUs`;
  const bar = svg('svg', { class: 'share', role: 'img', 'aria-label': words });
  const percent = (/** @type {number} */ part) => `${((100 * part) / total).toFixed(2)}%`;
  bar.append(svg('rect', { class: 'area free', width: '100%', height: '100%' }),
    svg('rect', { class: 'area used', width: percent(used), height: '100%' }),
    svg('rect', { class: 'area out', x: percent(used + free), width: percent(out), height: '100%' }));
  return bar;
}

