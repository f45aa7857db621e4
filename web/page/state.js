// @ts-check
// What the reader has chosen. Choices are in the address after '#', but for names of the cluster; nothing is stored.

/**
 * @typedef {{ flag: string, value: string }} Change a change of a what-if, or a search in it, as the command line has it
 * @typedef {{
 *   cluster: string[], settings: string[], prices: string, by: string, who: string, shape: string, all: boolean, node: string, fullest: boolean, only_idle: boolean,
 *   pod: string, changes: Change[], undone: Change[][],
 *   helped: { pod: string, file: string } | null, goal: 'pod' | 'devices' | 'nodes', goal_pod: string, moves: number,
 *   history: { source: string, records: string[], queue: string, skips: boolean, imported: string, used: string },
 * }} State
 */

/** @returns {State} */
export const fresh = () => ({
  cluster: [], settings: [], prices: '', by: 'pool', who: 'namespace', shape: '', all: false, node: '', fullest: false, only_idle: false, pod: '', changes: [], undone: [], helped: null,
  goal: 'pod', goal_pod: '', moves: 3,
  history: { source: 'sacct', records: [], queue: '', skips: false, imported: '', used: '' },
});

/** What every command of a cluster begins with. @param {State} state */
export const about = (state) => [...state.cluster, ...state.settings.flatMap((name) => ['--config', name])];

/** Changes with the same text cannot both be there. @param {Change} change */
function key_of({ flag, value }) {
  if (flag === '--add-nodes') return `${flag} ${value.slice(0, value.lastIndexOf('='))}`; // one number for each kind of node
  if (flag === '--find-nodes' || flag === '--find-layout') return '--find';
  if (flag === '--policy' || flag === '--anew') return flag;
  return `${flag} ${value}`;
}

/** @param {State} state @param {Change} change */
export function add(state, change) {
  state.undone.push([...state.changes]);
  const same = state.changes.findIndex((entry) => key_of(entry) === key_of(change));
  if (same >= 0) state.changes[same] = change;
  else state.changes.push(change);
}

/** @param {State} state @param {number} position */
export function remove(state, position) {
  state.undone.push([...state.changes]);
  state.changes.splice(position, 1);
}

/** Other changes in the place of all that are there. @param {State} state @param {Change[]} changes */
export function put_changes(state, changes) {
  state.undone.push([...state.changes]);
  state.changes = changes;
}

/** @param {State} state */
export function undo(state) {
  const before = state.undone.pop();
  if (before) state.changes = before;
}

/** What the what-if searches for, or undefined. @param {State} state */
export const search_of = (state) => state.changes.find(({ flag }) => flag.startsWith('--find'));

/** The arguments of the what-if. @param {State} state */
export const whatif_arguments = (state) => [
  'whatif', ...about(state), ...state.changes.flatMap(({ flag, value }) => (value === '' ? [flag] : [flag, value])),
];

/** The pod that Idle added to find out what would help its shape, as long as it is among the changes. @param {State} state */
export const helped_pod = ({ helped, changes }) => (helped && changes.some(({ value }) => value === helped.file) ? helped.pod : '');

/** The arguments of the what-if whose answer is drawn. @param {State} state */
export const drawn_arguments = (state) => [...whatif_arguments(state), '--out', 'out'];

/** A change in the words of the page. @param {Change} change */
export function words_of({ flag, value }) {
  const words = {
    '--uncordon': `${value} takes pods again`, '--drain': `${value} drained`, '--fail': `${value} fails`,
    '--set-mode': value.replace('=mig:', ' cut ').replace('=', ' as '), '--add-nodes': value.replace(/^(.*)=(\d+)$/, (_, kind, number) => `${number} ${number === '1' ? 'node' : 'nodes'} like ${kind}`),
    '--add-pods': `pods of ${value}`, '--policy': `policy ${value}`, '--anew': 'all placed anew',
    '--find-nodes': `find nodes like ${value}`, '--find-layout': `find a layout for ${value}`,
  };
  return words[/** @type {keyof typeof words} */ (flag)] ?? `${flag} ${value}`;
}

/** How a list of changes marks this one. @param {Change} change */
export const mark_of = ({ flag }) => (flag.startsWith('--find') ? '?' : flag.startsWith('--add') ? '+' : '~');

/** Rows of the first table that every cluster has; a label would be a name of the cluster. */
export const rows_by = ['pool', 'kind', 'node', 'resource', 'namespace', 'queue', 'owner'];
/** Labels that say nothing of where a node is, or that are another for each node. */
const labels_of_others = /^([^/]*\.)?(nvidia\.com|hami\.io)\/|^beta\.kubernetes\.io\/|hostname$/;

/** Labels by which rows can be added up: those that group nodes, as a zone or a rack does. @param {Record<string, string>[]} labels of each node @returns {string[]} */
export function rows_by_labels(labels) {
  /** @type {Map<string, Set<string>>} */
  const values = new Map();
  for (const [label, value] of labels.flatMap(Object.entries)) values.set(label, (values.get(label) ?? new Set()).add(value));
  return [...values].filter(([label, { size }]) => label === zone || (size >= 2 && size <= 20 && size < labels.length && !labels_of_others.test(label) && !rows_by.includes(label)))
    .map(([label]) => label).sort((left, right) => (left === zone ? -1 : right === zone ? 1 : left < right ? -1 : 1));
}
const zone = 'topology.kubernetes.io/zone';

/** Whose pods are added up in Who uses it; the first is what `show` does. */
export const users_by = ['namespace', 'queue', 'owner'];
const goals = ['pod', 'devices', 'nodes'];

/** What stands in the address after '#': a tab and its choices, without names of the cluster. @param {string} tab @param {State} state */
export function address_of(tab, state) {
  const choices = {
    see: [state.by !== 'pool' && rows_by.includes(state.by) && `by=${state.by}`, state.who !== 'namespace' && `who=${state.who}`, state.all && 'all', state.fullest && 'fullest', state.only_idle && 'idle'],
    defragment: [state.goal !== 'pod' && `goal=${state.goal}`, state.moves !== 3 && `moves=${state.moves}`],
  };
  return [tab, ...(choices[/** @type {keyof typeof choices} */ (tab)] ?? []).filter(Boolean)].join('&');
}

/** The tab of an address, whose choices are put into the state. @param {string} address @param {State} state @returns {string} */
export function read_address(address, state) {
  const [tab, ...choices] = address.split('&');
  const chosen = new Map(choices.map((choice) => /** @type {[string, string]} */ (choice.split('='))));
  if (tab === 'see') {
    state.by = rows_by.find((word) => word === chosen.get('by')) ?? 'pool';
    state.who = users_by.find((word) => word === chosen.get('who')) ?? 'namespace';
    [state.all, state.fullest, state.only_idle] = [chosen.has('all'), chosen.has('fullest'), chosen.has('idle')];
  }
  if (tab === 'defragment') {
    state.goal = /** @type {State['goal']} */ (goals.find((goal) => goal === chosen.get('goal')) ?? 'pod');
    state.moves = Math.min(Math.max(Math.round(Number(chosen.get('moves') ?? 3)) || 0, 0), 1000);
  }
  return tab;
}
