import { randomUUID } from "node:crypto";
import type { Clock, SharedPace } from "../../api/index.ts";
import type { JournalStore } from "../../journal/store.ts";

/** The journal as the place where processes divide a key's request limit. */
export class StorePace implements SharedPace {
  readonly #store: JournalStore;
  readonly #clock: Clock;
  readonly #holder = randomUUID();
  /** Known before the first request, and after the client. */
  #account = "";

  constructor(store: JournalStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Whose limit it is: see `accountOf`. */
  of(account: string): void {
    this.#account = account;
  }

  share(request: Parameters<SharedPace["share"]>[0]): ReturnType<SharedPace["share"]> {
    return this.#store.sharePace({ ...request, key: this.#account, holder: this.#holder, at: this.#clock.now() });
  }
}
