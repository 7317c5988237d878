import { type Clock, sleep } from "../../api/index.ts";
import type { InboxEntry, JournalStore, Lease } from "../../journal/store.ts";
import { RunTakenOverError } from "./run-writer.ts";

interface Keeping {
  readonly store: JournalStore;
  readonly clock: Clock;
  readonly now: () => number;
  readonly leaseMs: number;
  readonly inboxEveryMs: number;
}

const BUSY_EVERY_MS = 50;

/** While the run is busy, reads its inbox at most every `BUSY_EVERY_MS`. */
export class InboxReader {
  readonly #from: Pick<Keeping, "store" | "now">;
  readonly #runId: string;
  #readAt: number | null = null;
  #isKnownEmpty: boolean;

  constructor(from: Pick<Keeping, "store" | "now">, runId: string, hasMail: boolean) {
    this.#from = from;
    this.#runId = runId;
    this.#isKnownEmpty = !hasMail;
  }

  noteArrival(): void {
    this.#readAt = null;
    this.#isKnownEmpty = false;
  }

  /** Entries for which `isPending` returns true are left for a later call. */
  async read(isBusy: boolean, isPending: (entry: InboxEntry) => boolean): Promise<readonly InboxEntry[]> {
    const now = this.#from.now();
    if (isBusy && this.#readAt !== null && Math.abs(now - this.#readAt) < BUSY_EVERY_MS) return [];
    this.#readAt = now;
    const isKnownEmpty = this.#isKnownEmpty;
    this.#isKnownEmpty = false;
    if (isKnownEmpty) return [];
    const entries = await this.#from.store.inbox(this.#runId);
    const due = entries.filter((entry) => !isPending(entry));
    if (due.length < entries.length) this.noteArrival();
    return due;
  }
}

/** Calls `lost` if another process has taken over the run, or if the journal fails. */
export async function keepRun(
  keeping: Keeping,
  lease: Lease,
  signal: AbortSignal,
  on: { lost(failure: unknown): void; inbox(): void },
): Promise<void> {
  await Promise.all([keepLease(keeping, lease, signal, on.lost), watchInbox(keeping, lease.runId, signal, on.inbox)]);
}

async function keepLease(
  { store, clock, now, leaseMs }: Keeping,
  lease: Lease,
  signal: AbortSignal,
  lost: (failure: unknown) => void,
): Promise<void> {
  for (;;) {
    await sleep(clock, leaseMs / 3, signal).catch(() => {});
    if (signal.aborted) return;
    const stored = await store.renewLease(lease, { at: now(), ttlMs: leaseMs }).catch((error: unknown) => error);
    if (stored === true) continue;
    return lost(stored === false ? new RunTakenOverError(lease.runId) : stored);
  }
}

async function watchInbox(
  { store, clock, inboxEveryMs }: Keeping,
  runId: string,
  signal: AbortSignal,
  found: () => void,
): Promise<void> {
  for (;;) {
    await sleep(clock, inboxEveryMs, signal).catch(() => {});
    if (signal.aborted) return;
    const entries = await store.inbox(runId).catch(() => []);
    if (entries.length > 0) found();
  }
}
