// @ts-check
// Elements of the page.

/** @typedef {Node | string | number | null | undefined | false} Child */

/**
 * An element with properties, attributes, listeners (`onclick`) and children. Texts are texts, whatever is in them.
 * @param {string} tag @param {Record<string, any>} [how] @param {...(Child | Child[])} children
 * @returns {any}
 */
export function h(tag, how = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(how)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (name === 'class') element.className = value;
    else if (name in element && !name.includes('-') && name !== 'list' && name !== 'role') Reflect.set(element, name, value);
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  for (const child of children.flat()) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
  return element;
}

/** @param {string} id @returns {any} */
export const by_id = (id) => document.getElementById(id);

/** @param {Element} element */
const words_on = (element) => element.tagName + ' ' + (element.getAttribute('aria-label') ?? element.textContent);

/**
 * Remembers which control within an element has the focus. The function that is returned gives the focus to the same control of
 * the new children: by its id, by its words, or else to their first heading, so that it is never lost. While more children come, it is
 * called with false: then the heading has to wait.
 * @param {Element} parent @returns {(is_last?: boolean) => void}
 */
export function remembered_focus(parent) {
  const focused = document.activeElement;
  if (!focused || focused === parent || !parent.contains(focused)) return () => {};
  const words = words_on(focused);
  const alike = () => [...parent.querySelectorAll(focused.tagName)].filter((element) => words_on(element) === words);
  const position = alike().indexOf(focused);
  return (is_last = true) => {
    if (document.activeElement !== document.body && parent.contains(document.activeElement)) return; // the reader has moved on
    const same = (focused.id && by_id(focused.id)) || alike()[position] || (is_last && alike()[0]);
    if (same && !same.disabled) same.focus();
    else if (is_last) focus_heading(parent);
  };
}

/** @param {Element} parent */
export function focus_heading(parent) {
  const heading = /** @type {HTMLElement | null} */ (parent.querySelector('h1, h2, h3')) ?? by_id('panel');
  if (!heading.hasAttribute('tabindex')) heading.tabIndex = -1;
  heading.focus();
}

/**
 * Puts new children in the place of the old ones.
 * @param {Element} parent @param {...(Child | Child[])} children
 */
export function replace(parent, ...children) {
  const focus_again = remembered_focus(parent);
  parent.replaceChildren(...children.flat().filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (child instanceof Node ? child : String(child))));
  focus_again();
}

/**
 * @param {string} title @param {...(Child | Child[])} children
 * @returns {HTMLElement} a card with a heading
 */
export function card(title, ...children) {
  const id = 'card-' + title.toLowerCase().replaceAll(/[^a-z]+/g, '-');
  return h('section', { class: 'card', 'aria-labelledby': id }, h('h2', { id }, title), ...children);
}

/**
 * A button. Its id keeps the focus when the answer around it is drawn anew.
 * @param {string} text @param {() => void} press @param {Record<string, any>} [how]
 */
export const button = (text, press, how = {}) => h('button', { type: 'button', onclick: press, ...how }, text);

/**
 * A labelled choice.
 * @param {string} id @param {string} label @param {(string | [string, string])[]} options values, or values and their words
 * @param {string} chosen @param {(value: string) => void} choose
 */
export function choice(id, label, options, chosen, choose) {
  const select = h('select', { id, onchange: () => choose(select.value) },
    options.map((option) => {
      const [value, words] = typeof option === 'string' ? [option, option] : option;
      return h('option', { value, selected: value === chosen }, words);
    }));
  return h('label', { class: 'field' }, h('span', {}, label), select);
}

/**
 * @typedef {{ title: string, number?: boolean, of: (row: any) => Child, order?: (row: any) => string | number }} Column
 * A table whose columns sort. Long ones show their first rows.
 * @param {string} caption @param {Column[]} columns @param {any[]} rows
 * @param {{ most?: number, pick?: (row: any) => void, name?: (row: any) => string }} [how] pick: what a click on a row's first cell does
 */
export function table(caption, columns, rows, how = {}) {
  const most = how.most ?? 100;
  let sorted_by = -1;
  let downwards = false;
  let shown = most;
  const body = h('tbody');
  const heads = columns.map((column, i) => h('th', { scope: 'col', class: column.number ? 'n' : '' },
    column.order ? button(column.title, () => sort_by(i), { class: 'head' }) : column.title));
  const rest = h('p', { class: 'hint' });
  let ordered = rows;

  function sort_by(/** @type {number} */ column) {
    downwards = sorted_by === column ? !downwards : Boolean(columns[column].number);
    sorted_by = column;
    const order = /** @type {(row: any) => string | number} */ (columns[column].order);
    ordered = [...rows].sort((left, right) => {
      const [a, b] = [order(left), order(right)];
      return (a < b ? -1 : a > b ? 1 : 0) * (downwards ? -1 : 1);
    });
    heads.forEach((head, i) => {
      if (i === column) head.setAttribute('aria-sort', downwards ? 'descending' : 'ascending');
      else head.removeAttribute('aria-sort');
    });
    fill();
  }
  function fill() {
    body.replaceChildren(...ordered.slice(0, shown).map((row) => h('tr', {}, columns.map((column, i) => {
      const content = column.of(row);
      if (i > 0) return h('td', { class: column.number ? 'n' : 'text' }, content);
      const cell = how.pick ? button(String(content), () => how.pick?.(row), { class: 'link' }) : content;
      return h('th', { scope: 'row', class: column.number ? 'n' : '' }, cell);
    }))));
    const hidden = ordered.length - Math.min(shown, ordered.length);
    replace(rest, hidden > 0 && `and ${hidden} more `,
      hidden > 0 && button('Show more', () => { shown += 10 * most; fill(); }, { class: 'small' }));
  }
  fill();
  const region = h('div', { class: 'scroll', tabIndex: 0, role: 'region', 'aria-label': caption },
    h('table', {}, h('caption', {}, caption), h('thead', {}, h('tr', {}, heads)), body));
  return h('div', {}, h('p', { class: 'hint swipe' }, 'A wide table scrolls sideways.'), region, rest);
}

/** Puts a text on the clipboard; without that right, selects it. @param {string} text @param {any} pressed the button */
export async function copy(text, pressed) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const field = h('textarea', { value: text, class: 'off-screen', 'aria-hidden': 'true' });
    document.body.append(field);
    field.select();
    document.execCommand('copy');
    field.remove();
    pressed.focus();
  }
  const before = pressed.textContent;
  pressed.textContent = 'Copied';
  setTimeout(() => { pressed.textContent = before; }, 1500);
}

/** Gives the reader a file. @param {string} name @param {string | Uint8Array | Blob} content @param {string} type */
export function save(name, content, type) {
  const address = URL.createObjectURL(new Blob([/** @type {BlobPart} */ (content)], { type }));
  h('a', { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
