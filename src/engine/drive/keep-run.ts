import { type Clock, sleep } from "../../api/index.ts";
import type { JournalStore, Lease } from "../../journal/store.ts";
import { RunTakenOverError } from "./run-writer.ts";

interface Keeping {
  readonly store: JournalStore;
  readonly clock: Clock;
  readonly now: () => number;
  readonly leaseMs: number;
  readonly inboxEveryMs: number;
}

/** Renews the lease and looks into the inbox until aborted. `lost`: the run is another's, or the journal fails. */
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
