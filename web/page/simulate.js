// @ts-check
// Simulate: a trace is replayed under several policies, and the report can be saved.
import { button, by_id, card, choice, h, replace, save, table } from './dom.js';
import { unpacked } from './reading.js';
import { counted, span } from './words.js';

/** @typedef {import('./app.js').Page} Page */

/** @type {[string, string][]} */
const formats = [['openb', 'openb: lists of nodes and pods, CSV'], ['kubernetes', 'Kubernetes objects and a table of arrivals'], ['model', 'a model of nodes and pods, JSON'],
  ['philly', 'Philly, CSV'], ['dlrm', 'DLRM, CSV'], ['swf', 'SWF']];
const shipped = 'quickstart';

/** What the reader has chosen here; it outlives the tab. */
const chosen = {
  source: shipped, format: 'openb', nodes: '', pods: '', classes: '', policies: ['bid_price', 'best_fit', 'fgd'], load: 0, seeds: 1, departures: false,
};
/** @type {{ args: string, answer: import('./ask.js').Answer } | null} */
let last = null;

/** @returns {string[]} */
function workload() {
  if (chosen.source === shipped) return ['--nodes', 'nodes.csv', '--pods', 'pods.csv'];
  const file = (/** @type {string} */ flag, /** @type {string} */ name) => (name ? [flag, name] : []);
  return [...(chosen.format === 'openb' ? [] : ['--format', chosen.format]), ...file('--nodes', chosen.nodes), ...file('--pods', chosen.pods),
    ...file('--classes', chosen.classes)];
}

export const command = () => ['compare', ...workload(), ...chosen.policies.flatMap((policy) => ['--policy', policy]),
  ...(chosen.departures ? ['--departures'] : []), ...(chosen.departures && chosen.load > 0 ? ['--offered-load', String(chosen.load)] : []),
  ...(chosen.seeds > 1 ? ['--seeds', `42..${41 + chosen.seeds}`] : []), '--out', 'out'];

/** The runs of the answer that is drawn, as `compare` writes them. */
export const json = () => new TextDecoder().decode(last?.answer.written.get('out/compare.json') ?? new TextEncoder().encode('[]'));

/** @param {Page} page @param {Element} panel */
export async function draw(page, panel) {
  const answer = h('div', {});
  const again = () => page.redraw();
  const file_field = (/** @type {'nodes' | 'pods' | 'classes'} */ part) => h('label', { class: 'field' }, h('span', {}, part[0].toUpperCase() + part.slice(1)),
    h('input', { type: 'file', id: 'file-' + part, onchange: async () => {
      const [file] = by_id('file-' + part).files;
      if (file) chosen[part] = await page.add_file(file);
      again();
    } }), chosen[part] && h('span', {}, chosen[part]));
  const number = (/** @type {'load' | 'seeds'} */ part, /** @type {string} */ label, /** @type {Record<string, any>} */ how) => h('label', { class: 'field' },
    h('span', {}, label), h('input', { type: 'number', id: part, value: chosen[part], ...how, onchange: () => {
      chosen[part] = Math.min(Math.max(Number(by_id(part).value) || 0, how.min), how.max);
      again();
    } }));
  const own = chosen.source !== shipped && [choice('format', 'Format', formats, chosen.format, (format) => { chosen.format = format; again(); }),
    file_field('nodes'), chosen.format !== 'model' && file_field('pods'), chosen.format === 'kubernetes' && file_field('classes')];
  replace(panel, h('section', { class: 'card answer' }, h('h1', {}, 'Replay a workload under several policies')), card('What', h('div', { class: 'controls' },
    choice('source', 'Workload', [[shipped, 'quickstart, shipped with vgpualloc'], ['files', 'files of yours']], chosen.source, (source) => { chosen.source = source; again(); }), own),
  h('fieldset', { class: 'controls' }, h('legend', {}, 'policies'), page.policies.map((policy) => h('label', { class: 'tick' }, h('input', {
    type: 'checkbox', id: 'with-' + policy, checked: chosen.policies.includes(policy), onchange: () => {
      chosen.policies = page.policies.filter((name) => by_id('with-' + name).checked);
      again();
    },
  }), policy))),
  h('div', { class: 'controls' }, h('label', { class: 'tick' }, h('input', {
    type: 'checkbox', id: 'departures', checked: chosen.departures, onchange: () => { chosen.departures = by_id('departures').checked; again(); },
  }), 'pods leave, as the trace says'), chosen.departures && number('load', 'load (0: as it is)', { min: 0, max: 10, step: 0.05 }), number('seeds', 'seeds', { min: 1, max: 50 }),
  button('Run', () => page.answer_in(answer, () => run(page, answer)).catch(page.fail), { id: 'run', disabled: chosen.policies.length < 2 || (chosen.source !== shipped && !chosen.nodes) })),
  chosen.policies.length < 2 && h('p', { class: 'hint' }, 'Choose two policies or more.')), answer, page.terminal(command(), { prints: false }));
  if (last?.args === command().join(' ')) draw_answer(page, answer, last.answer);
}

