// @ts-check
// Simulate: a workload is replayed under several policies, and the report can be saved.
import { button, by_id, card, choice, h, replace, save, table } from './dom.js';
import { draw_history, has_workload, workload as imported_workload } from './history.js';
import { unpacked } from './reading.js';
import { about } from './state.js';
import { counted, span } from './words.js';

/** @typedef {import('./app.js').Page} Page */

/** @type {[string, string][]} */
const formats = [['openb', 'openb: lists of nodes and pods, CSV'], ['kubernetes', 'Kubernetes objects and a table of arrivals'], ['model', 'a model of nodes and pods, JSON'],
  ['philly', 'Philly, CSV'], ['dlrm', 'DLRM, CSV'], ['swf', 'SWF']];
/** @type {[string, string][]} */
const sources = [['mix', "this cluster's mix"], ['history', 'the history below'], ['quickstart', 'quickstart, shipped with vgpualloc'], ['files', 'files of yours']];
/** @type {[string, string][]} */
const begins = [['start', 'with this cluster as it is'], ['empty', 'with its nodes, empty']];
/** @type {[string, string][]} */
const disciplines = [['try_once', 'are tried once'], ['fifo', 'queue: fifo'], ['easy', 'queue: easy'], ['conservative', 'queue: conservative'], ['priority', 'queue: priority'], ['gang', 'queue: gang']];

/** What the reader has chosen here; it outlives the tab. */
const chosen = {
  source: 'mix', begin: 'start', discipline: '', format: 'openb', nodes: '', pods: '', classes: '', policies: ['bid_price', 'best_fit', 'fgd'], load: 0, seeds: 1, departures: false,
};
/** Pods of the cluster that no class can be made of, and why. @type {{ state: object | null, pods: Map<string, string> }} */
let left_out = { state: null, pods: new Map() };
/** With the state whose cluster it is about. @type {{ args: string, state: object, answer: import('./ask.js').Answer } | null} */
let last = null;

// Files that the page writes of the cluster.
const nodes_alone = 'nodes-of-the-cluster.json', in_one = 'cluster-in-one.json';
const mix = ['--classes', 'mix-classes.json', '--pods', 'mix-arrivals.csv'];

const is_of_cluster = () => chosen.source === 'mix' || chosen.source === 'history';
/** Jobs that were accounted have waited; of a mix it is asked what finds a place. */
const discipline = () => chosen.discipline || (chosen.source === 'history' ? 'easy' : 'try_once');
/** Whether the arrivals can be moved. */
const has_load = () => (is_of_cluster() ? chosen.begin === 'empty' : chosen.departures);

/** Files that the format needs and that are not chosen yet. */
function words_of_missing() {
  const parts = /** @type {('nodes' | 'pods' | 'classes')[]} */ (['nodes', ...(chosen.format === 'model' ? [] : ['pods']), ...(chosen.format === 'kubernetes' ? ['classes'] : [])]);
  const missing = parts.filter((part) => !chosen[part]);
  return missing.length > 0 ? `Choose the files: ${missing.join(', ')}.` : '';
}

/** @param {Page} page @returns {string[]} */
function workload({ state }) {
  if (chosen.source === 'quickstart') return ['--nodes', 'nodes.csv', '--pods', 'pods.csv'];
  const file = (/** @type {string} */ flag, /** @type {string} */ name) => (name ? [flag, name] : []);
  if (!is_of_cluster()) {
    return [...(chosen.format === 'openb' ? [] : ['--format', chosen.format]), ...file('--nodes', chosen.nodes), ...file('--pods', chosen.pods),
      ...file('--classes', chosen.classes), ...(chosen.departures ? ['--departures'] : [])];
  }
  const cluster = state.cluster.length === 1 ? state.cluster[0] : in_one;
  return ['--format', 'kubernetes', ...(chosen.begin === 'start' ? ['--start', cluster] : ['--nodes', nodes_alone]), ...(chosen.source === 'mix' ? mix : imported_workload),
    ...state.settings.flatMap((name) => ['--config', name]), ...(discipline() === 'try_once' ? [] : ['--discipline', discipline()])];
}

const heading = 'Replay a workload under several policies';

