// The section "Every GPU": the picture of the whole cluster, a few nodes close up, and the slider that moves both through
// the run.
(function () {
  'use strict';
  const data = JSON.parse(document.getElementById('report-data').textContent);
  const element = (id) => document.getElementById(id);
  const section = element('occupancy');

  // Tables that are cut off on a narrow screen say so.
  const mark = () => document.querySelectorAll('.scroll').forEach((box) => {
    box.parentElement.classList.toggle('overflows', box.scrollWidth > box.clientWidth + 1);
  });
  mark();
  addEventListener('resize', mark);

  if (data.clusters.every((cluster) => cluster.groups.length === 0)) {
    section.remove();
    return;
  }
  const tooltip = element('tooltip'), slider = element('moment');
  const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
  const thousandths_at = (text, at) => digits.indexOf(text[2 * at]) * 64 + digits.indexOf(text[2 * at + 1]);
  const say = (count, what) => count.toLocaleString('en') + ' ' + what;
  const state = { run: 0, moment: 0, playing: 0 };

  // Each run's groups of columns, in the order of the cells, and its history; made when the run is first shown.
  const views = data.runs.map(() => null);
  function view() {
    if (views[state.run]) return views[state.run];
    const run = data.runs[state.run], cluster = data.clusters[run.cluster];
    let cell = 0, position = 0;
    const groups = cluster.groups.map((group) => {
      const columns = Array.from({ length: group.columns }, (_, i) => {
        const nodes = Math.floor((i + 1) * group.nodes / group.columns) - Math.floor(i * group.nodes / group.columns);
        const name = cluster.names ? cluster.names[position] : nodes + ' nodes';
        const column = { cell, nodes, name, model: group.model, gpus: group.gpus, cpu: thousandths_at(run.cpu, position) };
        cell += group.gpus;
        ++position;
        return column;
      });
      return { ...group, columns };
    });
    const history = read_history(run.history, cell);
    return (views[state.run] = { run, cluster, groups, history });
  }
  const closeup = occupancy_closeup(element('closeup'), () => view().history);
  const picture = occupancy_picture(element('occupancy-canvas'), (column) => closeup.turn_to_column(column));
  document.querySelector('.scale i').style.background =
    'linear-gradient(to right,' + [0, 250, 500, 750, 1000].map((milli) => picture.ramp[milli]).join() + ')';

  // Time in the largest unit of which two or more have passed.
  function time_text(ms, ms_max) {
    const [length, unit] = [[86400e3, 'd'], [3600e3, 'h'], [60e3, 'min']].find(([size]) => ms_max >= 2 * size) || [1e3, 's'];
    return (ms / length).toFixed(length === 1e3 ? 0 : 2) + ' ' + unit;
  }
  function moment_text(history) {
    if (history.time.length === 0) return '';
    const allocated = (history.allocated[state.moment] / 1000).toFixed(2) + ' % allocated';
    if (!data.departures) return (history.load[state.moment] / 1000).toFixed(2) + ' % load arrived, ' + allocated;
    return time_text(history.time[state.moment], history.time[history.time.length - 1]) + ' after the first arrival, ' + allocated;
  }
  const shown_words = element('occupancy-moment').textContent;

  function go(moment) {
    const { history } = view();
    state.moment = Math.max(0, Math.min(history.moments - 1, moment));
    history.seek(state.moment);
    const text = moment_text(history);
    slider.value = state.moment;
    slider.setAttribute('aria-valuetext', text);
    element('moment-text').textContent = text;
    element('occupancy-moment').textContent = state.moment === history.shown ? shown_words : 'at one moment';
    element('to-shown').disabled = state.moment === history.shown;
    picture.draw();
    closeup.update();
  }

  function play(on) {
    const { history } = view();
    clearInterval(state.playing);
    if (on && state.moment === history.moments - 1) go(0);
    // The whole run takes about half a minute, however many moments it has.
    const pause = Math.max(40, Math.min(600, 30000 / history.moments));
    state.playing = on ? setInterval(() => { go(state.moment + 1); if (state.moment === view().history.moments - 1) play(false); }, pause) : 0;
    element('play').setAttribute('aria-pressed', String(on));
    element('play').textContent = on ? 'Pause' : 'Play';
  }

  function legend(history) {
    const entries = history.labels.slice(0, 7).map((name, label) => [closeup.class_of(label), name]);
    if (history.labels.length > 7) entries.push([closeup.class_of(7), history.labels.length === 8 ? history.labels[7] : say(history.labels.length - 7, 'others')]);
    if (history.has_stranded) entries.push(['stranded', 'stranded: free, but no instance has its place there']);
    if (history.has_closed) entries.push(['closed', 'takes nothing new: failed, drained or being cut anew']);
    entries.push(['free', 'free']);
    element('parts-legend').replaceChildren(...(history.has_parts ? entries : []).map(([kind, name]) => {
      const entry = document.createElement('li'), swatch = document.createElement('i');
      swatch.className = 'part ' + kind;
      entry.append(swatch, name);
      return entry;
    }));
  }

  function caption() {
    const { cluster, history, run } = view();
    const parts = run.moment && history.moments <= 1 ? ['This is ' + run.moment + '.'] : [];
    parts.push(cluster.merged
      ? say(cluster.nodes, 'nodes are too many to draw one by one: nodes of a model are ranked by use, neighbours share a column, and a cell is their mean.')
      : 'A column is a node, a cell is a GPU, grouped by model.');
    if (cluster.without_gpus) parts.push('Not drawn, having no GPU: ' + say(cluster.without_gpus, 'of the nodes.'));
    if (cluster.left_out) parts.push('Not drawn, being of rare models: ' + say(cluster.left_out, 'of the nodes.'));
    if (history.moments > 1) parts.push(say(history.moments, 'moments of the run are kept: move the slider, or press Play.'));
    element('occupancy-caption').textContent = parts.join(' ');
    element('transport').hidden = history.moments <= 1;
    element('occupancy-order').hidden = cluster.merged;
  }

  let fresh = true;
  function show_run() {
    play(false);
    const { groups, history, cluster } = view();
    slider.max = history.moments - 1;
    legend(history);
    caption();
    history.seek(Math.max(0, Math.min(history.moments - 1, state.moment)));
    picture.show(groups, history);
    element('closeup').hidden = cluster.merged;
    const columns = cluster.merged ? [] : groups.flatMap((group) => group.columns);
    // At first the close-up has the first node that anything runs on.
    closeup.show(columns, fresh ? columns.find((column) => picture.used_in(column, column.gpus) > 0) : null);
    fresh = false;
    section.classList.toggle('small', !cluster.merged && closeup.fits_on_a_page());
    go(state.moment);
  }

  function choose(box, chosen) {
    for (const button of box.children) button.setAttribute('aria-pressed', String(button === chosen));
  }

  const runs = element('occupancy-runs');
  if (data.runs.length > 1) {
    data.runs.forEach((run, i) => {
      const button = document.createElement('button');
      button.type = 'button';
      button.textContent = run.label;
      button.onclick = () => {
        const before = view().history, time = before.time[state.moment];
        const was_shown = state.moment === before.shown;
        state.run = i;
        const { history } = view();
        const same_time = history.time.findIndex((at) => at >= time);
        state.moment = was_shown ? history.shown : same_time < 0 ? history.moments - 1 : same_time;
        choose(runs, button);
        show_run();
      };
      runs.append(button);
    });
    choose(runs, runs.firstChild);
  }
  const orders = element('occupancy-order');
  for (const button of orders.children) {
    button.onclick = () => {
      for (const group of view().groups) {
        group.columns.sort(button.dataset.order === 'fullest'
          ? (a, b) => picture.used_in(b, group.gpus) - picture.used_in(a, group.gpus) || a.cell - b.cell : (a, b) => a.cell - b.cell);
      }
      choose(orders, button);
      show_run();
    };
  }
  choose(orders, orders.firstElementChild);

  slider.oninput = () => { play(false); go(Number(slider.value)); };
  element('play').onclick = () => play(element('play').getAttribute('aria-pressed') !== 'true');
  element('to-shown').onclick = () => { play(false); go(view().history.shown); };
  element('to-shown').textContent = data.departures ? 'Peak' : 'End';

  const canvas = element('occupancy-canvas');
  canvas.onmousemove = (event) => {
    const hit = picture.at(event);
    tooltip.hidden = hit === null;
    if (hit === null) return;
    const { column, gpu } = hit, { history, cluster } = view();
    const look = history.look(column.cell + gpu);
    const lines = cluster.merged ? [column.nodes + ' nodes of ' + column.model] : [column.name, column.model];
    lines.push('GPU ' + gpu + ': ' + (column.nodes > 1 ? 'mean ' : '') + look.used + ' of 1000 milli-GPU in use');
    if (state.moment === history.shown || history.moments <= 1) lines.push('CPU: ' + (column.cpu / 10).toFixed(1) + ' % in use');
    tooltip.textContent = lines.join('\n');
    const right = event.clientX + 16 + tooltip.offsetWidth > innerWidth;
    tooltip.style.left = (right ? event.clientX - tooltip.offsetWidth - 12 : event.clientX + 14) + 'px';
    tooltip.style.top = Math.min(event.clientY + 14, innerHeight - tooltip.offsetHeight - 8) + 'px';
  };
  canvas.onmouseleave = () => { tooltip.hidden = true; };

  state.moment = view().history.shown;
  show_run();
  let waiting = 0, width = innerWidth;
  addEventListener('resize', () => {
    clearTimeout(waiting);
    // Phones resize when their bars hide: only a new width lays anything out anew.
    waiting = setTimeout(() => { if (innerWidth !== width) { width = innerWidth; show_run(); } }, 80);
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', picture.draw);
}());
