import { MINUTE_MS } from "../../../core/kit/duration.ts";
import type { Showrunner } from "../../../index.ts";
import { cut } from "../views/truncate.ts";

// Each request for the balance counts towards the rate limit that jobs share.
const BALANCE_MS = 15_000;

interface Balance {
  readonly balanceMicros: number | null;
  readonly balanceError: string | null;
}

export class GaugeReader {
  readonly #show: () => Pick<Showrunner, "balance" | "client">;
  readonly #onLost: () => void;
  readonly #now: () => number;
  #balance: { readonly at: number; readonly answer: Promise<Balance> } | null = null;
  #sent: { readonly at: number; readonly total: number }[] = [];

  constructor(show: () => Pick<Showrunner, "balance" | "client">, onLost: () => void, now: () => number = Date.now) {
    this.#show = show;
    this.#onLost = onLost;
    this.#now = now;
  }

  async read() {
    return { ...(await this.#readBalance()), pace: this.#pace() };
  }

  forgetBalance(): void {
    this.#balance = null;
  }

  #readBalance(): Promise<Balance> {
    const at = this.#now();
    if (this.#balance === null || at - this.#balance.at >= BALANCE_MS) {
      const answer = this.#show()
        .balance()
        .then(
          ({ balanceMicros }) => ({ balanceMicros, balanceError: null }),
          (error: unknown) => {
            this.#onLost();
            return { balanceMicros: null, balanceError: cut(String((error as Error)?.message ?? error), 300) };
          },
        );
      this.#balance = { at, answer };
    }
    return this.#balance.answer;
  }

  #pace() {
    const { sent, inFlight = 0, queued = 0, pausedUntil = null, limit = null } = this.#show().client.pace();
    const at = this.#now();
    this.#sent = [...this.#sent.filter((earlier) => at - earlier.at <= MINUTE_MS), { at, total: sent }];
    return {
      sent,
      inFlight,
      queued,
      pausedUntil,
      limitPerMinute: limit === null ? null : Math.round((limit.requests * MINUTE_MS) / limit.perMs),
      lastMinute: sent - this.#sent[0]!.total,
    };
  }
}
