// @ts-check
// Defragment: which pods move so that a pod fits, or so that GPUs or nodes become empty.
import { button, by_id, card, choice, h, replace, table } from './dom.js';
import { about } from './state.js';
import { counted, words_of_no_plan } from './words.js';

/** @typedef {import('./app.js').Page} Page */

/** @param {Page} page */
export function command(page) {
  const { goal, goal_pod, moves } = page.state;
  return ['plan', ...about(page.state), ...(goal === 'pod' ? ['--pod', goal_pod] : ['--consolidate', goal]),
    ...(moves === 3 ? [] : ['--moves', String(moves)])];
}

/** @param {Page} page @param {Element} panel */
export async function draw(page, panel) {
  const { state } = page;
  const all = JSON.parse((await page.ask('waiting', ['why', ...about(state), '--json'])).stdout);
  const waiting = all.groups.flatMap((/** @type {any} */ group) => group.pods);
  // Moves make room for a pod whose GPUs are free, but scattered.
  const first = ['scattered', 'all used', 'host full'].map((verdict) => all.groups.find((/** @type {any} */ group) => group.verdict === verdict)).find(Boolean) ?? all.groups[0];
  if (!waiting.includes(state.goal_pod)) state.goal_pod = first?.pods[0] ?? '';
  if (state.goal === 'pod' && waiting.length === 0) state.goal = 'devices';
  const answer = h('div', {});
  const redraw = () => page.redraw();
  replace(panel, card('For', h('div', { class: 'controls' },
    choice('goal', 'Make room for', [...(waiting.length ? [/** @type {[string, string]} */ (['pod', 'a pod that waits'])] : []), ['devices', 'empty GPUs'], ['nodes', 'empty nodes']],
      state.goal, (goal) => { state.goal = /** @type {typeof state.goal} */ (goal); redraw(); }),
    state.goal === 'pod' && choice('goal-pod', 'Pod', waiting.slice(0, 2000), state.goal_pod, (pod) => { state.goal_pod = pod; redraw(); }),
    h('label', { class: 'field' }, h('span', {}, 'Moves, at most'), h('input', {
      type: 'number', id: 'moves', min: 0, max: 1000, value: state.moves,
      onchange: () => { state.moves = Math.min(Math.max(Math.round(Number(by_id('moves').value)) || 0, 0), 1000); redraw(); },
    })))), answer, page.terminal(command(page)));
  await page.answer_in(answer, () => draw_plan(page, answer));
}

/** @param {Page} page @param {Element} place */
async function draw_plan(page, place) {
  const plan = JSON.parse((await page.ask('plan', [...command(page), '--json'])).stdout);
  const sentence = plan.emptied ? emptied_words(plan) : room_words(plan, page.state.moves);
  page.say(sentence);
  replace(place, h('section', { class: 'card answer' }, h('h1', {}, sentence),
    plan.emptied && h('p', {}, in_use_words(plan.emptied))),
  plan.moves.length > 0 && moves_card(plan),
  page.notes([...plan.not_evictable.map((/** @type {any} */ entry) => `${entry.pod ?? entry} stays`),
    ...plan.not_made_again.map((/** @type {any} */ { pod, why }) => `${pod} stays, as it would not be made again: ${why}`),
    ...plan.kept_by_rules.map((/** @type {string} */ pod) => `${pod} stays, as rules about other pods look at it`), ...plan.not_considered, ...plan.warnings]));
}

/** @param {any} plan @param {number} most */
function room_words({ pod, found, moves, cost, where, reason, moves_ruled_out }, most) {
  if (moves.length > 0) return `${counted(moves.length, 'move')}, ${cost.downtime_device_s.toFixed(1)} GPU·s down; then ${pod} fits on ${where.node}.`;
  return found ? `Nothing has to move for ${pod}.` : `No plan for ${pod}: ${words_of_no_plan({ reason, moves_ruled_out }, most)}.`;
}

/** @param {any} plan */
function emptied_words({ emptied, moves, cost, movable_pods }) {
  if (movable_pods === 0) return 'Nothing to move: no pod may.';
  const down = moves.length > 0 ? `, ${cost.downtime_device_s.toFixed(1)} GPU·s down` : '';
  return `${counted(emptied.count, emptied.unit)} can be emptied by ${counted(moves.length, 'move')}, of ${counted(movable_pods, 'pod')} that may move${down}.`;
}

/** @param {any} emptied */
const in_use_words = ({ unit, count, used, used_min }) => `${used - count} of ${counted(used, unit)} in use stay so${used_min === null ? '' : `; at least ${used_min} do`}.`;

/** @param {any} plan */
function moves_card(plan) {
  let step = 0;
  const place = (/** @type {any} */ where, /** @type {string} */ pod, /** @type {boolean} */ is_here) => h('span', { class: 'place' }, where.node,
    h('span', { class: is_here ? 'pod' : 'pod gone' }, is_here ? pod : parts_of(where)));
  const picture = h('div', { class: 'steps' });
  const says = h('p', { class: 'note', 'aria-live': 'polite' });
  const draw_step = () => {
    replace(picture, plan.moves.map((/** @type {any} */ move, /** @type {number} */ i) => h('div', { class: i < step ? 'step done' : i === step ? 'step now' : 'step' },
      place(move.from, move.pod, i >= step), h('span', { 'aria-hidden': 'true' }, '→'), place(move.to, move.pod, i < step))));
    const last = plan.where && step === plan.moves.length;
    says.textContent = last ? `Then ${plan.pod} goes to ${plan.where.node}.`
      : step === plan.moves.length ? 'All moves are done.' : `Step ${step + 1} of ${plan.moves.length}: ${plan.moves[step].pod}, ${plan.moves[step].from.node} to ${plan.moves[step].to.node}.`;
  };
  const go = (/** @type {number} */ by) => { step = Math.min(Math.max(step + by, 0), plan.moves.length); draw_step(); };
  draw_step();
  return card('Moves', table('In this order', [
    { title: 'Pod', of: (move) => move.pod, order: (move) => move.pod },
    { title: 'From', of: (move) => `${move.from.node}: ${parts_of(move.from)}`, order: (move) => move.from.node },
    { title: 'To', of: (move) => `${move.to.node}: ${parts_of(move.to)}`, order: (move) => move.to.node },
    { title: 'GPU·s down', number: true, of: (move) => move.downtime_device_s.toFixed(1), order: (move) => move.downtime_device_s },
  ], plan.moves, { most: 50 }), says, picture, h('div', { class: 'buttons' },
    button('Step back', () => go(-1)), button('Step forward', () => go(1)), button('Play', () => play(go, plan.moves.length))));
}

/** @param {(by: number) => void} go @param {number} steps */
function play(go, steps) {
  go(-steps);
  const pause = matchMedia('(prefers-reduced-motion: reduce)').matches ? 0 : Math.max(150, 2000 / steps);
  if (pause === 0) {
    go(steps);
    return;
  }
  let left = steps;
  const timer = setInterval(() => { go(1); if (--left === 0) clearInterval(timer); }, pause);
}

/** "GPU 4, 5" or the words of parts. @param {any} place */
function parts_of(place) {
  const whole = place.shares.every((/** @type {any} */ share) => share.kind === 'whole_device');
  const devices = place.shares.map((/** @type {any} */ share) => (whole ? share.device : `${share.device} (${share.words})`));
  return 'GPU ' + devices.join(', ');
}
