// @ts-check
// Why: the pods that wait by verdict, and of one of them every node's answer and what would have to change.
import { button, card, h, replace, table } from './dom.js';
import { about, add, put_changes } from './state.js';
import { arguments_of, counted, gpus, moment } from './words.js';

/** @typedef {import('./app.js').Page} Page */

/** @param {Page} page */
export const command = (page) => ['why', ...about(page.state), ...(page.state.pod ? ['--pod', page.state.pod] : [])];

/** @param {Page} page @param {Element} panel */
export async function draw(page, panel) {
  const all = JSON.parse((await page.ask('why', ['why', ...about(page.state), '--json'])).stdout);
  const list = h('div', { class: 'waiting' });
  const one = h('div', { class: 'one', id: 'one' });
  const sentence = waiting(all);
  const pick = (/** @type {string} */ pod) => { page.state.pod = pod; page.go('why', 'verdict'); };
  replace(list, all.groups.map((/** @type {any} */ group) => h('section', { class: 'group' },
    h('h3', {}, heading_of(group)),
    h('p', { class: 'hint' }, `${gpus(group.asked)} GPUs, since ${moment(group.since)}: ${group.because}`),
    many(group.pods, (pod) => button(pod, () => pick(pod), {
      class: 'link', id: 'pod-' + pod, 'aria-current': pod === page.state.pod ? 'true' : null,
    })))),
  all.makes_no_pods.map((/** @type {any} */ owner) => h('section', { class: 'group' },
    h('h3', {}, `${owner.verdict} · ${owner.pods === 0 ? 'no pods' : 'lacks ' + counted(owner.lacks, 'pod', 'pods')}`),
    h('p', { class: 'hint' }, owner.because), h('ul', { class: 'plain' },
      h('li', {}, button(owner.name, () => pick(owner.name), { class: 'link', id: 'pod-' + owner.name }), ` (${owner.kind})`)))));
  const notes = [...all.not_looked_at, ...all.warnings];
  replace(panel, h('section', { class: 'card answer' }, h('h1', {}, sentence)),
    h('div', { class: page.state.pod ? 'two chosen' : 'two' }, card('Waiting', list, page.notes(notes)), one),
    page.terminal(command(page)));
  if (!page.state.pod) {
    page.say(sentence);
    replace(one, all.pods_wait > 0 && h('p', { class: 'hint' }, page.only_node ? `Choose a pod: the answer of ${page.only_node} is then open.` : 'Choose a pod: every node answers, with numbers.'));
    return;
  }
  await page.answer_in(one, () => draw_pod(page, one));
}

/** That pods fit is looked at one by one. @param {any} group */
const heading_of = ({ verdict, pods }) => `${verdict} · ${pods.length}${verdict === 'fits now' && pods.length > 1 ? ', each alone' : ''}`;

/** As `vgpusim why` says it: that pods fit is looked at one by one. @param {any} all */
function waiting(all) {
  const fit = all.pods_fit_now === 0 ? 'none fits now' : all.pods_fit_now === 1 ? '1 fits now' : `${all.pods_fit_now} fit now, each alone`;
  const unread = all.pods_wait_unread > 0 ? ` ${counted(all.pods_wait_unread, 'pod waits', 'pods wait')} for resources that are not read.` : '';
  if (all.pods_wait === 0) return unread ? 'Nothing waits for GPUs.' + unread : 'Nothing waits.';
  return `${counted(all.pods_wait, 'pod waits', 'pods wait')}, ${fit}.${unread}`;
}

/** What there is to say of one pod or owner. @param {any} one */
function sentence_of(one) {
  if (one.owner) {
    const more = one.not_made ? ` ${one.not_made.pods} more ${one.not_made.pods === 1 ? 'is' : 'are'} not made: ${one.not_made.because}.` : '';
    return `${one.owner} (${one.kind}): ${counted(one.running.pods.length, 'pod runs', 'pods run')}, ${one.pods_wait || 'none'} ${one.pods_wait > 1 ? 'wait' : 'waits'}.${more}`;
  }
  if (one.runs_on) return `${one.pod} runs on ${one.runs_on}.`;
  return one.verdict ? `${one.pod} waits, ${one.verdict}: ${one.because}.` : `${one.pod} ${one.because}.`;
}

/** The first of many, and a button for the others. @param {string[]} names @param {(name: string) => any} entry */
function many(names, entry) {
  const list = h('ul', { class: 'plain' });
  let shown = 20;
  const fill = () => replace(list, names.slice(0, shown).map((name) => h('li', {}, entry(name))),
    names.length > shown && h('li', {}, button(`and ${names.length - shown} more`, () => { shown += 100; fill(); }, { class: 'small' })));
  fill();
  return list;
}

