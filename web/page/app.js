// @ts-check
// The page: files, tabs, and what all tabs have in common.
import { Asker, Dropped, Refused } from './ask.js';
import * as defragment from './defragment.js';
import { button, by_id, focus_heading, h, replace } from './dom.js';
import { listen_to_keys } from './keys.js';
import { pause, show_in_parts } from './parts.js';
import { computing, forget_stop } from './progress.js';
import { open_node } from './node.js';
import { cluster_of, listen_to_drops, open_files } from './opening.js';
import { most_bytes, read, with_own_names } from './reading.js';
import { save_as, save_menu } from './save.js';
import { search_field } from './search.js';
import * as see from './see.js';
import * as simulate from './simulate.js';
import { failure_card, file_chooser, start } from './start.js';
import { about, address_of, fresh, read_address, rows_by_labels } from './state.js';
import { terminal } from './terminal.js';
import * as whatif from './whatif.js';
import * as why from './why.js';
import { command_line, counted, span, words_of_refusal } from './words.js';

/** @typedef {ReturnType<typeof make_page>} Page */
/** @typedef {'see' | 'why' | 'whatif' | 'defragment' | 'simulate'} Tab */

/** @type {{ name: Tab, title: string, key: string, view: { draw: (page: any, panel: Element) => Promise<void>, command: (page: any) => string[] } }[]} */
const tabs = [{ name: 'see', title: 'See', key: 's', view: see }, { name: 'why', title: 'Why', key: 'w', view: why },
  { name: 'whatif', title: 'What if', key: 'i', view: whatif }, { name: 'defragment', title: 'Defragment', key: 'd', view: defragment },
  { name: 'simulate', title: 'Simulate', key: 'm', view: simulate }];

