// @ts-check
// What is idle, to one shape of pod, and what would help such pods.
import { button, choice, h, replace } from './dom.js';
import { one_more } from './editor.js';
import { about, add, put_changes } from './state.js';

/** @typedef {import('./app.js').Page} Page */

/** @param {Page} page @param {Element} section the section of `show -o html` with a bar for each shape */
export function idle_controls(page, section) {
  const bars = new Map([...section.querySelectorAll('.shares li:not(.sum)')].map((row) => [row.querySelector('.who')?.textContent ?? '', row.querySelector('svg')]));
  const shapes = [...bars.keys()];
  if (!bars.has(page.state.shape)) page.state.shape = shapes[0] ?? '';
  const one = h('div', { class: 'one-shape' });
  const draw_shape = () => {
    const bar = bars.get(page.state.shape);
    replace(one, bar?.cloneNode(true), h('p', { class: 'note' }, bar ? `To ${page.state.shape}: ${bar.getAttribute('aria-label')}` : ''));
  };
  draw_shape();
  return h('div', {}, h('div', { class: 'controls' },
    choice('shape', 'To shape', shapes, page.state.shape, (shape) => { page.state.shape = shape; draw_shape(); }),
    button('What would help?', () => { help(page).catch(page.fail); }, { id: 'help' })), one);
}

/** A pod of the shape: one that waits, if there is one. @param {Page} page @param {any} shape */
async function pod_of(page, shape) {
  const pods = await page.look('pods_like', { asks: shape.asks, most: 20 });
  for (const pod of pods) {
    const { rules } = JSON.parse((await page.ask('why of a shape', ['why', ...about(page.state), '--pod', pod.name, '--json'])).stdout);
    if (JSON.stringify(rules) === JSON.stringify(shape.rules)) return pod;
  }
  return null;
}

/** Goes where the shape's pods are helped: to the one that waits, or to how many nodes one more of them needs. @param {Page} page */
async function help(page) {
  const shapes = JSON.parse((await page.ask('shapes', ['show', ...about(page.state), '--json'])).stdout).shapes;
  const shape = shapes.find((/** @type {any} */ entry) => entry.shape === page.state.shape);
  const pod = shape && await page.computing(() => pod_of(page, shape));
  if (pod && !pod.node) {
    page.state.pod = pod.name;
    page.go('why', 'verdict');
    return;
  }
  const other = pod && await one_more(page, pod.name);
  if (!other) {
    page.complain('shape', 'No pod of this shape was found in the files.');
    return;
  }
  const { helped, changes } = page.state;
  if (helped && changes.some(({ value }) => value === helped.file)) put_changes(page.state, changes.filter(({ value }) => value !== helped.file)); // another shape's
  page.state.helped = other;
  add(page.state, { flag: '--add-pods', value: other.file });
  add(page.state, { flag: '--find-nodes', value: pod.node });
  page.go('whatif');
}
