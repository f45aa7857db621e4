// Curves of all runs in the same axes. docs/report.md describes the data.
(function () {
  'use strict';
  const data = JSON.parse(document.getElementById('report-data').textContent);
  const dashes = [null, [7, 4], [2, 3], [9, 3, 2, 3]];
  const state = { axis: data.departures && data.clock ? 'time' : 'load', window: null };
  const waits = document.getElementById('waits');
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  function sums(differences) {
    let sum = 0;
    return differences.map((difference) => (sum += difference));
  }

  // Time is drawn in the largest unit that leaves two or more of it, so that its ticks are round numbers.
  // The run's own quantities are curves like the others, each in a chart of its own.
  const own = new Map();
  for (const run of data.runs) {
    for (const { key, title, unit, curve } of run.series) {
      run.curves['own ' + key] = curve;
      own.set(key, { title, unit });
    }
  }

  const seconds_max = Math.max(0, ...data.runs.map((run) => sums(run.curves.allocation.time || []).pop() || 0)) / 1000;
  const [unit_seconds, unit_name] = [[86400, 'd'], [3600, 'h'], [60, 'min']].find(([length]) => seconds_max >= 2 * length) || [1, 's'];
  for (const run of data.runs) {
    for (const curve of Object.values(run.curves)) {
      curve.load = sums(curve.load).map((x) => x / 1000); // to percent
      if (curve.time) curve.time = sums(curve.time).map((x) => x / 1000 / unit_seconds);
      curve.y = sums(curve.y);
    }
  }

  for (const [key, { title, unit }] of own) {
    const figure = document.createElement('figure'), caption = document.createElement('figcaption');
    const heading = document.createElement('h2'), choice = document.createElement('button');
    figure.className = 'card chart';
    heading.textContent = title + (unit ? ', ' + unit : '');
    Object.assign(choice.dataset, { curve: 'own ' + key, unit, scale: 1000 });
    choice.hidden = true; // the only one
    choice.type = 'button';
    caption.append(heading, choice);
    figure.append(caption, Object.assign(document.createElement('div'), { className: 'legend' }),
                  Object.assign(document.createElement('div'), { className: 'plot' }));
    waits.before(figure);
  }
  const figures = [...document.querySelectorAll('.chart:not(#waits)')];

  const number = (value) => value.toLocaleString('en', { maximumFractionDigits: 2 });
  const shown = (value, unit) => unit === '%' ? value.toFixed(2) + ' %' : number(value) + (unit && ' ' + unit);

  // What a line adds to the first one, wherever one of the two changes.
  function difference(line, first) {
    const x = [...new Set([...line.x, ...first.x])].sort((a, b) => a - b);
    const y = x.map((at) => (height(line, at) || 0) - (height(first, at) || 0));
    return { ...line, x, y, rest: null };
  }

  // The lines of one chart: every run, and where it makes sense the load that a perfect scheduler would have taken.
  function lines(choice) {
    const name = choice.curve;
    const scale = Number(choice.scale) || (choice.unit ? 1000 : 1); // percentages come as thousandths of a percent
    const none = { load: [], time: [], y: [] };
    let result = data.runs.map((run, i) => ({
      label: run.label, colour: 'var(--c' + (i % 8) + ')', ink: colour('--c' + (i % 8)), dash: dashes[Math.floor(i / 8) % 4],
      x: (run.curves[name] || none)[state.axis], y: (run.curves[name] || none).y.map((y) => y / scale),
      rest: (run.curves[name] || none).rest,
    }));
    if ('difference' in choice) result = result.map((line) => difference(line, result[0]));
    const load_max = Math.max(0, ...result.map((line) => line.x.length ? line.x[line.x.length - 1] : 0));
    if ('limit' in choice && state.axis === 'load' && !data.departures && load_max > 0) {
      const end = Math.min(100, load_max);
      result.push({ label: 'upper limit', colour: 'var(--soft)', ink: colour('--soft'), dash: [3, 4], thin: true,
                    slope: true, x: [0, end, load_max], y: [0, end, end] });
    }
    return result;
  }

  // One row per point: dygraphs wants a common x column, and lines keep only the points where they bend.
  function rows(all) {
    const points = [];
    all.forEach((line, column) => line.x.forEach((x, i) => points.push([x, column, line.y[i]])));
    points.sort((a, b) => a[0] - b[0]); // stable, so points of one curve at one x keep their order
    return points.map(([x, column, y]) => {
      const row = new Array(all.length + 1).fill(null);
      row[0] = x;
      row[column + 1] = y;
      return row;
    });
  }

  // The height of a line at x as drawn: what an event leaves holds until the next one, and only the limit slopes.
  function height(line, x) {
    let low = 0, high = line.x.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (line.x[middle] <= x) low = middle + 1; else high = middle;
    }
    if (low === 0) return null;
    if (low === line.x.length || !line.slope) return line.y[low - 1];
    const along = (x - line.x[low - 1]) / (line.x[low] - line.x[low - 1]);
    return line.y[low - 1] + along * (line.y[low] - line.y[low - 1]);
  }

  function legend(figure, x) {
    const box = figure.querySelector('.legend');
    const chart = figure.chart;
    // At rest the legend has the figures of the tables, at the pointer those of the curves.
    chart.lines.forEach((line, i) => {
      const value = x === null || line.x.length === 0 ? null : height(line, x);
      const text = x === null && line.rest ? line.rest[0] : value === null ? '' : shown(value, chart.unit);
      box.children[i].lastChild.textContent = line.label + (text && '  ' + text);
    });
    const rest = chart.lines[0].rest;
    const at = chart.at ? (x === null ? '' : chart.at(x)) : x === null ? (rest ? rest[1] : '') : state.axis === 'time' ? 'at ' + x.toFixed(3) + ' ' + unit_name : 'at ' + x.toFixed(2) + ' % load';
    box.lastChild.textContent = at;
  }

  function build_legend(figure) {
    const chart = figure.chart;
    figure.querySelector('.legend').replaceChildren(...chart.lines.map((line, i) => {
      const button = document.createElement('button');
      const swatch = document.createElement('i');
      button.type = 'button';
      button.setAttribute('aria-pressed', 'true');
      swatch.className = 'swatch';
      swatch.style.color = line.colour;
      button.append(swatch, document.createTextNode(line.label));
      button.onclick = () => {
        const on = button.getAttribute('aria-pressed') !== 'true';
        button.setAttribute('aria-pressed', String(on));
        chart.graph.setVisibility(i, on);
      };
      return button;
    }), Object.assign(document.createElement('span'), { className: 'at' }));
    legend(figure, null);
  }

  function zoom(window) {
    state.window = window;
    document.getElementById('reset-zoom').disabled = window === null;
    for (const figure of figures) {
      if (figure.chart && figure.chart.graph) {
        // Zoomed in, the differences between the runs matter more than the distance to zero.
        figure.chart.graph.updateOptions({ dateWindow: window || figure.chart.whole, includeZero: window === null });
      }
    }
  }

  function options(figure, all, unit, whole) {
    const series = {};
    all.forEach((line, i) => {
      series[i] = { color: line.ink, strokePattern: line.dash, strokeWidth: line.thin ? 1 : 1.8, stepPlot: !line.slope };
    });
    return {
      // Positions instead of names: two runs may have equal names, and the legend is ours.
      labels: ['x', ...all.map((_, i) => String(i))], series, legend: 'never', connectSeparatedPoints: true,
      dateWindow: state.window || whole, includeZero: state.window === null, animatedZooms: false, highlightCircleSize: 3,
      gridLineColor: colour('--grid'), axisLineColor: colour('--line'), gridLineWidth: 1, xRangePad: 0, labelsKMB: false,
      xlabel: state.axis === 'time' ? 'time since the first arrival' : 'arrived load, % of all GPUs', xLabelHeight: 20, rightGap: 12,
      axes: {
        x: { axisLabelFormatter: (x) => +x.toFixed(4) + ' ' + (state.axis === 'time' ? unit_name : '%'), pixelsPerLabel: 64 },
        y: { axisLabelFormatter: (y) => unit === '%' ? +y.toFixed(3) + ' %' : number(y), axisLabelWidth: 56 },
      },
      highlightCallback: (event, x) => legend(figure, x),
      unhighlightCallback: () => legend(figure, null),
      zoomCallback: (from, to) => zoom(from <= whole[0] && to >= whole[1] ? null : [from, to]),
    };
  }

  function draw(figure) {
    const button = figure.querySelector('[data-curve][aria-pressed="true"]');
    const unit = button.dataset.unit;
    const all = lines(button.dataset);
    const plot = figure.querySelector('.plot');
    if (figure.chart && figure.chart.graph) figure.chart.graph.destroy();
    figure.chart = { lines: all, unit, graph: null };
    const table = rows(all);
    plot.classList.toggle('none', table.length === 0);
    if (table.length === 0) {
      plot.textContent = 'This run recorded no samples.';
      return;
    }
    const begin = state.axis === 'time' ? table[0][0] : 0;
    const whole = [begin, Math.max(table[table.length - 1][0], begin + 0.001)];
    figure.chart.whole = whole;
    figure.chart.graph = new Dygraph(plot, table, options(figure, all, unit, whole));
    build_legend(figure);
  }

  function press(buttons, chosen) {
    for (const button of buttons) button.setAttribute('aria-pressed', String(button === chosen));
  }

  for (const figure of figures) {
    if (data.runs.length === 1) figure.querySelector('[data-difference]')?.remove();
    const buttons = [...figure.querySelectorAll('[data-curve]')];
    press(buttons, buttons[0]);
    for (const button of buttons) button.onclick = () => { press(buttons, button); draw(figure); };
  }
  const axes = [...document.querySelectorAll('[data-axis]')];
  if (!data.clock) document.getElementById('axis-choice').remove();
  press(axes, axes.find((button) => button.dataset.axis === state.axis));
  for (const button of axes) {
    button.onclick = () => {
      press(axes, button);
      state.axis = button.dataset.axis;
      zoom(null);
      figures.forEach(draw);
    };
  }
  document.getElementById('reset-zoom').onclick = () => { zoom(null); figures.forEach(draw); };

  // The share of jobs that waited no longer than x, on a logarithmic axis that begins at a second.
  const marks = [[1, '1 s'], [10, '10 s'], [60, '1 min'], [600, '10 min'], [3600, '1 h'], [6 * 3600, '6 h'], [86400, '1 d'],
                 [10 * 86400, '10 d'], [100 * 86400, '100 d'], [1000 * 86400, '1000 d']];
  const logarithm = (seconds) => Math.log10(Math.max(1, seconds));
  const duration = (seconds) => {
    const [length, unit] = [[86400, 'd'], [3600, 'h'], [60, 'min']].find(([size]) => seconds >= 2 * size) || [1, 's'];
    return number(seconds / length) + ' ' + unit;
  };

  function wait_lines(group) {
    const all = data.runs.map((run, i) => {
      const { ms, share } = run.waits.find((waits) => waits.group === group) || { ms: [], share: [] };
      const x = [], y = [];
      const shares = sums(share);
      sums(ms).forEach((wait, j) => {
        const at = logarithm(wait / 1000);
        if (x.length > 0 && x[x.length - 1] === at) y[y.length - 1] = shares[j] / 1000;
        else { x.push(at); y.push(shares[j] / 1000); }
      });
      if (x.length > 0 && x[0] > 0) { x.unshift(0); y.unshift(0); }
      return { label: run.label, colour: 'var(--c' + (i % 8) + ')', ink: colour('--c' + (i % 8)), dash: dashes[Math.floor(i / 8) % 4],
               x, y, rest: null };
    });
    const end = Math.max(1, ...all.map((line) => line.x.length ? line.x[line.x.length - 1] : 0));
    for (const line of all) if (line.x.length > 0 && line.x[line.x.length - 1] < end) { line.x.push(end); line.y.push(100); }
    return { all, end };
  }

  function draw_waits() {
    const group = waits.querySelector('select').value;
    const { all, end } = wait_lines(group);
    if (waits.chart) waits.chart.graph.destroy();
    waits.chart = { lines: all, unit: '%', whole: [0, end], at: (x) => 'waited ' + (x <= 0 ? '1 s or less' : 'up to ' + duration(10 ** x)) };
    const chosen = options(waits, all, '%', [0, end]);
    const ticks = marks.map(([seconds, label]) => ({ v: logarithm(seconds), label })).filter(({ v }) => v <= end);
    const room = 50 * end / waits.querySelector('.plot').clientWidth; // for a label
    const apart = [];
    for (const tick of ticks) if (apart.length === 0 || tick.v - apart[apart.length - 1].v >= room) apart.push(tick);
    waits.chart.graph = new Dygraph(waits.querySelector('.plot'), rows(all), {
      ...chosen, dateWindow: [0, end], includeZero: true, valueRange: [0, 102], zoomCallback: null,
      xlabel: 'waited no longer than', axes: { ...chosen.axes, x: { ticker: () => apart } },
    });
    build_legend(waits);
  }

  function set_up_waits() {
    const groups = [...new Set(data.runs.flatMap((run) => run.waits.map((waits) => waits.group)))];
    if (groups.length === 0) return waits.remove();
    waits.hidden = false;
    waits.querySelector('select').replaceChildren(...groups.map((group) => new Option(group || 'all jobs', group)));
    waits.querySelector('.choice').hidden = groups.length === 1;
    waits.querySelector('select').onchange = draw_waits;
    draw_waits();
  }

  figures.forEach(draw);
  set_up_waits();
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
    figures.forEach(draw);
    if (waits.chart) draw_waits();
  });
}());
