/** Caches the service's answers for a limited time. */
export class KeptAnswers<T> {
  readonly #kept = new Map<string, { readonly at: number; readonly answer: Promise<T> }>();
  readonly #now: () => number;
  readonly #keepMs: number;

  constructor(now: () => number, keepMs: number) {
    this.#now = now;
    this.#keepMs = keepMs;
  }

  /** Returns the cached answer, or asks. A failure is not cached. */
  once(key: string, ask: () => Promise<T>): Promise<T> {
    const kept = this.#kept.get(key);
    if (kept !== undefined && this.#now() - kept.at < this.#keepMs) return kept.answer;
    const answer = ask();
    this.#kept.set(key, { at: this.#now(), answer });
    answer.catch(() => this.#kept.delete(key));
    return answer;
  }
}
