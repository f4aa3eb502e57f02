// Only the last question counts: a new one cancels the request in progress, and late answers are dropped.

export class Latest {
  /** @param {number} [delay] milliseconds of quiet before a question is sent */
  constructor(delay = 0) {
    this.delay = delay;
    /** @type {AbortController | null} */
    this.running = null;
  }

  /** Cancel the question in progress, if any. */
  stop() {
    this.running?.abort();
    this.running = null;
  }

  /** Whether a question is waiting for its answer. */
  get busy() {
    return this.running !== null;
  }

  /**
   * Ask; `done` or `failed` is called only if no newer question was asked meanwhile.
   * @template T
   * @param {(signal: AbortSignal) => Promise<T>} task
   * @param {(answer: T) => void} done
   * @param {(problem: any) => void} failed
   */
  async run(task, done, failed) {
    this.stop();
    const mine = new AbortController();
    this.running = mine;
    if (this.delay) await new Promise((resolve) => setTimeout(resolve, this.delay));
    if (this.running !== mine) return;
    const report = await task(mine.signal).then(
      (answer) => () => done(answer),
      (problem) => () => failed(problem),
    );
    if (this.running !== mine) return;
    this.running = null;
    report();
  }
}
