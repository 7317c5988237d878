import { ApiError, answerOf, type Client } from "../../api/index.ts";
import type { RunEvent } from "../../journal/events.ts";
import type { Account, RunRepository } from "../../journal/run-repository.ts";
import type { AttemptState, RunState } from "../../journal/state.ts";
import type { JournalStore } from "../../journal/store.ts";
import { InvalidOptionError, WalletShortError } from "../errors.ts";

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

/** Jobs that are looked up before an account counts as another one. */
const MOST_ASKED = 20;

export type AccountMove = RunEvent & { readonly type: "run.account.moved" };

/**
 * What moves a run to a new key or address of its account, once the service there showed that it knows a job of the run.
 * A run without jobs may move as long as no submit of it can have made one. Throws otherwise; nothing was changed.
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
  const message = `key ${keyId} at ${baseUrl} knows none of the jobs of run "${state.runId}" (${shown}): it is another account, which would pay for everything again. Use a key of the account that paid for them.`;
  throw new InvalidOptionError("accountMoved", message, `showrunner show ${state.runId}`);
}

/** The newest first: old ones may have been deleted. */
function jobsOf({ steps }: RunState): readonly { readonly jobId: string; readonly model: string | null }[] {
  const jobs = Object.values(steps).flatMap(({ attempts, chats }) => [
    ...attempts.filter(isOfService).map(({ jobId, model, submittedAt }) => ({ jobId, model, at: submittedAt ?? 0 })),
    ...chats.map(({ jobId, sentAt }) => ({ jobId, model: null, at: sentAt })),
  ]);
  return jobs
    .flatMap((job) => (job.jobId === null ? [] : [{ ...job, jobId: job.jobId }]))
    .toSorted((a, b) => b.at - a.at);
}

/** What was sent to a provider says nothing of the account. */
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

/** Afterwards nobody could tell whether a job at the old address is the run's. */
function checkNothingSent({ runId, steps }: RunState): void {
  const sent = Object.values(steps).find(({ attempts, chats }) => {
    const isOpen = attempts
      .filter(isOfService)
      .some(({ phase }) => phase.startsWith("submitting") || phase === "unresolved");
    return isOpen || chats.some(({ phase }) => phase === "sent" || phase === "abandoned");
  });
  if (sent === undefined) return;
  const message = `${sent.path} was sent and never answered, and run "${runId}" has no job that would show that this is its account. Resume it with the key and address that it was started with.`;
  throw new InvalidOptionError("accountMoved", message, `showrunner show ${runId}`);
}