/** @param {Page} page @param {Element} place */
async function run(page, place) {
  if (chosen.source === shipped) {
    const samples = JSON.parse(by_id('samples').textContent);
    for (const name of ['nodes.csv', 'pods.csv']) page.put_file(name, await unpacked(samples[name]));
  }
  const args = command();
  const answer = await page.computing(() => page.ask('run', args));
  last = { args: args.join(' '), answer };
  draw_answer(page, place, answer);
}

/** @param {Page} page @param {Element} place @param {import('./ask.js').Answer} answer */
function draw_answer(page, place, answer) {
  const lines = answer.stdout.trimEnd().split('\n');
  const verdict = lines.findLast((line) => line !== '' && !/^(inputs|report|written|warning)/.test(line)) ?? '';
  const written = (/** @type {string} */ name) => answer.written.get(name) ?? answer.written.get('out/' + name);
  const runs = JSON.parse(new TextDecoder().decode(written('compare.json') ?? new TextEncoder().encode('[]')));
  const summaries = Array.isArray(runs) ? runs : [];
  page.say(verdict);
  const report = written('report.html');
  const percent = (/** @type {number | undefined} */ ratio) => (ratio === undefined || ratio === null ? '-' : (100 * ratio).toFixed(2));
  replace(place, h('section', { class: 'card answer' }, h('h2', { class: 'verdict' }, verdict), h('p', {}, `${counted(chosen.policies.length, 'policy', 'policies')} in ${span(answer.ms / 1000)}`)),
    card('Policies', summaries.length > 0 && summaries[0].acceptance ? table('One row a policy', [
      { title: 'Policy', of: (row) => row.policy, order: (row) => row.policy },
      { title: 'GPUs accepted %', number: true, of: (row) => percent(row.acceptance.accepted_gpu_ratio), order: (row) => row.acceptance.accepted_gpu_ratio },
      { title: 'Served %', number: true, of: (row) => percent(row.gpu.served_ratio), order: (row) => row.gpu.served_ratio },
      { title: 'Allocation %', number: true, of: (row) => percent(row.gpu.allocation_ratio), order: (row) => row.gpu.allocation_ratio },
      { title: 'Placed', number: true, of: (row) => row.pods.placed, order: (row) => row.pods.placed },
      { title: 'Failed', number: true, of: (row) => row.pods.failed, order: (row) => row.pods.failed },
    ], summaries) : null, h('details', { open: summaries.length === 0 }, h('summary', {}, 'What it prints'), h('pre', { class: 'command output', tabIndex: 0, role: 'region', 'aria-label': 'Output' }, answer.stdout)),
    report && h('div', { class: 'buttons' }, button('Save the report', () => save('report.html', /** @type {any} */ (report), 'text/html')))));
}
