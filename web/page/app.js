// @ts-check
// The page: files, tabs, and what all tabs have in common.
import { Asker, Dropped } from './ask.js';
import * as defragment from './defragment.js';
import { button, by_id, card, copy, h, replace, save } from './dom.js';
import { is_device_configuration, most_bytes, read, unpacked, with_own_names } from './reading.js';
import * as see from './see.js';
import * as simulate from './simulate.js';
import { about, fresh } from './state.js';
import * as whatif from './whatif.js';
import * as why from './why.js';
import { command_line, counted, span } from './words.js';

/** @typedef {ReturnType<typeof make_page>} Page */
/** @typedef {'see' | 'why' | 'whatif' | 'defragment' | 'simulate'} Tab */

const kubectl = 'kubectl get nodes,pods,resourcequotas -A -o json > cluster.json';
/** @type {{ name: Tab, title: string, key: string, view: { draw: (page: any, panel: Element) => Promise<void>, command: (page: any) => string[] } }[]} */
const tabs = [{ name: 'see', title: 'See', key: 's', view: see }, { name: 'why', title: 'Why', key: 'w', view: why },
  { name: 'whatif', title: 'What if', key: 'i', view: whatif }, { name: 'defragment', title: 'Defragment', key: 'd', view: defragment },
  { name: 'simulate', title: 'Simulate', key: 'm', view: simulate }];

/** Thrown for a question that cannot be answered: the program's own line says why. */
class Refused extends Error {}

