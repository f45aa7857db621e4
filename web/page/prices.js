// @ts-check
// Prices of GPUs, for the cost of a day in See: written into a file that the command names.
import { button, by_id, h, save } from './dom.js';
import { about } from './state.js';
import { model_of, words_of_refusal } from './words.js';

/** @typedef {import('./app.js').Page} Page */

const file = 'prices.json';
/** What the reader has written, by the field; it outlives the answer. @type {Map<string, string>} */
const written = new Map([['currency', 'EUR']]);

/** @param {Page} page */
export async function prices_form(page) {
  const models = [...new Set((await page.nodes()).map((/** @type {any} */ node) => model_of(node.kind)))].sort();
  const field = (/** @type {string} */ id, /** @type {string} */ words, /** @type {Record<string, any>} */ how) => h('label', { class: 'field' }, h('span', {}, words),
    h('input', { id: 'price-' + id, value: written.get(id) ?? '', size: 8, autocomplete: 'off', oninput: () => written.set(id, by_id('price-' + id).value), ...how }));
  const amount = { type: 'number', min: 0, step: 0.0001 };
  const put = async () => {
    const numbers = models.map((model, i) => [model, Number(written.get(String(i)) ?? 0)]);
    const energy = written.get('kwh');
    const text = JSON.stringify({ gpu_hour: Object.fromEntries(numbers), ...(energy && { kwh: Number(energy) }), currency: written.get('currency') });
    page.put_file(file, text + '\n');
    const before = page.state.prices;
    page.state.prices = file;
    try {
      await page.ask('prices', ['show', ...about(page.state), '--prices', file]);
    } catch (failure) {
      page.state.prices = before === file ? '' : before;
      page.complain('price-currency', failure instanceof Error ? words_of_refusal(failure.message) : '');
      return;
    }
    page.redraw();
  };
  return h('details', { class: 'card', id: 'prices', open: page.state.prices === file }, h('summary', {}, 'Prices'),
    h('p', { class: 'hint' }, 'Of a GPU for an hour; one of 0 leaves the model out.'),
    h('div', { class: 'controls' }, models.map((model, i) => field(String(i), model, amount)), field('kwh', 'kWh', amount), field('currency', 'Currency', { type: 'text' }),
      button('Show the cost', () => { put().catch(page.fail); }, { id: 'cost' }),
      page.state.prices === file && page.own_file(file) && button('Save this file', () => save(file, page.own_file(file) ?? '', 'application/json'), { 'aria-label': `Save this file: ${file}` }),
      page.state.prices && button('Without prices', () => { page.state.prices = ''; page.redraw(); }, { id: 'no-prices' })));
}
