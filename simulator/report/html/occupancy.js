// The node × GPU picture: one cell per GPU, a column per node (or per few nodes of a large cluster), wrapped like text.
(function () {
  'use strict';
  const data = JSON.parse(document.getElementById('report-data').textContent);
  const canvas = document.getElementById('occupancy-canvas');
  const tooltip = document.getElementById('tooltip');
  const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
  const value_of = Object.fromEntries([...digits].map((digit, value) => [digit, value]));
  const title_height = 22, gap = 12;
  const state = { run: 0, order: 'list' };
  let blocks = []; // where each group of columns is drawn, for the pointer

  // From light to dark, told apart by colour-blind readers and in grey print (ColorBrewer YlGnBu).
  const stops = [[255, 255, 229], [199, 233, 180], [65, 182, 196], [34, 94, 168], [8, 29, 88]];
  const ramp = Array.from({ length: 1001 }, (_, milli) => {
    const at = milli / 1000 * (stops.length - 1), low = Math.min(Math.floor(at), stops.length - 2);
    return 'rgb(' + stops[low].map((c, i) => Math.round(c + (stops[low + 1][i] - c) * (at - low))).join() + ')';
  });
  document.querySelector('.scale i').style.background =
    'linear-gradient(to right,' + [0, 250, 500, 750, 1000].map((milli) => ramp[milli]).join() + ')';

  const number_at = (text, at) => value_of[text[2 * at]] * 64 + value_of[text[2 * at + 1]];
  const percent = (thousandths) => (thousandths / 10).toFixed(1) + ' %';

  // The groups of one run with their columns: index, milli in use per GPU, CPU.
  function groups_of(run) {
    const cluster = data.clusters[run.cluster];
    let cell = 0, column = 0;
    return cluster.groups.map((group) => {
      const columns = Array.from({ length: group.columns }, (_, i) => {
        const milli = Array.from({ length: group.gpus }, () => number_at(run.cells, cell++));
        const first = Math.floor(i * group.nodes / group.columns);
        const nodes = Math.floor((i + 1) * group.nodes / group.columns) - first;
        const name = cluster.names ? cluster.names[column] : null;
        return { milli, nodes, name, cpu: number_at(run.cpu, column++), sum: milli.reduce((a, b) => a + b, 0) };
      });
      const weight = columns.reduce((sum, c) => sum + c.sum * c.nodes, 0);
      return { ...group, columns, used: weight / (group.nodes * group.gpus) };
    });
  }

  // Blocks flow left to right; a group that needs more than one band of columns has the whole width.
  function arrange(groups, width, context) {
    const total = groups.reduce((sum, group) => sum + group.columns.length, 0);
    const cell = total <= 64 ? 16 : total <= 400 ? 10 : total <= 1600 ? 7 : 5;
    const pitch = cell + 1, per_band = Math.max(1, Math.floor(width / pitch));
    let x = 0, y = 0, line = 0;
    const placed = groups.map((group) => {
      const bands = Math.ceil(group.columns.length / per_band);
      const band = group.gpus * pitch + 5;
      const title = group.model + ' · ' + group.nodes.toLocaleString('en') + ' × ' + group.gpus + ' GPU · ' + percent(group.used);
      const needs = Math.min(width, Math.max(Math.min(group.columns.length, per_band) * pitch, context.measureText(title).width));
      if (x > 0 && x + needs > width) { x = 0; y += line + gap; line = 0; }
      const block = { group, title, x, y, top: y + title_height, cell, pitch, per_band, band };
      line = Math.max(line, title_height + bands * band);
      x += needs + 2 * gap;
      return block;
    });
    return { placed, height: y + line };
  }

  function draw() {
    const groups = groups_of(data.runs[state.run]);
    if (state.order === 'fullest') for (const group of groups) group.columns.sort((a, b) => b.sum - a.sum);
    const width = canvas.parentElement.clientWidth - 20;
    const context = canvas.getContext('2d');
    const font = '12px system-ui, sans-serif';
    context.font = font;
    const { placed, height } = arrange(groups, width, context);
    const density = devicePixelRatio || 1;
    canvas.width = Math.round(width * density);
    canvas.height = Math.round(height * density);
    canvas.style.height = height + 'px';
    context.scale(density, density);
    context.font = font;
    context.textBaseline = 'top';
    const ink = getComputedStyle(document.body).color;
    for (const block of placed) {
      context.fillStyle = ink;
      context.fillText(block.title, block.x, block.y + 3);
      block.group.columns.forEach((column, i) => {
        const x = block.x + i % block.per_band * block.pitch, y = block.top + Math.floor(i / block.per_band) * block.band;
        column.milli.forEach((milli, gpu) => {
          context.fillStyle = ramp[Math.min(1000, milli)];
          context.fillRect(x, y + gpu * block.pitch, block.cell, block.cell);
        });
      });
    }
    blocks = placed;
  }

  function found(x, y) {
    for (const block of blocks) {
      const across = Math.floor((x - block.x) / block.pitch), band = Math.floor((y - block.top) / block.band);
      const gpu = Math.floor((y - block.top - band * block.band) / block.pitch);
      if (across < 0 || across >= block.per_band || band < 0 || gpu >= block.group.gpus) continue;
      const column = block.group.columns[band * block.per_band + across];
      if (column) return { group: block.group, column, gpu };
    }
    return null;
  }

  canvas.onmousemove = (event) => {
    const box = canvas.getBoundingClientRect();
    const hit = found(event.clientX - box.left, event.clientY - box.top);
    tooltip.hidden = hit === null;
    if (hit === null) return;
    const { group, column, gpu } = hit;
    const mean = column.nodes > 1 ? 'mean of ' + column.nodes + ' nodes, ' : '';
    tooltip.textContent = (column.name === null ? column.nodes + ' nodes of ' + group.model : column.name + '\n' + group.model) +
      '\nGPU ' + gpu + ': ' + mean + column.milli[gpu] + ' of 1000 milli-GPU in use\nCPU: ' + percent(column.cpu) + ' in use';
    const right = event.clientX + 16 + tooltip.offsetWidth > innerWidth;
    tooltip.style.left = (right ? event.clientX - tooltip.offsetWidth - 12 : event.clientX + 14) + 'px';
    tooltip.style.top = Math.min(event.clientY + 14, innerHeight - tooltip.offsetHeight - 8) + 'px';
  };
  canvas.onmouseleave = () => { tooltip.hidden = true; };

  function caption() {
    const cluster = data.clusters[data.runs[state.run].cluster];
    const say = (count, what) => count.toLocaleString('en') + ' ' + what;
    const moment = data.runs[state.run].moment;
    const parts = moment ? ['This is ' + moment + '.'] : [];
    parts.push(cluster.merged
      ? say(cluster.nodes, 'nodes are too many to draw one by one: nodes of a model are ranked by use, neighbours share a column, and a cell is their mean.')
      : 'A column is a node, a cell is a GPU, grouped by model.');
    if (cluster.without_gpus) parts.push('Not drawn, having no GPU: ' + say(cluster.without_gpus, 'of the nodes.'));
    if (cluster.left_out) parts.push('Not drawn, being of rare models: ' + say(cluster.left_out, 'of the nodes.'));
    document.getElementById('occupancy-caption').textContent = parts.join(' ');
    const order = document.getElementById('occupancy-order');
    order.hidden = cluster.merged;
    order.style.display = cluster.merged ? 'none' : '';
  }

  function choose(box, chosen) {
    for (const button of box.children) button.setAttribute('aria-pressed', String(button === chosen));
  }

  // Tables that are cut off on a narrow screen say so.
  const mark = () => document.querySelectorAll('.scroll').forEach((box) => {
    box.parentElement.classList.toggle('overflows', box.scrollWidth > box.clientWidth + 1);
  });
  mark();
  addEventListener('resize', mark);

  if (data.clusters.every((cluster) => cluster.groups.length === 0)) {
    document.getElementById('occupancy').remove();
    return;
  }
  const runs = document.getElementById('occupancy-runs');
  if (data.runs.length > 1) {
    data.runs.forEach((run, i) => {
      const button = document.createElement('button');
      button.type = 'button';
      button.textContent = run.label;
      button.onclick = () => { state.run = i; choose(runs, button); caption(); draw(); };
      runs.append(button);
    });
    choose(runs, runs.firstChild);
  }
  const orders = document.getElementById('occupancy-order');
  for (const button of orders.children) {
    button.onclick = () => { state.order = button.dataset.order; choose(orders, button); draw(); };
  }
  choose(orders, orders.firstElementChild);
  caption();
  draw();
  let waiting = 0;
  addEventListener('resize', () => { clearTimeout(waiting); waiting = setTimeout(draw, 80); });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
}());