function make_page() {
  const asker = new Asker(by_id('worker').textContent, by_id('module').textContent);
  /** @type {[string, Uint8Array][]} */
  let files = [];
  /** @type {Tab} */
  let tab = 'see';
  /** @type {Promise<any[]> | null} */
  let nodes = null;
  let waiting = -1;
  let drawing = 0;
  let calculating = 0;
  const page = {
    state: fresh(),
    policies: ['bid_price', 'best_fit', 'binpack', 'spread', 'fgd', 'worst_fit', 'first_fit'],
    only_node: '',

    /** @param {string} topic @param {string[]} args */
    async ask(topic, args) {
      const answer = await asker.ask(topic, args);
      if (answer.code !== 0) throw new Refused(answer.stderr.replace(/^vgpusim: /, '').trim());
      return answer;
    },
    /** The nodes of the cluster, as `show --by node --json` has them. */
    nodes: () => (nodes ??= page.ask('nodes', ['show', ...about(page.state), '--by', 'node', '--json'])
      .then((answer) => JSON.parse(answer.stdout).rows, (failure) => { nodes = null; throw failure; })),
    /** @param {string} sentence */
    say(sentence) {
      by_id('status').textContent = sentence;
      document.title = `${sentence} - vgpualloc`;
    },
    /** @param {string[]} notes */
    notes: (notes) => (notes.length === 0 ? null : h('details', { class: 'card' }, h('summary', {}, `Not looked at: ${notes.length}`),
      h('ul', { class: 'notes' }, [...new Set(notes)].map((note) => h('li', {}, note))))),
    terminal: (/** @type {string[]} */ args, how = { prints: true }) => terminal(page, args, how.prints),
    computing,
    fail: (/** @type {unknown} */ failure) => show_failure(page, failure),
    /** What the program says of a question that it cannot answer, in the place of the answer: controls stay. @param {Element} place @param {() => Promise<void>} draw_answer */
    async answer_in(place, draw_answer) {
      try {
        await draw_answer();
      } catch (failure) {
        if (!(failure instanceof Refused)) throw failure;
        page.say(failure.message);
        replace(place, h('div', { class: 'card error', role: 'alert' }, h('p', {}, failure.message)));
      }
    },
    /** Another file beside the cluster's. Returns its name. @param {File} file */
    async add_file(file) {
      const entry = await read(file);
      files = with_own_names([...files, entry]);
      asker.use(files);
      return files[files.length - 1][0];
    },
    /** A file with this name, in the place of the one that had it. @param {string} name @param {Uint8Array} bytes */
    put_file(name, bytes) {
      files = [...files.filter(([other]) => other !== name), [name, bytes]];
      asker.use(files);
    },
    /** @param {Tab} name */
    go(name) {
      tab = name;
      if (location.hash.slice(1) !== name) history.pushState(null, '', '#' + name);
      page.redraw();
      window.scrollTo(0, 0);
    },
    redraw: () => { draw().catch(page.fail); },
    stop: () => asker.stop(),
    when_progress: (/** @type {(text: string) => void} */ hear) => { asker.hear_progress = hear; },
    use,
  };

  /** @param {[string, Uint8Array][]} entries */
  async function use(entries) {
    const begin = performance.now();
    files = with_own_names(entries);
    const size = files.reduce((sum, [, bytes]) => sum + bytes.length, 0);
    const settings = files.filter(([, bytes]) => is_device_configuration(bytes)).map(([name]) => name);
    page.state = { ...fresh(), cluster: files.map(([name]) => name).filter((name) => !settings.includes(name)), settings };
    if (size > most_bytes) {
      throw new Refused(`Too large for this browser (${(size / 1e9).toFixed(1)} GB). In a terminal: ${command_line(['show', ...about(page.state)])}`);
    }
    asker.use(files);
    nodes = null;
    const shown = JSON.parse((await page.ask('open', ['show', ...about(page.state), '--json'])).stdout);
    waiting = shown.totals.pods_wait;
    const names = files.map(([name]) => name).join(', ');
    replace(by_id('files'), `${names} · ${counted(shown.totals.nodes_all, 'node')} · ${counted(shown.totals.pods_run + shown.totals.pods_wait, 'pod')} · read in ${span((performance.now() - begin) / 1000)} `,
      button('Other files', () => start(page), { class: 'small' }), ' ', save_menu(page));
    by_id('tabs').hidden = false;
    page.go('see');
  }

  async function draw() {
    const number = ++drawing;
    draw_tabs();
    const panel = by_id('panel');
    panel.setAttribute('aria-labelledby', 'tab-' + tab);
    const view = /** @type {typeof tabs[number]} */ (tabs.find((entry) => entry.name === tab)).view;
    const place = document.createElement('div'); // filled while the old answer stays
    try {
      await computing(() => view.draw(page, place));
      if (number === drawing && place.parentElement !== panel) replace(panel, place);
    } catch (failure) {
      if (number === drawing || !(failure instanceof Dropped)) throw failure;
    }
  }

  /**
   * Waits for an answer: from 100 ms on the old one is dimmed, from 1 s on there is a bar, and a button that ends it.
   * @template T @param {() => Promise<T>} calculate @returns {Promise<T>}
   */
  async function computing(calculate) {
    const panel = by_id('panel');
    const slow = [setTimeout(() => panel.classList.add('busy'), 100), setTimeout(() => show_progress(page, performance.now() - 1000), 1000)];
    ++calculating;
    try {
      return await calculate();
    } finally {
      slow.forEach(clearTimeout);
      if (--calculating === 0) {
        panel.classList.remove('busy');
        by_id('progress')?.remove();
      }
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
  let after_g = false;
  document.addEventListener('keydown', (event) => {
    const is_typing = event.target instanceof Element && event.target.closest('input, select, textarea');
    if (is_typing || files.length === 0 || event.metaKey || event.altKey) return;
    if (event.ctrlKey && event.key === 'z' && tab === 'whatif') by_id('undo')?.click();
    const chosen = after_g && tabs.find((entry) => entry.key === event.key);
    after_g = event.key === 'g';
    if (chosen) page.go(chosen.name);
  });
  window.addEventListener('popstate', () => {
    const chosen = tabs.find((entry) => entry.name === location.hash.slice(1));
    if (chosen && files.length > 0) page.go(chosen.name);
  });
  return page;
}

/** @param {any} page @param {number} begin */
function show_progress(page, begin) {
  if (by_id('progress')) return;
  const seconds = h('span', {});
  const row = h('div', { id: 'progress', class: 'progress' }, h('span', {}, 'Computing…'),
    h('progress', { 'aria-label': 'Computing' }), seconds, button('Stop', () => {
      page.stop();
      row.remove();
      page.say('Stopped. The answer below is of before.');
    }));
  by_id('panel').before(row);
  const bar = row.querySelector('progress');
  page.when_progress((/** @type {string} */ text) => {
    const percent = text.match(/(\d+) ?%/);
    if (percent) bar.value = Number(percent[1]) / 100;
  });
  const timer = setInterval(() => {
    if (!row.isConnected) clearInterval(timer);
    seconds.textContent = span((performance.now() - begin) / 1000);
  }, 100);
}

/** @param {any} page @param {unknown} failure */
function show_failure(page, failure) {
  if (failure instanceof Dropped) return;
  const text = failure instanceof Error ? failure.message : String(failure);
  const sentence = failure instanceof Refused ? text : 'The answer failed inside the program; your files are still here.';
  page.say(sentence);
  const copied = button('Copy the message', () => copy(text, copied));
  replace(by_id('panel'), h('div', { class: 'card error', role: 'alert' }, h('p', {}, sentence), !(failure instanceof Refused) && h('p', { class: 'hint' }, text),
    h('div', { class: 'buttons' }, button('Try again', page.redraw), copied, button('Other files', () => start(page)))));
}

/** @param {any} page @param {string[]} args @param {boolean} prints whether the page can show what the command prints */
function terminal(page, args, prints) {
  const text = command_line(args);
  const output = h('pre', { class: 'command output', tabIndex: 0, role: 'region', 'aria-label': 'Output' });
  const pressed = button('Copy', () => copy(text, pressed), { class: 'small' });
  const details = h('details', { ontoggle: async () => {
    if (!details.open || output.textContent) return;
    try {
      output.textContent = (await page.ask('text', args)).stdout;
    } catch (failure) {
      output.textContent = failure instanceof Error ? failure.message : '';
    }
  } }, h('summary', {}, 'What it prints'), output);
  return h('section', { class: 'card terminal', id: 'terminal', 'aria-labelledby': 'terminal-title' }, h('h2', { id: 'terminal-title' }, 'Same answer in a terminal'),
    h('pre', { class: 'command', tabIndex: 0, role: 'region', 'aria-label': 'Command' }, h('code', {}, text)), pressed, prints && details);
}

/** @param {any} page */
function save_menu(page) {
  const menu = h('select', { 'aria-label': 'Save', class: 'small', onchange: async () => {
    const kind = menu.value;
    menu.value = '';
    try {
      await save_as(page, kind);
    } catch (failure) {
      page.fail(failure);
    }
  } }, [['', 'Save…'], ['snapshot', 'Snapshot'], ['anonymised', 'Anonymised snapshot'], ['html', 'Answer as HTML'], ['json', 'JSON']]
    .map(([value, words]) => h('option', { value }, words)));
  return menu;
}

/** @param {any} page @param {string} kind */
async function save_as(page, kind) {
  const current = /** @type {typeof tabs[number]} */ (tabs.find((entry) => entry.name === (location.hash.slice(1) || 'see'))).view.command(page);
  if (kind === 'json') save('answer.json', (await page.ask('save', [...current, '--json'])).stdout, 'application/json');
  if (kind === 'html') {
    const answer = await page.ask('save', [...see.command(page), '-o', 'html=answer.html']);
    save('answer.html', answer.written.get('answer.html'), 'text/html');
  }
  if (kind === 'snapshot' || kind === 'anonymised') {
    const args = ['snapshot', ...about(page.state), ...(kind === 'anonymised' ? ['--anonymise'] : [])];
    save(kind + '.json', (await page.ask('save', args)).stdout, 'application/json');
    page.say(kind === 'snapshot' ? 'Saved. The file has your names in it.' : 'Saved without names.');
  }
}

/** The screen on which files are chosen. @param {any} page */
function start(page) {
  by_id('tabs').hidden = true;
  replace(by_id('files'));
  page.say('Drop files here');
  const open = (/** @type {Iterable<Blob & { name?: string }>} */ list) => Promise.all([...list].map(read)).then(page.use).catch(page.fail);
  const samples = JSON.parse(by_id('samples').textContent);
  const chooser = h('input', { type: 'file', multiple: true, hidden: true, id: 'chooser', 'aria-label': 'Files', onchange: () => open(chooser.files) });
  const pasted = h('textarea', { id: 'pasted', 'aria-label': 'Objects, YAML or JSON', placeholder: 'Objects, YAML or JSON', spellcheck: false });
  const paste = h('div', { hidden: true }, pasted, h('div', { class: 'buttons' }, button('Read it', () => open([new Blob([pasted.value])]))));
  const copied = button('Copy', () => copy(kubectl, copied), { class: 'small' });
  const zone = h('div', {
    class: 'drop', ondragover: (/** @type {DragEvent} */ event) => { event.preventDefault(); zone.classList.add('over'); },
    ondragleave: () => zone.classList.remove('over'),
    ondrop: (/** @type {DragEvent} */ event) => { event.preventDefault(); open(event.dataTransfer?.files ?? []); },
  }, h('p', {}, 'Drop files here'), h('div', { class: 'buttons' }, button('Choose files', () => chooser.click(), { id: 'choose' }), chooser,
    button('Paste', () => { paste.hidden = false; pasted.focus(); }),
    ['atlas', 'harbor'].map((name) => button(`Try ${name}`, () => unpacked(samples[name]).then((bytes) => page.use([[`${name}.json`, bytes]])).catch(page.fail), { id: 'try-' + name }))), paste);
  replace(by_id('panel'), h('section', { class: 'card answer' }, h('h1', {}, 'Why does my pod wait, how full is my cluster, what if I change it?'),
    h('p', {}, 'From the objects of your cluster, calculated here. They do not leave this browser.')),
  h('section', { class: 'card' }, zone),
  card('The objects of a cluster', h('pre', { class: 'command', tabIndex: 0, role: 'region', 'aria-label': 'Command' }, h('code', {}, kubectl)), copied));
}

start(make_page());
