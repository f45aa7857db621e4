// @ts-check
// Same answer in a terminal: the command of an answer, and what it prints.
import { button, copy, h } from './dom.js';
import { command_line } from './words.js';

/**
 * @param {import('./app.js').Page} page @param {string[]} args @param {{ prints: boolean }} [how] prints: whether the page can show what the command prints
 */
export function terminal(page, args, { prints } = { prints: true }) {
  const text = command_line(args);
  const output = h('pre', { class: 'command output', tabIndex: 0, role: 'region', 'aria-label': 'Output' });
  const pressed = button('Copy', () => copy(text, pressed), { class: 'small', 'aria-label': 'Copy the command' });
  const details = h('details', { ontoggle: async () => {
    if (!details.open || output.textContent) return;
    try {
      output.textContent = (await page.ask('text', args)).stdout;
    } catch (failure) {
      output.textContent = failure instanceof Error ? failure.message : '';
    }
  } }, h('summary', {}, 'What it prints'), output);
  return h('section', { class: 'card terminal', id: 'terminal', 'aria-labelledby': 'terminal-title' }, h('h2', { id: 'terminal-title' }, 'Same answer in a terminal'),
    h('pre', { class: 'command', tabIndex: 0, role: 'region', 'aria-label': 'Command' }, h('code', {}, text)), pressed, prints && details);
}
