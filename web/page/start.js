// @ts-check
// The screen on which files are chosen, and what is said of files that cannot be read.
import { button, by_id, card, copy, h, replace } from './dom.js';
import { unpacked } from './reading.js';

/** @typedef {import('./app.js').Page} Page */

const kubectl = 'kubectl get nodes,pods,namespaces,resourcequotas,jobs,limitranges,poddisruptionbudgets,priorityclasses -A -o json > cluster.json';
/** Kinds that not every cluster has: kubectl prints nothing if one of a list is not there. @type {[string, string][]} */
const queues = [['Kueue', 'workloads,localqueues,clusterqueues,cohorts,resourceflavors'], ['Volcano', 'podgroups.scheduling.volcano.sh,queues.scheduling.volcano.sh']];

/** A command to copy. @param {string} text */
export function command_to_copy(text) {
  const kinds = text.split(/[ ,]/)[2];
  const copied = button('Copy', () => copy(text, copied), { class: 'small', 'aria-label': `Copy the command for ${kinds}` });
  return h('div', {}, h('pre', { class: 'command', tabIndex: 0, role: 'region', 'aria-label': `Command for ${kinds}` }, h('code', {}, text)), copied);
}

/** @param {Page} page */
export function start(page) {
  by_id('tabs').hidden = true;
  by_id('search-place').hidden = true;
  replace(by_id('trouble'));
  replace(by_id('files'));
  page.say('Drop files here');
  const samples = JSON.parse(by_id('samples').textContent);
  const pasted = h('textarea', { id: 'pasted', 'aria-label': 'Objects, YAML or JSON', placeholder: 'Objects, YAML or JSON', spellcheck: false });
  const paste = h('div', { hidden: true }, pasted, h('div', { class: 'buttons' }, button('Read it', () => page.open([new Blob([pasted.value])]))));
  const before = page.left_behind();
  const zone = h('div', { class: 'drop' }, h('p', { id: 'invitation' }, 'Drop files here'), h('div', { class: 'buttons' }, file_chooser('Choose files', page.open),
    button('Paste', () => { paste.hidden = false; pasted.focus(); }),
    ['atlas', 'harbor'].map((name) => button(`Try ${name}`, () => unpacked(samples[name]).then((bytes) => page.open([new File([bytes], `${name}.json`)])).catch(page.fail), { id: 'try-' + name })),
    before && button(`Back to ${before}`, page.go_back, { id: 'back' })), paste);
  replace(by_id('panel'), h('section', { class: 'card answer' }, h('h1', {}, 'Why does my pod wait, how full is my cluster, what if I change it?'),
    h('p', {}, 'From the objects of your cluster, calculated here. They do not leave this browser.')),
  h('section', { class: 'card' }, zone), card('The objects of a cluster', command_to_copy(kubectl),
    h('p', { class: 'note' }, 'The more kinds are in the file, the more is known. Queues of Kueue and Volcano are files of their own, dropped together with it:'),
    queues.map(([name, kinds]) => command_to_copy(`kubectl get ${kinds} -A -o json > ${name.toLowerCase()}.json`))));
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
 * @param {string} id of the heading
 */
export function failure_card(page, text, is_of_input, id) {
  const copied = button('Copy the message', () => copy(text, copied));
  const buttons = (/** @type {any[]} */ ...more) => h('div', { class: 'buttons' }, ...more, copied,
    id === 'error' ? button('Other files', () => start(page)) : button('Close', () => replace(by_id('trouble')), { 'aria-label': 'Close the message' }));
  if (/^no nodes in /.test(text)) {
    return h('div', { class: 'card error', role: 'alert' }, h('h1', { id }, 'These are pods without nodes. Add the nodes:'),
      command_to_copy('kubectl get nodes -o json > nodes.json'), buttons(file_chooser('Add files', page.add_to_refused, id === 'error' ? '' : '-beside')));
  }
  const sentence = is_of_input ? file_error(text) : 'The answer failed inside the program; your files are still here.';
  return h('div', { class: 'card error', role: 'alert' }, h('h1', { id }, sentence), !is_of_input && h('p', { class: 'hint' }, text),
    buttons(is_of_input ? [] : [button('Try again', id === 'error' && page.has_files() ? page.redraw : page.open_refused)]));
}
