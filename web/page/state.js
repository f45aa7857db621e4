// @ts-check
// What the reader has chosen. Choices are in the address after '#', but for names of the cluster; nothing is stored.

/**
 * @typedef {{ flag: string, value: string }} Change a change of a what-if, as the command line has it
 * @typedef {{
 *   cluster: string[], settings: string[], by: string, shape: string, all: boolean,
 *   pod: string, changes: Change[], policy: string, anew: boolean, undone: Change[][],
 *   goal: 'pod' | 'devices' | 'nodes', goal_pod: string, moves: number,
 * }} State
 */

/** @returns {State} */
export const fresh = () => ({
  cluster: [], settings: [], by: 'pool', shape: '', all: false, pod: '', changes: [], policy: 'bid_price', anew: false, undone: [],
  goal: 'pod', goal_pod: '', moves: 3,
});

/** What every command of a cluster begins with. @param {State} state */
export const about = (state) => [...state.cluster, ...state.settings.flatMap((name) => ['--config', name])];

/** @param {State} state @param {Change} change */
export function add(state, change) {
  state.undone.push([...state.changes]);
  // Nodes that are added have one number for each kind.
  const kind_of = (/** @type {Change} */ entry) => entry.flag === '--add-nodes' && entry.value.slice(0, entry.value.lastIndexOf('='));
  const same = state.changes.findIndex((entry) => kind_of(entry) && kind_of(entry) === kind_of(change));
  if (same >= 0) state.changes[same] = change;
  else if (!state.changes.some((entry) => entry.flag === change.flag && entry.value === change.value)) state.changes.push(change);
}

/** @param {State} state @param {number} position */
export function remove(state, position) {
  state.undone.push([...state.changes]);
  state.changes.splice(position, 1);
}

/** @param {State} state */
export function undo(state) {
  const before = state.undone.pop();
  if (before) state.changes = before;
}

/** The arguments of the what-if. @param {State} state */
export const whatif_arguments = (state) => [
  'whatif', ...about(state), ...state.changes.flatMap(({ flag, value }) => (value === '' ? [flag] : [flag, value])),
  ...(state.policy === 'bid_price' ? [] : ['--policy', state.policy]), ...(state.anew ? ['--anew'] : []),
];

/** A change in the words of the page. @param {Change} change */
export function words_of({ flag, value }) {
  const words = {
    '--uncordon': `${value} takes pods again`, '--drain': `${value} drained`, '--fail': `${value} fails`,
    '--set-mode': value.replace('=mig:', ' cut ').replace('=', ' as '), '--add-nodes': value.replace(/^(.*)=(\d+)$/, (_, kind, number) => `${number} ${number === '1' ? 'node' : 'nodes'} like ${kind}`),
    '--add-pods': `pods of ${value}`,
  };
  return words[/** @type {keyof typeof words} */ (flag)] ?? `${flag} ${value}`;
}
