// @ts-check
// Fields in which names of the cluster are found while they are typed.
import { by_id, h, replace } from './dom.js';

/** @typedef {import('./app.js').Page} Page */

/** A field for a pod, with the first pods that have the text in their name. @param {Page} page */
export function pod_field(page) {
  const offers = h('datalist', { id: 'like-pod-offers' });
  const offer = async () => {
    const { hits } = await page.look('find', { text: by_id('like-pod')?.value ?? '', most: 100, kind: 'pod' });
    replace(offers, hits.map((/** @type {any} */ hit) => h('option', { value: hit.name })));
  };
  const field = h('input', { id: 'like-pod', type: 'text', list: 'like-pod-offers', autocomplete: 'off', spellcheck: false,
    oninput: () => { offer().catch(page.fail); }, onfocus: () => { offer().catch(page.fail); } });
  return [h('label', { class: 'field' }, h('span', {}, 'Pod: namespace/name'), field), offers];
}
