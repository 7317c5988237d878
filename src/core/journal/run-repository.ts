import { AccountMismatchError, IllegalEventError, JournalCorruptError, JournalNewerVersionError } from "./errors.ts";
import { loadRun } from "./snapshot.ts";
import type { RunState } from "./state.ts";
import type { JournalStore } from "./store.ts";

export interface Account {
  readonly origin: string;
  readonly keyId: string;
}

export class RunRepository {
  readonly #store: JournalStore;
  readonly account: Account;

  constructor(store: JournalStore, account: Account) {
    this.#store = store;
    this.account = account;
  }

  load(runId: string): Promise<RunState> {
    return loadRun(this.#store, runId);
  }

  async all(): Promise<readonly RunState[]> {
    const rows = await this.#store.runs();
    return Promise.all(rows.map(({ runId }) => this.load(runId)));
  }

  async recent(limit: number): Promise<readonly RunState[]> {
    const rows = await this.#store.runs({ limit });
    const loaded = rows.map(({ runId }) =>
      this.load(runId).catch((error: unknown) => {
        if (isUnreadable(error)) return null;
        throw error;
      }),
    );
    return (await Promise.all(loaded)).filter((state) => state !== null);
  }

  isOurs({ planned: { baseUrl, keyId } }: RunState): boolean {
    return baseUrl === this.account.origin && keyId === this.account.keyId;
  }

  checkAccount(state: RunState): void {
    if (this.isOurs(state)) return;
    const { origin, keyId } = this.account;
    const { runId, planned } = state;
    throw new AccountMismatchError(runId, `key ${planned.keyId} at ${planned.baseUrl}`, `key ${keyId} at ${origin}`);
  }

  /** Also returns jobs that a person named, except in decisions about the step `except`. */
  async knownJobs(except?: { readonly runId: string; readonly step: string }): Promise<ReadonlySet<string>> {
    const known = new Set<string>();
    for (const { runId } of await this.#store.runs()) {
      for (const { message } of await this.#store.inbox(runId)) {
        if (message.type !== "adopt" || message.jobId === null) continue;
        if (runId !== except?.runId || message.step !== except.step) known.add(message.jobId);
      }
      noteJobs(await this.load(runId), known);
    }
    return known;
  }
}

export function jobsOf(states: readonly RunState[]): ReadonlySet<string> {
  const known = new Set<string>();
  for (const state of states) noteJobs(state, known);
  return known;
}

function noteJobs({ steps }: RunState, known: Set<string>): void {
  for (const { attempts } of Object.values(steps)) {
    for (const { jobId } of attempts) if (jobId !== null) known.add(jobId);
  }
}

function isUnreadable(error: unknown): boolean {
  return [JournalCorruptError, JournalNewerVersionError, IllegalEventError].some((type) => error instanceof type);
}
