// @ts-check
// Who uses it: by namespace as `show` says it, or by queue or owner, which is a command of its own.
import { choice } from './dom.js';
import { make_sortable } from './sorting.js';
import { about, users_by } from './state.js';

/** @typedef {import('./app.js').Page} Page */

/** @param {Page} page @param {Element} section */
export async function draw_users(page, section) {
  const { who } = page.state;
  section.querySelector('h2')?.after(choice('who', 'By', users_by, who, (word) => { page.state.who = word; page.redraw(); }));
  if (who === users_by[0]) return;
  const args = ['show', ...about(page.state), '--by', who];
  const { written } = await page.ask('users', [...args, '-o', 'html=answer.html']);
  const answer = new DOMParser().parseFromString(new TextDecoder().decode(written.get('answer.html')), 'text/html');
  const region = answer.querySelector('.scroll');
  const table = region?.querySelector('table');
  if (!region || !table) return;
  // Names of the other answer: this one has its own of them.
  region.setAttribute('aria-label', `${table.caption?.textContent ?? ''} by ${who}`);
  region.removeAttribute('aria-labelledby');
  table.caption?.removeAttribute('id');
  make_sortable(table);
  section.querySelector('.scroll')?.replaceWith(region);
  section.append(page.terminal(args, { prints: true, of: 'users' }));
}
