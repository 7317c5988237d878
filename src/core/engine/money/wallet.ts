import { ApiError, answerOf, type Client } from "../../api/index.ts";
import type { RunEvent } from "../../journal/events.ts";
import type { Account, RunRepository } from "../../journal/run-repository.ts";
import type { AttemptState, RunState } from "../../journal/state.ts";
import type { JournalStore } from "../../journal/store.ts";
import { InvalidOptionError } from "../../kit/errors.ts";
import { jobPhases } from "../../lifecycle/index.ts";
import { WalletShortError } from "../errors.ts";

/** How long a balance is trusted, in milliseconds. This is short because others may spend from the same wallet. */
const BELIEVED_MS = 10_000;
/** Priority of balance reads. They go before other requests, because submissions wait for them. */
const PRIORITY = 200;

/** A balance, and the account's charge counter (`mark`) just before the balance was read. */
export interface WalletReading {
  readonly balanceMicros: number;
  readonly mark: number;
}

/**
 * Reads the wallet's balance and reuses it for up to ten seconds. Between readings, the journal accounts for what the
 * runs reserve and spend.
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

async function balanceOf(client: Client): Promise<number | null> {
  try {
    return (await client.balance()).balanceMicros;
  } catch (error) {
    if (answerOf(error) === null) throw error;
    return null;
  }
}

/** Caches the wallet's balance for ten seconds. For display and for the check before a run starts. */
export class GlancedBalance {
  readonly #client: Client;
  readonly #now: () => number;
  #last: { readonly askedAt: number; readonly micros: Promise<number | null> } | null = null;

  constructor(client: Client, now: () => number) {
    this.#client = client;
    this.#now = now;
  }

  /** Returns the balance, or null if the service reports none. A cached balance below `neededMicros` is fetched again. */
  async micros(neededMicros: number): Promise<number | null> {
    const last = this.#last;
    const known = last !== null && this.#now() - last.askedAt < BELIEVED_MS ? last : this.#ask();
    const micros = await known.micros;
    const isOld = known === last && (micros === null || micros < neededMicros);
    // If several callers find the balance too low, only the first one reads it again.
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

/** Throws if the wallet holds less than the run's minimum price, because the run would stop halfway. */
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

/** Maximum number of the run's jobs to look up when checking whether a new key belongs to the same account. */
const MOST_ASKED = 20;

export type AccountMove = RunEvent & { readonly type: "run.account.moved" };

/**
 * Returns the event that records the run's move to another API key or URL of the same account. Throws if the run has
 * jobs and the service finds none of them with the new key.
 * @throws InvalidOptionError
 */
export async function accountMove(
  { client, account }: { readonly client: Client; readonly account: Account },
  state: RunState,
): Promise<AccountMove> {
  const { origin: baseUrl, keyId } = account;
  const jobs = jobsOf(state);
  if (jobs.length === 0) {
    checkNothingSent(state);
    return { type: "run.account.moved", baseUrl, keyId, jobId: null };
  }
  const requested = jobs.slice(0, MOST_ASKED);
  for (const { jobId, model } of requested) {
    if (await isKnown(client, jobId, model)) return { type: "run.account.moved", baseUrl, keyId, jobId };
  }
  const shown = requested[0]!.jobId + (requested.length === 1 ? "" : ` and ${requested.length - 1} more`);
  const message = `key ${keyId} at ${baseUrl} has no access to the jobs of run "${state.runId}" (${shown}), so the key belongs to another account, and that account would be charged for everything again. Use a key of the account that paid for the jobs.`;
  throw new InvalidOptionError("accountMoved", message, `showrunner show ${state.runId}`);
}

function jobsOf({ steps }: RunState): readonly { readonly jobId: string; readonly model: string | null }[] {
  const attempts = Object.values(steps).flatMap((step) => step.attempts.filter(isOfService));
  return attempts
    .flatMap(({ kind, jobId, model, submittedAt, intendedAt }) => {
      // The model of a chat is recorded as requested, so it may be an alias.
      const known = { model: kind === "chat" ? null : model, at: submittedAt ?? intendedAt ?? 0 };
      return jobId === null ? [] : [{ jobId, ...known }];
    })
    .toSorted((a, b) => b.at - a.at);
}

function isOfService({ provider }: AttemptState): boolean {
  return provider === undefined;
}

async function isKnown(client: Client, jobId: string, model: string | null): Promise<boolean> {
  try {
    const job = await client.job(jobId);
    return model === null || job.model === "" || job.model === model;
  } catch (error) {
    if (error instanceof ApiError && (error.status === 404 || error.status === 403 || error.status === 400))
      return false;
    throw error;
  }
}

/**
 * Throws if a request of the run was never answered, because a job that it created could not be found with a new key or
 * URL.
 */
function checkNothingSent({ runId, steps }: RunState): void {
  const isUnanswered = ({ phase }: AttemptState) =>
    jobPhases.submitting.has(phase) || phase === "unresolved" || phase === "abandoned";
  const sent = Object.values(steps).find(({ attempts }) => attempts.filter(isOfService).some(isUnanswered));
  if (sent === undefined) return;
  const message = `the request for ${sent.path} was never answered, and run "${runId}" has no job with which to check that this key belongs to the same account. Resume the run with its original key and address.`;
  throw new InvalidOptionError("accountMoved", message, `showrunner show ${runId}`);
}
