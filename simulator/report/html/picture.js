// The node × GPU picture: one cell per GPU, a column per node (or per few nodes of a large cluster), wrapped like text.
function occupancy_picture(canvas, on_choice) {
  'use strict';
  const title_height = 22, gap = 12;
  let blocks = [];      // where each group of columns is drawn, for the pointer
  let order = [];       // all columns as they are drawn, for the keyboard
  let chosen = null;    // the column that the close-up shows
  let sources = null;   // groups and history that are drawn

  // From light to dark, told apart by colour-blind readers and in grey print (ColorBrewer YlGnBu).
  const stops = [[255, 255, 229], [199, 233, 180], [65, 182, 196], [34, 94, 168], [8, 29, 88]];
  const ramp = Array.from({ length: 1001 }, (_, milli) => {
    const at = milli / 1000 * (stops.length - 1), low = Math.min(Math.floor(at), stops.length - 2);
    return 'rgb(' + stops[low].map((c, i) => Math.round(c + (stops[low + 1][i] - c) * (at - low))).join() + ')';
  });
  const percent = (part) => (100 * part).toFixed(1) + ' %';
  const used_in = (column, gpus) => {
    let sum = 0;
    for (let gpu = 0; gpu < gpus; ++gpu) sum += sources.history.look(column.cell + gpu).used;
    return sum;
  };

  // Blocks flow left to right; a group that needs more than one band of columns has the whole width.
  function arrange(width, context) {
    const { groups } = sources;
    const total = groups.reduce((sum, group) => sum + group.columns.length, 0);
    const cell = total <= 64 ? 16 : total <= 400 ? 10 : total <= 1600 ? 7 : 5;
    const pitch = cell + 1, per_band = Math.max(1, Math.floor(width / pitch));
    let x = 0, y = 0, line = 0;
    const placed = groups.map((group) => {
      const bands = Math.ceil(group.columns.length / per_band);
      const band = group.gpus * pitch + 5;
      const used = group.columns.reduce((sum, column) => sum + used_in(column, group.gpus) * column.nodes, 0);
      const label = group.model + ' · ' + group.nodes.toLocaleString('en') + ' × ' + group.gpus + ' GPU · ';
      const title = label + percent(used / (1000 * group.nodes * group.gpus));
      // As wide as it could get, so that nothing moves while time passes.
      const title_width = context.measureText(label + '100.0 %').width;
      const needs = Math.min(width, Math.max(Math.min(group.columns.length, per_band) * pitch, title_width));
      if (x > 0 && x + needs > width) { x = 0; y += line + gap; line = 0; }
      const block = { group, title, x, y, top: y + title_height, cell, pitch, per_band, band };
      line = Math.max(line, title_height + bands * band);
      x += needs + 2 * gap;
      return block;
    });
    return { placed, height: y + line };
  }

  function draw() {
    const width = canvas.parentElement.clientWidth - 20;
    const context = canvas.getContext('2d');
    const font = '12px system-ui, sans-serif';
    context.font = font;
    const { placed, height } = arrange(width, context);
    const density = devicePixelRatio || 1;
    canvas.width = Math.round(width * density);
    canvas.height = Math.round(height * density);
    canvas.style.height = height + 'px';
    context.scale(density, density);
    context.font = font;
    context.textBaseline = 'top';
    const style = getComputedStyle(canvas);
    const ink = style.color, mark = style.getPropertyValue('--mark-line').trim();
    order = [];
    for (const block of placed) {
      context.fillStyle = ink;
      context.fillText(block.title, block.x, block.y + 3);
      block.group.columns.forEach((column, i) => {
        const x = block.x + i % block.per_band * block.pitch, y = block.top + Math.floor(i / block.per_band) * block.band;
        order.push(column);
        for (let gpu = 0; gpu < block.group.gpus; ++gpu) {
          const look = sources.history.look(column.cell + gpu), top = y + gpu * block.pitch;
          context.fillStyle = ramp[Math.min(1000, look.used)];
          context.fillRect(x, top, block.cell, block.cell);
          if (!look.closed) continue;
          context.strokeStyle = mark;
          context.lineWidth = 1.5;
          context.beginPath();
          context.moveTo(x, top);
          context.lineTo(x + block.cell, top + block.cell);
          context.moveTo(x + block.cell, top);
          context.lineTo(x, top + block.cell);
          context.stroke();
        }
        if (column === chosen) {
          context.strokeStyle = mark;
          context.lineWidth = 2;
          context.strokeRect(x - 1, y - 1, block.cell + 2, block.group.gpus * block.pitch + 1);
        }
      });
    }
    blocks = placed;
  }

  function at(event) {
    const box = canvas.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
    for (const block of blocks) {
      const across = Math.floor((x - block.x) / block.pitch), band = Math.floor((y - block.top) / block.band);
      const gpu = Math.floor((y - block.top - band * block.band) / block.pitch);
      if (across < 0 || across >= block.per_band || band < 0 || gpu >= block.group.gpus) continue;
      const column = block.group.columns[band * block.per_band + across];
      if (column) return { group: block.group, column, gpu };
    }
    return null;
  }

  function choose(column) {
    chosen = column;
    draw();
    on_choice(column);
  }

  canvas.onclick = (event) => {
    const hit = at(event);
    if (hit) choose(hit.column);
  };
  canvas.onkeydown = (event) => {
    const per_band = blocks.length ? blocks[0].per_band : 1;
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: per_band, ArrowUp: -per_band, Home: -Infinity, End: Infinity }[event.key];
    if (step === undefined || order.length === 0) return;
    event.preventDefault();
    const next = Math.max(0, Math.min(order.length - 1, order.indexOf(chosen) + step));
    choose(order[next]);
  };

  return {
    ramp, at, draw,
    show(groups, history) { sources = { groups, history }; draw(); },
    mark(column) { chosen = column; draw(); },
    used_in,
  };
}
