import { Refusal } from "../../served/index.ts";

const WINDOW_MS = 600_000;
const MOST_OF_ONE = 20;
const MOST_OF_ALL = 1000;

/**
 * Counts wrong tokens, by address and in all. Over either number whoever asks is refused unheard until the window is over, but for
 * addresses that showed a right token before: guesses of others lock no client out.
 */
export class Tries {
  readonly #wrong = new Map<string, number>();
  readonly #welcome = new Set<string>();
  #total = 0;
  #endsAt = 0;

  /** Every try counts as wrong until it is known to be right: those that come at once are counted too. @throws Refusal 429 */
  begin(address: string, now: number): void {
    if (now >= this.#endsAt) {
      this.#wrong.clear();
      this.#total = 0;
      this.#endsAt = now + WINDOW_MS;
    }
    const isWelcome = this.#welcome.has(address);
    const wrong = this.#wrong.get(address) ?? 0;
    if (wrong >= MOST_OF_ONE || (this.#total >= MOST_OF_ALL && !isWelcome)) {
      throw new Refusal(429, "TOO_MANY_TRIES", "Too many wrong links were tried from here. Try again in ten minutes.");
    }
    if (!isWelcome) this.#count(address, 1);
  }

  wrong(address: string): void {
    if (this.#welcome.has(address)) this.#count(address, 1);
  }

  right(address: string): void {
    if (!this.#welcome.delete(address)) this.#count(address, -1);
    this.#welcome.add(address);
    const oldest = this.#welcome.keys().next();
    if (this.#welcome.size > MOST_OF_ALL && oldest.done !== true) this.#welcome.delete(oldest.value);
  }

  #count(address: string, by: 1 | -1): void {
    this.#total = Math.max(0, this.#total + by);
    const wrong = (this.#wrong.get(address) ?? 0) + by;
    if (wrong > 0) this.#wrong.set(address, wrong);
    else this.#wrong.delete(address);
  }
}
