// @ts-check
// The screen on which files are chosen, and what is said of files that cannot be read.
import { button, by_id, card, copy, h, replace } from './dom.js';
import { read, unpacked } from './reading.js';

/** @typedef {import('./app.js').Page} Page */

const kubectl = 'kubectl get nodes,pods,resourcequotas -A -o json > cluster.json';

/** A command to copy. @param {string} text */
export function command_to_copy(text) {
  const copied = button('Copy', () => copy(text, copied), { class: 'small', 'aria-label': 'Copy the command' });
  return h('div', {}, h('pre', { class: 'command', tabIndex: 0, role: 'region', 'aria-label': 'Command' }, h('code', {}, text)), copied);
}

/** @param {Page} page */
export function start(page) {
  by_id('tabs').hidden = true;
  by_id('search-place').hidden = true;
  replace(by_id('files'));
  page.say('Drop files here');
  const open = (/** @type {Iterable<Blob & { name?: string }>} */ list) => Promise.all([...list].map(read)).then(page.use).catch(page.fail);
  const samples = JSON.parse(by_id('samples').textContent);
  const pasted = h('textarea', { id: 'pasted', 'aria-label': 'Objects, YAML or JSON', placeholder: 'Objects, YAML or JSON', spellcheck: false });
  const paste = h('div', { hidden: true }, pasted, h('div', { class: 'buttons' }, button('Read it', () => open([new Blob([pasted.value])]))));
  const zone = h('div', {
    class: 'drop', ondragover: (/** @type {DragEvent} */ event) => { event.preventDefault(); zone.classList.add('over'); },
    ondragleave: () => zone.classList.remove('over'),
    ondrop: (/** @type {DragEvent} */ event) => { event.preventDefault(); open(event.dataTransfer?.files ?? []); },
  }, h('p', {}, 'Drop files here'), h('div', { class: 'buttons' }, file_chooser('Choose files', open),
    button('Paste', () => { paste.hidden = false; pasted.focus(); }),
    ['atlas', 'harbor'].map((name) => button(`Try ${name}`, () => unpacked(samples[name]).then((bytes) => page.use([[`${name}.json`, bytes]])).catch(page.fail), { id: 'try-' + name }))), paste);
  replace(by_id('panel'), h('section', { class: 'card answer' }, h('h1', {}, 'Why does my pod wait, how full is my cluster, what if I change it?'),
    h('p', {}, 'From the objects of your cluster, calculated here. They do not leave this browser.')),
  h('section', { class: 'card' }, zone), card('The objects of a cluster', command_to_copy(kubectl)));
}

/** @param {string} words @param {(list: any) => void} open @param {string} [where] of another place than the panel */
export function file_chooser(words, open, where = '') {
  const chooser = h('input', { type: 'file', multiple: true, hidden: true, id: 'chooser' + where, 'aria-label': 'Files', onchange: () => open(chooser.files) });
  return [button(words, () => chooser.click(), { id: 'choose' + where, class: where && 'small' }), chooser];
}

/**
 * What is wrong with a file, as sentences: the program's line has the place first.
 * @param {string} text @returns {string}
 */
export function file_error(text) {
  const [, name, line, column, problem] = text.match(/^(.*?):(\d+):(?:(\d+):)? (.*?)(?:; was the download cut off\?)?$/s) ?? [];
  if (!name) return text;
  return column ? `${name}, line ${line}, column ${column}: ${problem}. What was read before it is not used.` : `${name}, line ${line}: ${problem}`;
}

/**
 * @param {Page} page @param {string} text what the program said @param {boolean} is_of_input whether the question was wrong, and not the program
 */
export function failure_card(page, text, is_of_input) {
  const copied = button('Copy the message', () => copy(text, copied));
  const buttons = (/** @type {any[]} */ ...more) => h('div', { class: 'buttons' }, ...more, copied, button('Other files', () => start(page)));
  if (/^no nodes in /.test(text)) {
    return h('div', { class: 'card error', role: 'alert' }, h('h1', { id: 'error' }, 'These are pods without nodes. Add the nodes:'),
      command_to_copy('kubectl get nodes -o json > nodes.json'), buttons(file_chooser('Add files', page.add_to_cluster)));
  }
  const sentence = is_of_input ? file_error(text) : 'The answer failed inside the program; your files are still here.';
  return h('div', { class: 'card error', role: 'alert' }, h('h1', { id: 'error' }, sentence), !is_of_input && h('p', { class: 'hint' }, text),
    buttons(is_of_input ? [] : [button('Try again', page.redraw)]));
}
