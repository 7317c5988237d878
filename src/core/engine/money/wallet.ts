import { answerOf, type Client } from "../../api/index.ts";
import type { RunRepository } from "../../journal/run-repository.ts";
import type { JournalStore } from "../../journal/store.ts";
import { WalletShortError } from "../errors.ts";

/** Others may spend from the same wallet: a balance is believed for so long. */
const BELIEVED_MS = 10_000;
/** A submit waits for it: it goes before other requests. */
const PRIORITY = 200;

/** A balance, and the account's mark from before it was read. */
export interface WalletReading {
  readonly balanceMicros: number;
  readonly mark: number;
}

/**
 * The wallet's balance, asked for rarely: what runs of this journal reserved or were charged since is added up by the
 * journal, so that an old balance is as good as a new one until somebody else spends or pays in.
 */
export class Wallet {
  readonly #parts: {
    readonly client: Client;
    readonly store: JournalStore;
    readonly account: string;
    readonly now: () => number;
  };
  #last: { readonly askedAt: number; readonly reading: Promise<WalletReading> } | null = null;

  constructor(parts: {
    readonly client: Client;
    readonly store: JournalStore;
    readonly account: string;
    readonly now: () => number;
  }) {
    this.#parts = parts;
  }

  /** Asks when the last answer is older than ten seconds, or when it must be `fresh`. */
  balance(fresh: boolean): Promise<WalletReading> {
    const now = this.#parts.now();
    if (!fresh && this.#last !== null && now - this.#last.askedAt < BELIEVED_MS) return this.#last.reading;
    const reading = this.#ask();
    this.#last = { askedAt: now, reading };
    reading.catch(() => {
      if (this.#last?.reading === reading) this.#last = null;
    });
    return reading;
  }

  async #ask(): Promise<WalletReading> {
    const { client, store, account } = this.#parts;
    const { mark } = await store.accountLedger(account);
    const { balanceMicros } = await client.balance({ priority: PRIORITY });
    return { balanceMicros, mark };
  }
}

/** What the wallet holds, micro-dollars; null where the service does not say, whatever the reason. */
async function balanceOf(client: Client): Promise<number | null> {
  try {
    return (await client.balance()).balanceMicros;
  } catch (error) {
    if (answerOf(error) === null) throw error;
    return null;
  }
}

/** The balance for those who only look at it, such as rows of a bulk start: read once for all who ask within ten seconds. */
export class GlancedBalance {
  readonly #client: Client;
  readonly #now: () => number;
  #last: { readonly askedAt: number; readonly micros: Promise<number | null> } | null = null;

  constructor(client: Client, now: () => number) {
    this.#client = client;
    this.#now = now;
  }

  /** Null where the service does not say. One that is too small for `neededMicros` may have been paid in to: it is asked again. */
  async micros(neededMicros: number): Promise<number | null> {
    const last = this.#last;
    const known = last !== null && this.#now() - last.askedAt < BELIEVED_MS ? last : this.#ask();
    const micros = await known.micros;
    const isOld = known === last && (micros === null || micros < neededMicros);
    // Of all who find it short, the first asks.
    return isOld ? (this.#last === known || this.#last === null ? this.#ask() : this.#last).micros : micros;
  }

  #ask() {
    const asked = { askedAt: this.#now(), micros: balanceOf(this.#client) };
    this.#last = asked;
    asked.micros.catch(() => {
      if (this.#last === asked) this.#last = null;
    });
    return asked;
  }
}

/** Throws where the wallet surely cannot carry the price: the run would stop half-way, with the first part paid. */
export async function checkWallet(
  balance: GlancedBalance,
  repository: RunRepository,
  leastMicros: number,
): Promise<void> {
  const balanceMicros = leastMicros === 0 ? null : await balance.micros(leastMicros);
  if (balanceMicros === null || balanceMicros >= leastMicros) return;
  const runs = await repository.recent(10);
  const fundingUrl = runs.map(({ pause }) => pause?.fundingUrl ?? null).find((url) => url !== null) ?? null;
  throw new WalletShortError({ leastMicros, balanceMicros, fundingUrl });
}