/** @param {Page} page */
export const command = (page) => ['compare', ...workload(page), ...chosen.policies.flatMap((policy) => ['--policy', policy]),
  ...(has_load() && chosen.load > 0 ? ['--offered-load', String(chosen.load)] : []),
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
  const pick = (/** @type {'source' | 'begin' | 'discipline' | 'format'} */ part, /** @type {string} */ label, /** @type {[string, string][]} */ options, value = chosen[part]) =>
    choice(part, label, options, value, (word) => { chosen[part] = word; again(); });
  const own = chosen.source === 'files' && [pick('format', 'Format', formats),
    file_field('nodes'), chosen.format !== 'model' && file_field('pods'), chosen.format === 'kubernetes' && file_field('classes')];
  const history = await draw_history(page);
  page.say(heading);
  const lacks = chosen.policies.length < 2 ? 'Choose two policies or more.'
    : chosen.source === 'history' && !has_workload(page) ? 'Choose records under History.'
      : chosen.source === 'files' ? words_of_missing() : '';
  replace(panel, h('section', { class: 'card answer' }, h('h1', {}, heading)), card('What', h('div', { class: 'controls' },
    pick('source', 'Workload', sources), is_of_cluster() && [pick('begin', 'Begins', begins), pick('discipline', 'Pods that find no place', disciplines, discipline())], own),
  h('fieldset', { class: 'controls' }, h('legend', {}, 'policies'), page.policies.map((policy) => h('label', { class: 'tick' }, h('input', {
    type: 'checkbox', id: 'with-' + policy, checked: chosen.policies.includes(policy), onchange: () => {
      chosen.policies = page.policies.filter((name) => by_id('with-' + name).checked);
      again();
    },
  }), policy))),
  h('div', { class: 'controls' }, !is_of_cluster() && h('label', { class: 'tick' }, h('input', {
    type: 'checkbox', id: 'departures', checked: chosen.departures, onchange: () => { chosen.departures = by_id('departures').checked; again(); },
  }), 'pods leave, as the trace says'), has_load() && number('load', 'load (0: as it is)', { min: 0, max: 10, step: 0.05 }), number('seeds', 'seeds', { min: 1, max: 50 }),
  button('Run', () => page.answer_in(answer, () => run(page, answer)).catch(page.fail), { id: 'run', disabled: lacks !== '' })),
  lacks && h('p', { class: 'hint' }, lacks),
  chosen.source === 'mix' && h('p', { class: 'hint' }, 'Pods like those of the cluster: drawn by how many there are of each, they stay as long as those that run have run on average, and as many come as leave.')),
  answer, page.terminal(command(page), { prints: false }), history);
  if (last?.args === command(page).join(' ') && last.state === page.state) draw_answer(page, answer, last.answer);
}

/**
 * The answer. A pod that cannot be read does not spoil the mix: it is left out. @param {Page} page @param {string[]} args
 * @returns {Promise<import('./ask.js').Answer>}
 */
async function answer_to(page, args) {
  if (left_out.state !== page.state) left_out = { state: page.state, pods: new Map() };
  await write_files(page);
  try {
    return await page.ask('run', args);
  } catch (failure) {
    const [, pod, why] = (failure instanceof Error && failure.message.match(/^mix-classes\.json:\d+: pod (\S+): (.*)/)) || [];
    if (!pod || left_out.pods.has(pod)) throw failure;
    left_out.pods.set(pod, why);
    page.forget_file(mix[1]); // so that it is written again
    return answer_to(page, args);
  }
}

/** Writes the files of the cluster that the command names. @param {Page} page */
async function write_files(page) {
  if (chosen.source === 'quickstart') {
    const samples = JSON.parse(by_id('samples').textContent);
    for (const name of ['nodes.csv', 'pods.csv']) page.put_file(name, await unpacked(samples[name]));
  }
  if (!is_of_cluster()) return;
  const own = [...(chosen.source === 'mix' ? [mix[1], mix[3]] : []), ...(chosen.begin === 'empty' ? [nodes_alone] : [])];
  if (own.some((name) => !page.own_file(name))) {
    const { classes, arrivals, nodes } = await page.look('mix', { without: [...left_out.pods.keys()] });
    page.put_file(mix[1], classes);
    page.put_file(mix[3], arrivals);
    page.put_file(nodes_alone, nodes);
  }
  if (chosen.begin === 'start' && page.state.cluster.length > 1 && !page.own_file(in_one)) {
    const { written } = await page.ask('in one', ['snapshot', ...about(page.state), '--out', in_one]);
    page.put_file(in_one, /** @type {any} */ (written.get(in_one) ?? ''));
  }
}

