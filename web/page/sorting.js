// @ts-check
// Tables that a command has drawn: their columns sort, as those of the page do.
import { button } from './dom.js';

/** A cell as a number where it begins with one, else its text. @param {HTMLTableRowElement} row @param {number} column */
function value_of(row, column) {
  const text = (row.cells[column]?.textContent ?? '').trim();
  const number = Number.parseFloat(text);
  return row.cells[column]?.classList.contains('n') ? (Number.isNaN(number) ? -Infinity : number) : text;
}

/** Makes buttons of the headings. Sums stay at the end. @param {HTMLTableElement} table */
export function make_sortable(table) {
  const heads = [...table.tHead?.rows[0]?.cells ?? []];
  const [body] = table.tBodies;
  for (const [column, head] of heads.entries()) {
    if (!body || body.rows[0]?.cells[column]?.querySelector('svg')) continue; // a bar has no order of its own
    const words = head.textContent ?? '';
    head.replaceChildren(button(words, () => {
      const downwards = head.hasAttribute('aria-sort') ? head.getAttribute('aria-sort') === 'ascending' : head.classList.contains('n');
      const rows = [...body.rows].filter((row) => !row.classList.contains('sum'));
      rows.sort((left, right) => {
        const [a, b] = [value_of(left, column), value_of(right, column)];
        return (a < b ? -1 : a > b ? 1 : 0) * (downwards ? -1 : 1);
      });
      body.prepend(...rows);
      for (const other of heads) other.removeAttribute('aria-sort');
      head.setAttribute('aria-sort', downwards ? 'descending' : 'ascending');
    }, { class: 'head' }));
  }
}
