// A few nodes at a time, every device as a bar: MIG instances in their slices, shares side by side.
function occupancy_closeup(box, history_of) {
  'use strict';
  const pager = box.querySelector('.pager'), list = box.querySelector('.nodes'), where = box.querySelector('.where');
  const [previous, next] = pager.querySelectorAll('button');
  const search = box.querySelector('input');
  const colours = 7; // labels beyond the most frequent ones share the last colour
  let columns = [], page = 0, bars = [];

  const page_size = () => innerWidth >= 860 ? 12 : 4;
  const class_of = (label) => label === -1 ? 'stranded' : 'c' + (label < 0 || label >= colours ? colours : label);
  const name_of = (label) => label === -1 ? 'stranded' : label < 0 ? 'other' : history_of().labels[label];

  function sentence(gpu, look) {
    const parts = look.parts.filter((part) => part.label !== -1).map((part) => look.slices > 0
      ? name_of(part.label) + ' from slice ' + part.first : name_of(part.label) + ' ' + part.length / 10 + ' %');
    const stranded = look.parts.filter((part) => part.label === -1).length;
    return 'GPU ' + gpu + ': ' + (parts.length ? parts.join(', ') : look.used ? 'in use' : 'empty') +
      (stranded ? ', ' + stranded + ' of ' + look.slices + ' slices stranded' : '') +
      '; ' + look.used / 10 + ' % in use' + (look.closed ? '; takes nothing new' : '');
  }

  // Parts without a place of their own stand side by side. Where they add up to more than the device they shrink.
  function fill(bar) {
    const number = history_of().look_number(bar.cell);
    if (bar.number === number) return;
    bar.number = number;
    const look = history_of().look(bar.cell);
    const whole = look.slices || Math.max(1000, look.parts.reduce((sum, part) => sum + part.length, 0));
    bar.element.style.setProperty('--slices', look.slices);
    bar.element.className = 'bar' + (look.slices ? ' sliced' : '') + (look.closed ? ' closed' : '');
    let from = 0;
    const parts = look.parts.map((part) => {
      const element = document.createElement('span');
      const first = look.slices ? part.first : from;
      from += part.length;
      element.className = 'part ' + class_of(part.label);
      element.style.left = 100 * first / whole + '%';
      element.style.width = 100 * part.length / whole + '%';
      if (part.label !== -1) element.textContent = (look.slices || part.length >= 1000 ? '' : part.length / 10 + ' % ') + name_of(part.label);
      return element;
    });
    if (!history_of().has_parts && look.used) {
      const element = document.createElement('span');
      element.className = 'part c0';
      element.style.width = look.used / 10 + '%';
      parts.push(element);
    }
    bar.element.replaceChildren(...parts);
    bar.element.setAttribute('aria-label', sentence(bar.gpu, look));
    bar.element.title = sentence(bar.gpu, look);
  }

  function card(column) {
    const node = document.createElement('div');
    const title = document.createElement('h4');
    node.className = 'node';
    title.textContent = column.name;
    title.append(Object.assign(document.createElement('span'), { textContent: column.model }));
    node.append(title);
    for (let gpu = 0; gpu < column.gpus; ++gpu) {
      const row = document.createElement('div'), index = document.createElement('span'), bar = document.createElement('div');
      row.className = 'device';
      index.textContent = gpu;
      bar.setAttribute('role', 'img');
      row.append(index, bar);
      node.append(row);
      bars.push({ element: bar, cell: column.cell + gpu, gpu, number: -1 });
    }
    return node;
  }

  function turn_to(wanted) {
    const size = page_size(), last = Math.max(0, Math.ceil(columns.length / size) - 1);
    page = Math.max(0, Math.min(last, wanted));
    const begin = page * size, end = Math.min(columns.length, begin + size);
    bars = [];
    list.replaceChildren(...columns.slice(begin, end).map(card));
    where.textContent = columns.length === 0 ? '' : 'Nodes ' + (begin + 1).toLocaleString('en') + ' to ' +
      end.toLocaleString('en') + ' of ' + columns.length.toLocaleString('en');
    previous.disabled = page === 0;
    next.disabled = page === last;
    pager.hidden = last === 0;
    bars.forEach(fill);
  }

  previous.onclick = () => turn_to(page - 1);
  next.onclick = () => turn_to(page + 1);
  search.oninput = () => {
    const wanted = search.value.trim().toLowerCase();
    const position = columns.findIndex((column) => column.name.toLowerCase().includes(wanted));
    search.setAttribute('aria-invalid', String(position < 0));
    if (wanted && position >= 0) { turn_to(Math.floor(position / page_size())); highlight(columns[position]); }
  };

  function highlight(column) {
    const cell = columns.indexOf(column) - page * page_size();
    [...list.children].forEach((node, i) => node.classList.toggle('chosen', i === cell));
  }

  return {
    class_of,
    show(all, first) { columns = all; turn_to(first ? Math.floor(columns.indexOf(first) / page_size()) : page); },
    turn_to_column(column) { turn_to(Math.floor(columns.indexOf(column) / page_size())); highlight(column); },
    fits_on_a_page: () => columns.length <= page_size(),
    update() { bars.forEach(fill); },
    resize() { turn_to(page); },
  };
}
