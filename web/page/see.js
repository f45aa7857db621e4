// @ts-check
// See: what is used, free and out of service, what is idle and why it is of no use, who has it.
import { button, by_id, choice, focus_heading, h, replace } from './dom.js';
import { idle_controls } from './idle.js';
import { close_node, open_node } from './node.js';
import { pause } from './parts.js';
import { prices_form } from './prices.js';
import { make_sortable } from './sorting.js';
import { about, rows_by } from './state.js';
import { draw_users } from './users.js';
import { gpus, in_tenths } from './words.js';

/** @typedef {import('./app.js').Page} Page */

const most_bars = 12;
/** So many letters take a while to be read. */
const long_text = 20_000;

/** @param {string} text HTML */
const parsed = (text) => new DOMParser().parseFromString(text, 'text/html');

/** @param {Page} page */
export const command = ({ state }) => ['show', ...about(state), ...(state.by === 'pool' ? [] : ['--by', state.by]),
  ...(state.prices ? ['--prices', state.prices] : []), ...(state.all ? ['--all'] : [])];

/** @param {Page} page @param {Element} panel */
export async function draw(page, panel) {
  const answer = await page.ask('see', [...command(page), '-o', 'html=answer.html']);
  // Read section by section. The last one is the command, which the page has in its own place.
  const [head, ...texts] = new TextDecoder().decode(answer.written.get('answer.html')).split(/(?=<section class="card")/);
  const seen = parsed(head);
  const sentence = seen.querySelector('h1')?.textContent ?? '';
  const sections = [...seen.querySelectorAll('main > .total')];
  for (const text of texts.slice(0, -1)) {
    const { body } = parsed(text);
    if (text.length > long_text) await pause();
    for (const table of body.querySelectorAll('table')) make_sortable(table);
    sections.push(...body.children);
  }
  const chosen = h('div', { id: 'chosen-node' });
  const every_gpu = sections.find((section) => section.querySelector('.strips li'));
  if (every_gpu) prepare_picture(page, every_gpu, chosen);
  if (every_gpu && every_gpu.querySelectorAll('li').length > 50) await pause();
  const idle = sections.find((section) => section.querySelector('.shares'));
  if (idle) {
    idle.querySelector('h2')?.after(idle_controls(page, idle));
    shorten(idle);
  }
  const users = sections.find((section) => section.querySelector('h2')?.textContent === 'Who uses it');
  if (users) await draw_users(page, users);
  if (page.state.node) await open_node(page, chosen);
  const prices = every_gpu ? await prices_form(page) : null;
  const controls = h('div', { class: 'controls' }, choice('by', 'Rows by', [...rows_by, ...await page.labels()], page.state.by, (by) => { page.state.by = by; page.redraw(); }),
    tick('all', 'Every row', page.state.all, (is_on) => { page.state.all = is_on; page.redraw(); }));
  const pools = sections.find((section) => section.matches('section') && section.querySelector('table'));
  pools?.querySelector('h2')?.after(controls);
  if (pools && idle && idle !== pools) {
    const side_by_side = h('div', { class: 'side' }, pools, idle);
    sections.splice(sections.indexOf(pools), 1, side_by_side);
    sections.splice(sections.indexOf(idle), 1);
  }
  replace(panel,
    h('section', { class: 'card answer' }, h('h1', {}, sentence), h('p', {}, seen.querySelector('.subtitle')?.textContent ?? '')),
    !pools && controls, !every_gpu && chosen, ...sections, prices, page.terminal(command(page)));
  page.say(sentence);
}

/** The first bars, the others behind a button; and the numbers behind "As a table". @param {Element} idle */
function shorten(idle) {
  const bars = [...idle.querySelectorAll('.shares > li:not(.sum)')].slice(most_bars);
  for (const bar of bars) bar.setAttribute('hidden', '');
  const more = bars.length > 0 && button(`and ${bars.length} more`, () => {
    for (const bar of bars) bar.removeAttribute('hidden');
    more.remove();
    focus_heading(idle);
  }, { class: 'small' });
  const region = idle.querySelector('.scroll');
  const [, amount] = region?.querySelector('caption')?.textContent?.match(/^Of ([\d.]+) GPUs/) ?? [];
  const heading = idle.querySelector('h2');
  if (heading && amount) heading.textContent = `Idle: ${amount} GPUs`;
  if (!region) return;
  const swipe = region.previousElementSibling?.matches('.swipe') ? region.previousElementSibling : null;
  const numbers = h('details', {}, h('summary', {}, 'As a table'));
  region.before(...(more ? [more] : []), numbers);
  numbers.append(...(swipe ? [swipe] : []), region);
}