/** @param {Page} page @param {Element} place */
async function run(page, place) {
  const args = command(page);
  const answer = await page.computing(() => answer_to(page, args));
  last = { args: args.join(' '), state: page.state, answer };
  draw_answer(page, place, answer);
}

/** Pods that never end leave less to those that come. @param {any[]} summaries */
function words_of_start(summaries) {
  const { ran_before = 0, ran_before_ended: ended } = summaries[0]?.pods ?? {};
  if (ran_before === 0) return '';
  return `${counted(ran_before, 'pod')} ran at the beginning; ${ended === ran_before ? 'all' : ended === 0 ? 'none' : ended} of them ended.`;
}

/** @param {Page} page @param {Element} place @param {import('./ask.js').Answer} answer */
function draw_answer(page, place, answer) {
  const lines = answer.stdout.trimEnd().split('\n');
  const verdict = lines.findLast((line) => line !== '' && !/^(inputs|report|written|warning|offered load)/.test(line)) ?? '';
  const written = (/** @type {string} */ name) => answer.written.get(name) ?? answer.written.get('out/' + name);
  const runs = JSON.parse(new TextDecoder().decode(written('compare.json') ?? new TextEncoder().encode('[]')));
  const summaries = Array.isArray(runs) ? runs : [];
  page.say(verdict);
  const report = written('report.html');
  const own = command(page).filter((name) => page.own_file(name) && !/^(nodes|pods)\.csv$|\//.test(name)); // those of an import are written by its command
  const warnings = answer.stderr.split('\n').filter((line) => line.startsWith('vgpusim: warning: ')).map((line) => line.replace('vgpusim: warning: ', ''));
  const percent = (/** @type {number | undefined} */ ratio) => (ratio === undefined || ratio === null ? '-' : (100 * ratio).toFixed(2));
  replace(place, h('section', { class: 'card answer' }, h('h2', { class: 'verdict' }, verdict), h('p', {}, `${counted(chosen.policies.length, 'policy', 'policies')} in ${span(answer.ms / 1000)}`),
    h('p', {}, words_of_start(summaries))),
    card('Policies', summaries.length > 0 && summaries[0].acceptance ? table('One row a policy', [
      { title: 'Policy', of: (row) => row.policy, order: (row) => row.policy },
      { title: 'GPUs accepted %', number: true, of: (row) => percent(row.acceptance.accepted_gpu_ratio), order: (row) => row.acceptance.accepted_gpu_ratio },
      { title: 'Served %', number: true, of: (row) => percent(row.gpu.served_ratio), order: (row) => row.gpu.served_ratio },
      { title: 'Mean allocation %', number: true, of: (row) => percent(row.gpu.allocation_mean_ratio), order: (row) => row.gpu.allocation_mean_ratio },
      { title: 'Placed', number: true, of: (row) => row.pods.placed, order: (row) => row.pods.placed },
      { title: 'Failed', number: true, of: (row) => row.pods.failed, order: (row) => row.pods.failed },
      ...(summaries[0].pods.waiting === undefined ? [] : [{ title: 'Waiting', number: true, of: (/** @type {any} */ row) => row.pods.waiting, order: (/** @type {any} */ row) => row.pods.waiting }]),
    ], summaries) : null, h('details', { open: summaries.length === 0 }, h('summary', {}, 'What it prints'), h('pre', { class: 'command output', tabIndex: 0, role: 'region', 'aria-label': 'Output of the run' }, answer.stdout)),
    h('div', { class: 'buttons' }, report && button('Save the report', () => save('report.html', /** @type {any} */ (report), 'text/html')),
      own.map((name) => button(`Save ${name}`, () => save(name, page.own_file(name) ?? '', 'text/plain'))))),
    report && report_in_place(new TextDecoder().decode(report)), page.notes([...(chosen.source === 'mix' ? [...left_out.pods].map(([pod, why]) => `pods like ${pod} are left out: ${why}`) : []), ...warnings]));
}

/** The report, in a frame of its own: it may do no more than the page, and nothing to it. @param {string} report */
function report_in_place(report) {
  const details = h('details', { class: 'card', id: 'report', ontoggle: () => {
    if (details.open && !details.querySelector('iframe')) details.append(h('iframe', { srcdoc: report, sandbox: 'allow-scripts', title: 'Report', class: 'report' }));
  } }, h('summary', {}, 'The report: curves, every GPU over time, waits'));
  return details;
}