function make_page() {
  const asker = new Asker(by_id('worker').textContent, [...document.querySelectorAll('.module')].map((piece) => piece.textContent));
  /** @type {[string, Blob][]} */
  let files = [];
  /** @type {Tab} */
  let tab = 'see';
  /** @type {Promise<any[]> | null} */
  let nodes = null;
  /** What `show` says of the cluster of the files, and how long that took. @type {{ totals: any, seconds: number, with_nodes: number } | null} */
  let cluster = null;
  /** Files that there is no answer to: others can be added to them. @type {[string, Blob][]} */
  let refused = [];
  let waiting = -1;
  let drawing = 0;
  let openings = 0;
  let is_opening = false;
  let focus_next = '';
  const view = () => /** @type {typeof tabs[number]} */ (tabs.find((entry) => entry.name === tab)).view;
  /** Names of files that the page wrote. @type {Set<string>} */
  const own_names = new Set();
  const page = {
    state: fresh(),
    policies: ['bid_price', 'best_fit', 'binpack', 'spread', 'fgd', 'worst_fit', 'first_fit'],
    only_node: '',

    /** @param {string} topic @param {string[]} args */
    async ask(topic, args) {
      if (is_opening && topic !== 'open') throw new Dropped(); // the thread has other files than the answer that is drawn
      const answer = await asker.ask(topic, args);
      if (answer.code !== 0) throw new Refused(answer.stderr.replace(/^vgpusim: /, '').trim());
      return answer;
    },
    /** The nodes of the cluster, as `show --by node --json` has them. */
    nodes: () => (nodes ??= page.ask('nodes', ['show', ...about(page.state), '--by', 'node', '--json'])
      .then((answer) => JSON.parse(answer.stdout).rows, (failure) => { nodes = null; throw failure; })),
    /** Labels of nodes by which rows can be added up. */
    labels: async () => rows_by_labels((await page.nodes()).map((/** @type {any} */ node) => node.labels)),
    /** The modes that the program has, with what each is. */
    modes: async () => JSON.parse((await page.ask('modes', ['modes', '--json'])).stdout),
    /** @param {string} sentence */
    say(sentence) {
      by_id('status').textContent = sentence;
      document.title = `${sentence} - vgpualloc`;
    },
    /** @param {string[]} notes */
    notes: (notes) => (notes.length === 0 ? null : h('details', { class: 'card' }, h('summary', {}, `Not looked at: ${notes.length}`),
      h('ul', { class: 'notes' }, [...new Set(notes)].map((note) => h('li', {}, note))))),
    terminal: (/** @type {string[]} */ args, /** @type {{ prints: boolean, of?: string }} */ how = { prints: true }) => terminal(page, args, how),
    /** @template T @param {() => Promise<T>} calculate @returns {Promise<T>} */
    computing: (calculate) => computing(page, calculate),
    fail: (/** @type {unknown} */ failure) => show_failure(page, failure),
    /** What the program says of a question that it cannot answer, in the place of the answer: controls stay. @param {Element} place @param {() => Promise<void>} draw_answer */
    async answer_in(place, draw_answer) {
      try {
        await draw_answer();
      } catch (failure) {
        if (!(failure instanceof Refused)) throw failure;
        const sentence = words_of_refusal(failure.message);
        page.say(sentence);
        replace(place, h('div', { class: 'card error', role: 'alert' }, h('h1', { 'data-said': failure.message }, sentence)));
      }
    },
    /** Another file beside the cluster's. Returns its name. @param {File} file */
    async add_file(file) {
      const [name, content] = with_own_names([...files, await read(file)])[files.length];
      files = [...files, [name, content]];
      asker.put(name, content);
      return name;
    },
    /** A file with this name, in the place of the one that had it. @param {string} name @param {BlobPart} content */
    put_file(name, content) {
      const file = new Blob([content]);
      files = [...files.filter(([other]) => other !== name), [name, file]];
      own_names.add(name);
      asker.put(name, file);
    },
    /** The next one with this name is another one. @param {string} name */
    forget_file: (name) => { files = files.filter(([other]) => other !== name); },
    /** A file that the page wrote, which the reader has not. @param {string} name */
    own_file: (name) => (own_names.has(name) ? files.find(([other]) => other === name)?.[1] : undefined),
    /** Looks something up in the objects of the cluster. @param {string} what @param {any} question */
    look: (what, question) => (is_opening ? Promise.reject(new Dropped()) : asker.look(what, page.state.cluster, question)),
    forget_complaint() {
      by_id('wrong')?.remove();
      for (const field of document.querySelectorAll('[aria-invalid]')) for (const attribute of ['aria-invalid', 'aria-describedby']) field.removeAttribute(attribute);
    },
    /** Says below a field what is wrong with it. @param {string} id @param {string} sentence */
    complain(id, sentence) {
      const field = by_id(id);
      page.forget_complaint();
      field.setAttribute('aria-invalid', 'true');
      field.setAttribute('aria-describedby', 'wrong');
      field.closest('.field').append(h('span', { id: 'wrong', class: 'wrong', role: 'alert' }, sentence));
      field.focus();
    },
    /** Files in the place of those that are there. @param {Iterable<Blob & { name?: string }>} list */
    open: (list) => open_files(page, list, use),
    /** Files more of the cluster itself. @param {Iterable<File>} list */
    add_to_cluster: (list) => open_files(page, list, (entries) => use([...files.filter(([name]) => !own_names.has(name)), ...entries])),
    /** Files more beside those that there was no answer to. @param {Iterable<File>} list */
    add_to_refused: (list) => open_files(page, list, (entries) => use([...refused, ...entries])),
    /** Once more the files that there was no answer to: the program failed. */
    open_refused: () => { page.computing(() => use(refused)).catch(page.refuse); },
    /** What is wrong with files: the answer that is there stays. @param {unknown} failure */
    refuse(failure) {
      if (failure instanceof Dropped) return;
      if (!cluster) return page.fail(failure);
      if (waiting < 0) page.go_back();
      const place = by_id('trouble');
      replace(place, card_of_failure(page, failure, 'trouble-error'));
      page.say(by_id('trouble-error').textContent);
      focus_heading(place);
    },
    /** The name of the cluster that is there behind the screen on which files are chosen. */
    left_behind: () => (cluster ? page.state.cluster[0] ?? '' : ''),
    go_back() {
      draw_head();
      page.go(tab);
    },
    abort: () => {},
    /** Opens a node in See: in the answer that is there, or in the one that is drawn. @param {string} name */
    show_node(name) {
      page.state.node = name;
      const place = tab === 'see' && by_id('chosen-node');
      if (place) open_node(page, place, true).catch(page.fail);
      else page.go('see', 'chosen-title');
    },
    has_files: () => waiting >= 0,
    /** What the command of the answer prints as JSON. */
    json_of_answer: async () => (tab === 'simulate' ? simulate.json() : (await page.ask('save', [...view().command(page), '--json'])).stdout),
    save_answer: () => { save_as(page, 'html').catch(page.fail); },
    /** @param {string} sentence */
    tell_saved(sentence) {
      by_id('status').textContent = sentence;
      replace(by_id('saved'), sentence);
    },
    /** @param {Tab} name @param {string} [focus_id] what has the focus when the answer is there */
    go(name, focus_id) {
      if (is_opening) return;
      if (name !== tab) leave();
      tab = name;
      focus_next = focus_id ?? '';
      page.redraw();
      window.scrollTo(0, 0);
    },
    /** Puts the choices into the address, so that Back comes to them. */
    note_address() {
      const address = address_of(tab, page.state);
      if (location.hash.slice(1) !== address) history.pushState(null, '', '#' + address);
    },
    redraw: () => { if (!is_opening) draw().catch(page.fail); },
    stop() {
      page.abort();
      ++openings; // files that are being opened are not taken
      take_back();
      asker.stop();
    },
    when_progress: (/** @type {(text: string) => void} */ hear) => { asker.hear_progress = hear; },
  };

  /** No answer to what was wanted before is shown any more, and one that takes long is not waited for. */
  function leave() {
    ++drawing;
    if (document.querySelector('#progress:not(.stopped)')) page.stop();
  }

  /** The thread has the files of the answer that is drawn again, and not those that were being opened. */
  function take_back() {
    if (is_opening) asker.use(files);
    is_opening = false;
  }

  /** Takes files in the place of those that are there, if there is an answer to them. @param {[string, Blob][]} entries */
  async function use(entries) {
    const number = ++openings;
    const begin = performance.now();
    take_back(); // those that were being opened
    const opened = await cluster_of(entries);
    if (number !== openings) throw new Dropped();
    const size = opened.files.reduce((sum, [, content]) => sum + content.size, 0);
    if (size > most_bytes) {
      refused = opened.files;
      throw new Refused(`Too large for this browser (${(size / 1e9).toFixed(1)} GB). In a terminal: ${command_line(['show', ...about(opened.state)])}`);
    }
    is_opening = true;
    asker.use(opened.files);
    let shown;
    let with_nodes = 0;
    try {
      shown = JSON.parse((await page.ask('open', ['show', ...about(opened.state), '--json'])).stdout);
      if (opened.state.cluster.length > 1) with_nodes = (await asker.look('files_with_nodes', opened.state.cluster, {})).length;
      if (number !== openings) throw new Dropped();
    } catch (failure) {
      if (number !== openings) throw new Dropped();
      take_back();
      refused = opened.files;
      throw failure;
    }
    is_opening = false;
    ({ files, state: page.state } = opened);
    cluster = { totals: shown.totals, seconds: (performance.now() - begin) / 1000, with_nodes };
    nodes = null;
    refused = [];
    replace(by_id('trouble'));
    draw_head();
    tab = 'see'; // not left as by hand: that would stop what was just opened
    page.go('see');
  }

  /** What the files are, and what can be done with them. */
  function draw_head() {
    if (!cluster) return;
    const { totals, seconds, with_nodes } = cluster;
    const names = files.map(([name]) => name).filter((name) => !own_names.has(name)).join(', ');
    waiting = totals.pods_wait;
    by_id('files').dataset.names = names;
    by_id('search-place').hidden = false;
    replace(by_id('files'), `${names} · ${with_nodes > 1 ? `${with_nodes} files with nodes: taken as one cluster · ` : ''}${counted(totals.nodes_all, 'node')} · ${counted(totals.pods_run + totals.pods_wait, 'pod')} · read in ${span(seconds)} `,
      button('Other files', () => { leave(); waiting = -1; start(page); }, { class: 'small', id: 'other-files' }), ' ',
      ...file_chooser('Add files', page.add_to_cluster, '-more'), ' ', save_menu(page));
    by_id('tabs').hidden = false;
  }

  async function draw() {
    const number = ++drawing;
    page.note_address();
    draw_tabs();
    const panel = by_id('panel');
    panel.setAttribute('aria-labelledby', 'tab-' + tab);
    const place = document.createElement('div'); // filled while the old answer stays
    try {
      await computing(page, () => view().draw(page, place));
      if (number !== drawing) return;
      forget_stop();
      replace(by_id('saved'));
      if (!await show_in_parts(panel, place, () => number === drawing)) return;
      if (focus_next) by_id(focus_next)?.focus();
      focus_next = '';
    } catch (failure) {
      if (number === drawing) throw failure;
    }
  }

  function draw_tabs() {
    replace(by_id('tabs'), tabs.map(({ name, title }) => h('button', {
      type: 'button', role: 'tab', id: 'tab-' + name, 'aria-selected': name === tab ? 'true' : 'false', 'aria-controls': 'panel',
      tabIndex: name === tab ? 0 : -1, onclick: () => page.go(name),
    }, name === 'why' && waiting > 0 ? `${title} ${waiting}` : title)));
  }

  by_id('panel').setAttribute('role', 'tabpanel');
  by_id('tabs').addEventListener('keydown', (/** @type {KeyboardEvent} */ event) => {
    const at = tabs.findIndex((entry) => entry.name === tab);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const { name } = tabs[(to + tabs.length) % tabs.length];
    page.go(name);
    by_id('tab-' + name).focus();
  });
  by_id('search-place').append(search_field(page));
  listen_to_keys(page, tabs);
  listen_to_drops(page.open);
  window.addEventListener('popstate', () => {
    if (waiting < 0) return;
    const name = read_address(location.hash.slice(1), page.state);
    const chosen = tabs.find((entry) => entry.name === name);
    if (chosen) page.go(chosen.name);
  });
  return page;
}

/** @param {Page} page @param {unknown} failure @param {string} id of its heading */
const card_of_failure = (page, failure, id) => failure_card(page, failure instanceof Error ? failure.message : String(failure), failure instanceof Refused, id);

/** @param {Page} page @param {unknown} failure */
function show_failure(page, failure) {
  if (failure instanceof Dropped) return;
  replace(by_id('panel'), card_of_failure(page, failure, 'error'));
  page.say(by_id('error').textContent);
  focus_heading(by_id('panel'));
}

// What is there already is drawn first.
pause().then(() => {
  const page = make_page();
  pause().then(() => start(page));
});