/** @param {string} id @param {string} label @param {boolean} is_on @param {(is_on: boolean) => void} set */
const tick = (id, label, is_on, set) => h('label', { class: 'tick' }, h('input', { type: 'checkbox', id, checked: is_on, onchange: () => set(by_id(id).checked) }), label);

/** Of "5.0 of 8 used, 3.0 free, …". @param {Element} strip */
function amounts_of(strip) {
  const [used, total, free] = (strip.querySelector('svg')?.getAttribute('aria-label')?.match(/[\d.]+/g) ?? []).map(Number);
  return { fullness: used / total, free };
}

/** Names of nodes become buttons, of which the arrows choose one. @param {Page} page @param {Element} section @param {Element} chosen */
function prepare_picture(page, section, chosen) {
  const lists = [...section.querySelectorAll('.strips')].map((list) => ({ list, strips: [...list.children] }));
  /** @type {any[]} */
  const buttons = [];
  for (const strip of lists.flatMap(({ strips }) => strips)) {
    const text = /** @type {Text} */ (strip.querySelector('span')?.firstChild);
    const node = (text.textContent ?? '').trim();
    const words = strip.querySelector('svg')?.getAttribute('aria-label') ?? '';
    const name = button(node, () => { page.state.node = node; open_node(page, chosen, true).catch(page.fail); },
      { class: 'link', id: 'node-' + node, 'aria-label': `${node}, ${words}`, tabIndex: buttons.length === 0 ? 0 : -1 });
    buttons.push(name);
    text.replaceWith(name, ' ');
  }
  section.addEventListener('keydown', (event) => {
    const { key } = /** @type {KeyboardEvent} */ (event);
    if (key === 'Escape' && page.state.node) close_node(page, chosen);
    const shown = buttons.filter((name) => !name.closest('li').hidden);
    const at = shown.indexOf(document.activeElement);
    const to = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: shown.length - 1 }[key];
    if (at < 0 || to === undefined) return;
    event.preventDefault();
    const next = shown[(to + shown.length) % shown.length];
    for (const name of buttons) name.tabIndex = name === next ? 0 : -1;
    next.focus();
  });
  const arrange = () => {
    const { fullest, only_idle } = page.state;
    for (const { list, strips } of lists) {
      list.append(...(fullest ? [...strips].sort((left, right) => amounts_of(right).fullness - amounts_of(left).fullness) : strips));
      for (const strip of strips) /** @type {HTMLElement} */ (strip).hidden = only_idle && amounts_of(strip).free === 0;
    }
    buttons.sort((left, right) => (left.compareDocumentPosition(right) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1));
    const first = buttons.find((name) => !name.closest('li').hidden);
    for (const name of buttons) name.tabIndex = name === first ? 0 : -1;
  };
  arrange();
  section.querySelector('h2')?.after(h('div', { class: 'controls picture-controls' },
    choice('order', 'Order', [['pool', 'Pool order'], ['fullest', 'Fullest first']], page.state.fullest ? 'fullest' : 'pool', (order) => { page.state.fullest = order === 'fullest'; arrange(); page.note_address(); }),
    tick('only-idle', 'Only idle', page.state.only_idle, (is_on) => { page.state.only_idle = is_on; arrange(); page.note_address(); })));
  section.append(chosen);
}

/** A picture of amounts in one bar. @param {{ used: number, free: number, out: number }} parts milli-GPU */
export function share_bar({ used, free, out }) {
  const total = Math.max(used + free + out, 1);
  const [used_words, free_words, out_words] = in_tenths([used, free, out]).map(gpus);
  const svg = (/** @type {string} */ tag, /** @type {Record<string, string>} */ how) => {
    const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
    for (const [name, value] of Object.entries(how)) element.setAttribute(name, value);
    return element;
  };
  const words = `used ${used_words}, free ${free_words}, out of service ${out_words}, together ${gpus(used + free + out)} GPUs`;
  const bar = svg('svg', { class: 'share', role: 'img', 'aria-label': words });
  const percent = (/** @type {number} */ part) => `${((100 * part) / total).toFixed(2)}%`;
  bar.append(svg('rect', { class: 'area free', width: '100%', height: '100%' }),
    svg('rect', { class: 'area used', width: percent(used), height: '100%' }),
    svg('rect', { class: 'area out', x: percent(used + free), width: percent(out), height: '100%' }));
  return bar;
}
