// @ts-check
// Questions to the thread that calculates.

/**
 * @typedef {{ code: number, stdout: string, stderr: string, written: Map<string, Uint8Array>, ms: number }} Answer
 * `code`: 0, or 2 with one line in `stderr` that says what is wrong with the question.
 */

/** @typedef {{ topic: string, message: any, resolve: (answer: any) => void, reject: (why: Error) => void }} Question */

/** Thrown to whoever waits for an answer that nobody wants any more. */
export class Dropped extends Error {}

/** Thrown for a question or a file that there is no answer to; the message says why, and the program has no mistake. */
export class Refused extends Error {}

/** Answers that are remembered; one of so many letters counts as two. */
const most_answers = 24;
const most_letters = 4_000_000;

export class Asker {
  /** @param {string} worker_text @param {string[]} module_pieces the module as the worker unpacks it */
  constructor(worker_text, module_pieces) {
    this.worker_text = worker_text;
    this.module_pieces = module_pieces;
    /** @type {[string, Blob][]} */
    this.files = [];
    /** @type {Question[]} */
    this.waiting = [];
    /** @type {Question | null} */
    this.running = null;
    this.number = 0;
    /** Answers by their arguments, the last one at the end: who goes back to a tab does not wait again. @type {Map<string, Answer>} */
    this.answers = new Map();
    /** What a long run shows of itself. @type {(text: string) => void} */
    this.hear_progress = () => {};
    this.begin();
  }

  begin() {
    const address = URL.createObjectURL(new Blob([this.worker_text], { type: 'text/javascript' }));
    this.worker = new Worker(address);
    URL.revokeObjectURL(address);
    this.worker.onmessage = ({ data }) => this.hear(data);
    this.worker.postMessage({ type: 'module', pieces: this.module_pieces });
    if (this.files.length > 0) this.worker.postMessage({ type: 'files', files: this.files });
  }

  /** The files that all later questions are about. @param {[string, Blob][]} files */
  use(files) {
    this.files = files;
    this.answers.clear();
    this.worker?.postMessage({ type: 'files', files });
  }

  /** One file more, or in the place of the one of its name. @param {string} name @param {Blob} content */
  put(name, content) {
    if (this.files.some(([other]) => other === name)) this.answers.clear();
    this.files = [...this.files.filter(([other]) => other !== name), [name, content]];
    this.worker?.postMessage({ type: 'file', name, content });
  }

  /**
   * Of one topic only the last question is answered: sliders ask more often than there is time for.
   * @param {string} topic @param {string[]} args @returns {Promise<Answer>}
   */
  async ask(topic, args) {
    const key = args.join('\0');
    const known = this.answers.get(key);
    this.drop(topic);
    if (known) return known;
    const { files } = this;
    const answer = await this.send(topic, { type: 'ask', args });
    if (files !== this.files) return answer; // it is about other files than the next question
    this.answers.set(key, answer);
    let size = 0;
    for (const [other, { stdout }] of [...this.answers].reverse()) if ((size += 1 + stdout.length / most_letters) > most_answers) this.answers.delete(other);
    return answer;
  }

  /**
   * Looks something up in the objects of the files. @param {string} what @param {string[]} about the files @param {any} question @returns {Promise<any>}
   */
  async look(what, about, question) {
    return (await this.send(what, { type: 'look', what, about, question })).result;
  }

  /** @param {string} topic @param {any} message @returns {Promise<any>} */
  send(topic, message) {
    this.drop(topic);
    return new Promise((resolve, reject) => {
      this.waiting.push({ topic, message, resolve, reject });
      this.next();
    });
  }

  /** @param {string} topic */
  drop(topic) {
    for (const question of this.waiting.filter((entry) => entry.topic === topic)) question.reject(new Dropped());
    this.waiting = this.waiting.filter((entry) => entry.topic !== topic);
  }

  next() {
    if (this.running) return;
    const question = this.waiting.shift();
    if (!question) return;
    this.running = question;
    this.worker?.postMessage({ ...question.message, id: ++this.number });
  }

  /** @param {any} data */
  hear(data) {
    const question = this.running;
    if (data.type === 'broken') {
      this.running = null;
      question?.reject(new Error(data.message));
      return;
    }
    if (data.id !== this.number || !question) return;
    if (data.type === 'progress') {
      this.hear_progress(data.text);
      return;
    }
    this.running = null;
    if (data.type === 'failed') question.reject(new Error(data.message));
    else question.resolve(data);
    this.next();
  }

  /** Ends what is being calculated, by ending the thread, and drops what waits for it; the next question has a new thread. */
  stop() {
    const questions = [this.running, ...this.waiting];
    this.running = null;
    this.waiting = [];
    this.worker?.terminate();
    this.begin();
    for (const question of questions) question?.reject(new Dropped());
  }
}
