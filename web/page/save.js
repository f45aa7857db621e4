// @ts-check
// Save…: the cluster as a snapshot, with or without its names, or the answer as it is drawn, or as JSON.
import { by_id, h, save } from './dom.js';
import { about } from './state.js';
import { counted } from './words.js';

/** @typedef {import('./app.js').Page} Page */

/** @type {[string, string][]} */
const menu = [['', 'Save…'], ['snapshot', 'Snapshot'], ['anonymised', 'Anonymised snapshot'], ['html', 'Answer as HTML'], ['json', 'JSON']];

/** @param {Page} page */
export function save_menu(page) {
  const choose = h('select', { id: 'save', 'aria-label': 'Save', class: 'small', onchange: () => {
    const kind = choose.value;
    choose.value = '';
    save_as(page, kind).catch(page.fail);
  } }, menu.map(([value, words]) => h('option', { value }, words)));
  return choose;
}

/** @param {Page} page @param {string} kind */
export async function save_as(page, kind) {
  if (kind === 'json') save('answer.json', await page.json_of_answer(), 'application/json');
  if (kind === 'html') save('answer.html', answer_as_html(), 'text/html');
  if (kind === 'json' || kind === 'html') page.tell_saved('Saved. The file has your names in it.');
  if (kind === 'snapshot') {
    save('snapshot.json', await snapshot_of(page, []), 'application/json');
    page.tell_saved('Saved. The file has your names in it.');
  }
  if (kind === 'anonymised') await save_without_names(page);
}

/** @param {Page} page @param {string[]} flags */
async function snapshot_of(page, flags) {
  const { written } = await page.ask('save', ['snapshot', ...about(page.state), ...flags, '--out', 'snapshot.json']);
  return written.get('snapshot.json') ?? new Uint8Array();
}

/** @param {Page} page */
async function save_without_names(page) {
  const bytes = await snapshot_of(page, ['--anonymise']);
  const { nodes, pods, names, found } = await page.look('names_in', { bytes });
  const check = `Check: ${counted(nodes, 'node')}, ${counted(pods, 'pod')}, ${found.length} of ${names} names found in it`;
  if (found.length > 0) {
    page.tell_saved(`Not saved. ${check}: ${found.slice(0, 5).join(', ')}${found.length > 5 ? ', …' : ''}`);
    return;
  }
  save('anonymised.json', bytes, 'application/json');
  page.tell_saved(`Saved without names. ${check}.`);
}

/** Elements that do something, and those that only stand around them. */
const controls = 'button, input, select, textarea, datalist, .controls, .buttons, .hint.swipe, .back, .off-screen, script, iframe, #report';

/** The answer as it is drawn: a file without scripts and links that opens from an attachment. */
export function answer_as_html() {
  const answer = /** @type {Element} */ (by_id('panel').cloneNode(true));
  for (const details of answer.querySelectorAll('details')) if (details.textContent === details.querySelector('summary')?.textContent) details.remove();
  for (const pressed of answer.querySelectorAll('button.link, button.head')) pressed.replaceWith(pressed.textContent ?? '');
  for (const slider of answer.querySelectorAll('.slide')) slider.remove();
  for (const control of answer.querySelectorAll(controls)) control.remove();
  for (const element of answer.querySelectorAll('[tabindex="-1"]')) element.removeAttribute('tabindex');
  const [title, style, patterns] = [document.title, document.querySelector('style')?.outerHTML ?? '', document.querySelector('.patterns')?.outerHTML ?? ''];
  const head = h('title', {}, title).outerHTML;
  const heading = by_id('files').dataset.names ?? '';
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'">
${head}
${style}
</head>
<body>
${patterns}<header class="top"><p class="kicker">vgpualloc</p>${h('p', { class: 'files' }, heading).outerHTML}</header>
<main>
${answer.innerHTML}
</main>
<footer><p>Made by vgpualloc. This file is complete: it loads nothing from a network, and has no script.</p></footer>
</body>
</html>
`;
}
