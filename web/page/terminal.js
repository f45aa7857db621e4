// @ts-check
// Same answer in a terminal: the command of an answer, and what it prints.
import { button, copy, h } from './dom.js';
import { command_line } from './words.js';

const title = 'Same answer in a terminal';

/** Lines end between words, not within --add-nodes. @param {string} text */
const words_of = (text) => text.split(' ').flatMap((word, i) => [i > 0 && ' ', h('span', { class: 'word' }, word)]);

/**
 * @param {import('./app.js').Page} page @param {string[]} args @param {{ prints: boolean, of?: string }} [how] prints: whether the page can show what the command prints;
 *   of: which answer of a tab that has several
 */
export function terminal(page, args, { prints, of } = { prints: true }) {
  const id = of ? `terminal-${of}` : 'terminal';
  const label = (/** @type {string} */ words) => (of ? `${words}, ${of}` : words);
  const text = command_line(args);
  const output = h('pre', { class: 'command output', tabIndex: 0, role: 'region', 'aria-label': label('Output') });
  const pressed = button('Copy', () => copy(text, pressed), { class: 'small', 'aria-label': label('Copy the command') });
  const details = h('details', { ontoggle: async () => {
    if (!details.open || output.textContent) return;
    try {
      output.textContent = (await page.ask('text', args)).stdout;
    } catch (failure) {
      output.textContent = failure instanceof Error ? failure.message : '';
    }
  } }, h('summary', {}, 'What it prints'), output);
  return h('section', { class: of ? 'inner terminal' : 'card terminal', id, 'aria-label': label(title) },
    h(of ? 'h3' : 'h2', {}, title),
    h('pre', { class: 'command', tabIndex: 0, role: 'region', 'aria-label': label('Command') }, h('code', {}, words_of(text))),
    h('div', { class: 'buttons' }, pressed, !of && button('Save answer', page.save_answer, { class: 'small' })), prints && details);
}