/** @param {Page} page @param {Element} place */
async function draw_pod(page, place) {
  const pod = JSON.parse((await page.ask('why one', [...command(page), '--json'])).stdout);
  const sentence = sentence_of(pod);
  page.say(sentence);
  const asks = Object.entries(pod.asks ?? {}).filter(([, amount]) => Number(amount) !== 0).map(([what, amount]) => (what === 'cpu_milli' ? `cpu ${Number(amount) / 1000}`
    : what === 'memory_mib' ? `memory ${Math.round(Number(amount) / 102.4) / 10} GiB` : `${what} ${amount}`)).join(', ');
  const close = () => {
    const opener = 'pod-' + page.state.pod;
    page.state.pod = '';
    page.go('why', opener);
  };
  place.addEventListener('keydown', (event) => { if (/** @type {KeyboardEvent} */ (event).key === 'Escape') close(); });
  replace(place, h('div', { class: 'card' },
    button('‹ Waiting', close, { class: 'back' }),
    h('h2', { id: 'verdict', tabIndex: -1 }, sentence), asks && h('p', { class: 'note' }, `asks: ${asks}; priority ${pod.priority}`)),
  changes_card(page, pod),
  pod.reasons?.length > 0 && nodes_card(page, pod.reasons),
  pod.preempts && card('Preemption', h('p', { class: 'note' }, `kube-scheduler would preempt ${pod.preempts.pods.join(', ')} on ${pod.preempts.node}`)),
  pod.scheduler_words && card('kube-scheduler would say', h('p', { class: 'note' }, pod.scheduler_words)),
  page.notes([...pod.not_looked_at, ...pod.warnings]));
}

/** @param {Page} page @param {any} pod */
function changes_card(page, pod) {
  if (!pod.changes?.length) return null;
  return card('Would fit if', h('p', { class: 'hint' }, 'Each alone; each was tried.'), h('ul', { class: 'changes' },
    pod.changes.map((/** @type {any} */ change) => h('li', {}, h('span', {}, change.what + (change.then ? ': ' + change.then : '')),
      change.command && button(change.command.startsWith('vgpusim plan') ? 'Show the move' : 'Try it', () => follow(page, change.command))))));
}

/** Goes where the command of an answer is asked. @param {Page} page @param {string} command_text */
function follow(page, command_text) {
  const [name, ...rest] = arguments_of(command_text);
  if (name === 'plan') {
    page.state.goal = 'pod';
    page.state.goal_pod = page.state.pod;
    page.go('defragment');
    return;
  }
  put_changes(page.state, []);
  for (let i = 0; i < rest.length; ++i) {
    if (rest[i].startsWith('--') && rest[i] !== '--config') add(page.state, { flag: rest[i], value: rest[++i] ?? '' });
  }
  page.go('whatif');
}

const amounts = ['fits', 'host full', 'too few free'];

/** @param {Page} page @param {any[]} reasons */
function nodes_card(page, reasons) {
  /** @type {Map<string, { reason: string, words: string[], nodes: string[] }>} */
  const groups = new Map();
  for (const { node, reason, checks } of reasons) {
    const words = checks.filter((/** @type {any} */ check) => check.reason === reason || checks.length === 1).map((/** @type {any} */ check) => check.text).join(', ');
    // Amounts differ from node to node: those that are short of something are one row.
    const key = amounts.includes(reason) ? reason : reason + '\n' + words;
    const group = groups.get(key) ?? { reason, words: /** @type {string[]} */ ([]), nodes: /** @type {string[]} */ ([]) };
    group.nodes.push(node);
    if (words && !group.words.includes(words)) group.words.push(words);
    groups.set(key, group);
  }
  const only = page.only_node;
  page.only_node = '';
  const shown = only ? reasons.filter(({ node }) => node === only) : reasons;
  return card('All nodes',
    table('Nodes by reason', [
      { title: 'Nodes', number: true, of: (/** @type {any} */ row) => row.nodes.length, order: (row) => row.nodes.length },
      { title: 'Reason', of: (row) => row.reason, order: (row) => row.reason },
      { title: 'Free / asked', of: (row) => row.words.slice(0, 3).join('; ') + (row.words.length > 3 ? '; …' : '') },
      { title: 'Which', of: (row) => row.nodes.slice(0, 6).join(', ') + (row.nodes.length > 6 ? ` and ${row.nodes.length - 6} more` : '') },
    ], [...groups.values()], { most: 20 }),
    h('details', { open: Boolean(only) }, h('summary', {}, 'Node by node'), table('Every check of each node', [
      { title: 'Node', of: (row) => row.node, order: (row) => row.node },
      { title: 'Reason', of: (row) => row.reason, order: (row) => row.reason },
      { title: 'Checks', of: (row) => row.checks.map((/** @type {any} */ check) => check.text).join('; ') },
    ], shown)));
}
