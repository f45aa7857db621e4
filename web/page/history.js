// @ts-check
// What another system has accounted: a workload to replay, and when the cluster is full.
import { by_id, card, choice, h, table } from './dom.js';
import { about } from './state.js';
import { unwrapped } from './words.js';

/** @typedef {import('./app.js').Page} Page */

const of_use = 'used';
/** @type {[string, string][]} */
const sources = [['sacct', 'Slurm: what sacct -P prints'], ['prometheus', 'Prometheus: answers to range queries'], ['audit', 'audit logs of an API server'],
  ['kueue', 'Workloads of Kueue'], [of_use, 'a table of GPUs in use: time,used']];
const queues = { sacct: ['partition', 'account', 'user', 'qos', 'none'], others: ['namespace', 'owner', 'queue', 'none'] };
const folder = 'history';

/** Of a source the words after --queue, the first of which is what it does without. @param {string} source */
const queues_of = (source) => (source === 'sacct' ? queues.sacct : queues.others);

/** @param {Page} page */
export function import_command({ state: { history } }) {
  const { source, records, queue, skips } = history;
  return ['import', source, ...records, ...(queue ? ['--queue', queue] : []), ...(skips ? ['--skip-bad-rows'] : []), '--out', folder];
}

/** @param {Page} page */
export const forecast_command = ({ state }) => ['forecast', ...about(state), '--history', state.history.used];

/** The files of the replay that `import` writes. */
export const workload = ['--classes', `${folder}/classes.json`, '--pods', `${folder}/arrivals.csv`];

/** @param {Page} page */
export const has_workload = ({ state: { history } }) => history.imported !== '';

/** @param {Page} page */
export async function draw_history(page) {
  const { history } = page.state;
  const again = () => page.redraw();
  const set = (/** @type {Partial<typeof history>} */ changes) => { Object.assign(history, changes); again(); };
  const is_table = history.source === of_use;
  const read = async () => {
    const names = [];
    for (const file of by_id('records').files) names.push(await page.add_file(file));
    if (names.length > 0) set(is_table ? { used: names[0], records: [], imported: '' } : { records: names });
  };
  const imported = h('div', {});
  if (history.records.length > 0) await page.answer_in(imported, () => draw_import(page, imported));
  const forecast = h('div', {});
  if (history.used) await page.answer_in(forecast, () => draw_forecast(page, forecast));
  return card('History', h('p', { class: 'hint' }, 'What was accounted: as a workload for the replay, and for the day on which the cluster is full.'),
    h('div', { class: 'controls' },
      choice('records-of', 'Records of', sources, history.source, (source) => set({ source, records: [], queue: '', imported: '', used: '' })),
      h('label', { class: 'field' }, h('span', {}, is_table ? 'Table' : 'Records'), h('input', {
        type: 'file', id: 'records', multiple: !is_table && history.source !== 'sacct', onchange: () => { read().catch(page.fail); },
      }), h('span', {}, (is_table ? [history.used] : history.records).join(', '))),
      !is_table && choice('queue', 'Queue of a job', queues_of(history.source), history.queue || queues_of(history.source)[0],
        (queue) => set({ queue: queue === queues_of(history.source)[0] ? '' : queue })),
      !is_table && h('label', { class: 'tick' }, h('input', { type: 'checkbox', id: 'skips', checked: history.skips, onchange: () => set({ skips: by_id('skips').checked }) }), 'skip rows that cannot be read')),
    imported, forecast);
}

/** @param {Page} page @param {Element} place */
async function draw_import(page, place) {
  const { history } = page.state;
  const args = import_command(page);
  const { imported } = history;
  Object.assign(history, { imported: '', used: '' });
  const { stdout, written } = await page.ask('import', args);
  // Files that are put anew make answers about them be forgotten.
  if (imported !== args.join(' ')) for (const [name, bytes] of written) page.put_file(name, /** @type {any} */ (bytes));
  Object.assign(history, { imported: args.join(' '), used: `${folder}/used.csv` });
  const { classes } = JSON.parse(new TextDecoder().decode(written.get(`${folder}/import.json`)));
  const hours = (/** @type {any} */ row) => (row.gpu_seconds / 3600).toFixed(2);
  const lines = stdout.split('\n');
  place.append(h('div', { class: 'inner' }, h('h3', { id: 'imported' }, lines[0]), lines[1] && h('p', { class: 'note' }, lines[1]),
    table('Classes of jobs', [
      { title: 'Class', of: (row) => row.name, order: (row) => row.name },
      { title: 'Jobs', number: true, of: (row) => row.jobs, order: (row) => row.jobs },
      { title: 'Pods', number: true, of: (row) => row.pods, order: (row) => row.pods },
      { title: 'GPU-hours', number: true, of: hours, order: (row) => row.gpu_seconds },
      { title: 'Mean wait s', number: true, of: (row) => Math.round(row.wait_mean_s), order: (row) => row.wait_mean_s },
    ], classes, { most: 20 })), page.terminal(args, { prints: true, of: 'import' }));
}

/** @param {Page} page @param {Element} place */
async function draw_forecast(page, place) {
  const args = forecast_command(page);
  const { stdout } = await page.ask('forecast', args);
  const { full, trend, warnings } = JSON.parse((await page.ask('forecast in full', [...args, '--json'])).stdout);
  const [sentence, ...others] = unwrapped(stdout.trimEnd()).split('\n');
  const on = (/** @type {any} */ row) => row.about ?? { full: 'today', passed: 'passed', never: 'never' }[/** @type {string} */ (row.state)] ?? '-';
  place.append(h('div', { class: 'inner' }, h('h3', { id: 'full' }, sentence), others.map((line) => h('p', { class: 'note' }, line)),
    table(`${trend.points} rows, ${trend.first} to ${trend.last}`, [
      { title: 'Full', of: (row) => (row.nodes_back.length > 0 ? `with ${row.nodes_back.slice(0, 5).join(', ')}${row.nodes_back.length > 5 ? ', …' : ''} back` : 'in service') },
      { title: 'GPUs', number: true, of: (row) => (row.milli / 1000).toFixed(1) },
      { title: 'About', of: on }, { title: 'From', of: (row) => row.from ?? '-' }, { title: 'To', of: (row) => (row.or_never ? 'never' : row.to ?? '-') },
    ], full), page.notes(warnings)), page.terminal(args, { prints: true, of: 'forecast' }));
}
