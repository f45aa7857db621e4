// @ts-check
// Numbers and commands as the terminal has them.

/** Milli-GPU in GPUs to a tenth. @param {number} milli */
export const gpus = (milli) => (milli / 1000).toFixed(1);

/**
 * Amounts in tenths of a GPU that add up as the terminal's do: rounded down, and then the largest remainders up.
 * @param {number[]} parts milli-GPU @returns {number[]}
 */
export function in_tenths(parts) {
  const tenths = parts.map((milli) => Math.floor(milli / 100));
  const order = parts.map((_, i) => i).sort((left, right) => (parts[right] % 100) - (parts[left] % 100));
  let rest = Math.round(parts.reduce((sum, milli) => sum + milli, 0) / 100) - tenths.reduce((sum, tenth) => sum + tenth, 0);
  for (const i of order) if (rest-- > 0) ++tenths[i];
  return tenths.map((tenth) => tenth * 100);
}

/**
 * A text of a terminal with its long lines in one piece: a sentence goes on below, two spaces set in; the last cell of a row below itself.
 * @param {string} text
 */
export const unwrapped = (text) => text.split('\n').reduce((/** @type {string[]} */ lines, line) => {
  const last = lines.length - 1;
  const goes_on = /^ {3,}\S/.test(line) ? /\S {2,}\S/.test(lines[last] ?? '') && !/\S {2,}\S/.test(line) : /^ {2}\S+( \S+)*$/.test(line) && /^\S+( \S+)*$/.test(lines[last] ?? '');
  if (goes_on) lines[last] += ' ' + line.trim();
  else lines.push(line);
  return lines;
}, []).join('\n');

/** What flags are called on the page. @type {Record<string, string>} */
const names_of_flags = { '--find-layout': 'Find layout', '--find-nodes': 'Find nodes', '--add-nodes': 'Add nodes', '--add-pods': 'Add pods', '--set-mode': 'Cut MIG or Other mode', '--drain': 'Drain', '--fail': 'Fail',
  '--uncordon': 'Uncordon', '--policy': 'Other policy', '--anew': 'Place all anew', '--moves': 'Moves, at most' };

/** What the program says of a value that it does not take, without the words of a command line. @param {string} message */
export const words_of_refusal = (message) => message.replace(/^--[\w-]+: /, '').replace(/got '([^']*)', expected (.*)/s, (_, value, expected) =>
  (expected.startsWith('none ') ? `${value} cannot be ${expected.slice(5)}` : /^[A-Z]/.test(expected) ? `${value}: expected ${expected}` : `${value} is not ${expected}`))
  .replaceAll(/--[a-z-]+/g, (flag) => names_of_flags[flag] ?? flag);

/** Why there is no plan of moves, as `vgpusim plan` says it. @param {{ reason: string | null, moves_ruled_out: number }} plan @param {number} most so many moves are allowed */
export function words_of_no_plan({ reason, moves_ruled_out }, most) {
  const [allowed, none_with] = [counted(most, 'move'), `there is none with ${counted(moves_ruled_out, 'move')}`];
  return {
    none_within_moves: `there is none with ${allowed}: all of them were looked at`, over_downtime: `each with ${allowed} costs more downtime than is allowed`,
    not_found: `none was found with ${allowed}, and ${none_with}`, step_limit: `the search came to its limit of steps; ${none_with}`,
  }[reason ?? ''] ?? 'no moves were found';
}

/** Rows of a what-if about what is free, as its table names them: slices and replicas go by their model, unless it is shared in several ways of which that is so. @param {{ kind: string | null, part: string }[]} parts @returns {string[]} */
export function names_of_free_parts(parts) {
  return parts.map(({ kind, part }) => {
    if (!kind) return `mig-${part} free`;
    if (part === 'gpu') return `${kind} free`;
    const model = model_of(kind);
    const is_alone = parts.filter((other) => other.part === part && other.kind && model_of(other.kind) === model).length === 1;
    return (is_alone ? model : kind) + (part === 'slice' ? ' largest MiB' : ' replicas, one node');
  });
}

/** A kind is a model and how it is shared: "A100-80GB mig all-balanced". @param {string} kind */
export const model_of = (kind) => kind.replace(/ (?:mig(?: \S+)?|(?:mps|time-slicing) x\d+|[a-z][a-z\d-]*)$/, '');

/** A number with its sign. @param {number} number @param {(number: number) => string} words */
export const signed = (number, words = String) => (number > 0 ? '+' : number < 0 ? '-' : '') + words(Math.abs(number));

/** @param {number} count @param {string} one @param {string} [many] */
export const counted = (count, one, many = one + 's') => `${count} ${count === 1 ? one : many}`;

/** As a shell reads it back. @param {string} text */
export const quoted = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : "'" + text.replaceAll("'", "'\\''") + "'");

/** The command line of some arguments. @param {string[]} args */
export const command_line = (args) => ['vgpusim', ...args].map(quoted).join(' ');

/**
 * The arguments of a command as an answer of ours prints it: words with quotes as quoted() writes them.
 * @param {string} command @returns {string[]}
 */
export function arguments_of(command) {
  const words = [];
  for (const [, word] of command.matchAll(/((?:[^\s'\\]|\\.|'[^']*')+)/g)) {
    words.push(word.replaceAll(/\\(.)|'([^']*)'/g, (_, escaped, inside) => escaped ?? inside));
  }
  return words.slice(1);
}

/** "11-25 13:00Z" of an ISO time, or "-". @param {string | null} time */
export const moment = (time) => (time ? `${time.slice(5, 10)} ${time.slice(11, 16)}Z` : '-');

/** @param {number} seconds */
export const span = (seconds) => (seconds < 10 ? seconds.toFixed(1) : String(Math.round(seconds))) + ' s';
