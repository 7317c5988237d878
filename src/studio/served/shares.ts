import { BusyRefusal } from "./for-callers.ts";

interface Limits {
  /** Maximum amount for one owner. Default: no limit. */
  readonly each?: number;
  readonly all: number;
  readonly retryAfterS: number;
  readonly what: string;
  readonly lentMs?: number;
}

/**
 * Divides a limited amount among owners. An owner that already has a share gets more only if this leaves at least as
 * much for others as the owner then has in total.
 */
export class Shares {
  readonly #limits: Limits;
  readonly #held = new Map<string, number>();
  readonly #lent = new Set<{ readonly owner: string; readonly until: number }>();
  #sum = 0;

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  /**
   * Reserves an amount for an owner. @throws Refusal 429 if the owner would exceed its share, 503 if too little is left
   */
  take(owner: string, amount: number): void {
    const { each = Number.POSITIVE_INFINITY, all, what, retryAfterS } = this.#limits;
    const had = this.#held.get(owner) ?? 0;
    if (had + amount > each || (had > 0 && had + amount > all - this.#sum - amount)) {
      const message = `You have too many ${what} on this server. Try again later.`;
      throw new BusyRefusal(429, message, retryAfterS);
    }
    if (amount > all - this.#sum) {
      throw new BusyRefusal(503, "This server is too busy. Try again later.", retryAfterS);
    }
    this.add(owner, amount);
  }

  /** Reserves an amount of 1 for at least `lentMs` milliseconds. Later calls release expired reservations. */
  lend(owner: string, now: number): void {
    for (const loan of this.#lent) {
      if (loan.until > now) break;
      this.#lent.delete(loan);
      this.free(loan.owner, 1);
    }
    this.take(owner, 1);
    this.#lent.add({ owner, until: now + (this.#limits.lentMs ?? 0) });
  }

  /** Adds an amount that is already in use, without checking the limits. */
  add(owner: string, amount: number): void {
    this.#sum += amount;
    this.#held.set(owner, (this.#held.get(owner) ?? 0) + amount);
  }

  free(owner: string, amount: number): void {
    this.#sum -= amount;
    const left = (this.#held.get(owner) ?? 0) - amount;
    if (left > 0) this.#held.set(owner, left);
    else this.#held.delete(owner);
  }
}

/** Calls `work` after all earlier calls with the same key have ended. */
export async function inTurn<T>(turns: Map<string, Promise<unknown>>, key: string, work: () => Promise<T>): Promise<T> {
  const before = turns.get(key) ?? Promise.resolve();
  const own = before.then(work, work);
  turns.set(key, own);
  try {
    return await own;
  } finally {
    if (turns.get(key) === own) turns.delete(key);
  }
}
