// The cluster at each moment of a run, from the changes in the page's data. docs/report.md describes the encoding.
function read_history(history, cell_count) {
  'use strict';
  const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
  const value_of = new Uint8Array(128);
  [...digits].forEach((digit, value) => { value_of[digit.charCodeAt(0)] = value; });

  // Five bits a digit, the lowest first; 32 says that more follow.
  const text = history.changes;
  const numbers = new Uint32Array(text.length);
  let count = 0, number = 0, shift = 0;
  for (let i = 0; i < text.length; ++i) {
    const digit = value_of[text.charCodeAt(i)];
    number += (digit & 31) * 2 ** shift;
    shift += 5;
    if (digit < 32) { numbers[count++] = number; number = 0; shift = 0; }
  }
  const begins = []; // of each moment's changes
  for (let at = 0; at < count; at += 1 + 2 * numbers[at]) begins.push(at);

  const sums = (differences) => { let sum = 0; return differences.map((difference) => (sum += difference)); };
  const looks = history.looks.map(([slices, closed, used, ...rest]) => {
    const parts = [];
    for (let i = 0; i < rest.length; i += 3) parts.push({ first: rest[i], length: rest[i + 1], label: rest[i + 2] });
    return { slices, closed: closed === 1, used, parts };
  });
  const cells = new Uint32Array(cell_count);
  let now = -1; // the moment that `cells` is of

  return {
    moments: begins.length, shown: history.shown, labels: history.labels, has_parts: history.parts,
    time: sums(history.time), load: sums(history.load), allocated: sums(history.allocated),
    // Whether something in the run can be seen at all: slices, stranded slices, closed devices.
    has_slices: looks.some((look) => look.slices > 0),
    has_stranded: looks.some((look) => look.parts.some((part) => part.label === -1)),
    has_closed: looks.some((look) => look.closed),
    // Goes to a moment; going back begins anew, which takes milliseconds.
    seek(moment) {
      if (moment < now) { cells.fill(0); now = -1; }
      while (now < moment) {
        ++now;
        let cell = 0;
        for (let i = begins[now] + 1, end = i + 2 * numbers[begins[now]]; i < end; i += 2) {
          cell += numbers[i];
          cells[cell] = numbers[i + 1];
        }
      }
    },
    look: (cell) => looks[cells[cell]],
    look_number: (cell) => cells[cell],
  };
}
