import { randomUUID } from "node:crypto";
import { jobsOf, type KnownJob } from "../deliveries.ts";
import { encodeEvents } from "../event-codec.ts";
import type { LedgerChange } from "../events/spec.ts";
import { type EntryChange, entryChange, mediaOf, mergeChanges, movedTo, slotOf } from "../record.ts";
import { guardOf } from "../spend-guard.ts";
import type { Commit, Wake } from "../store.ts";

/** A write, as `write_runs` receives it. Empty fields are left out. */
export type Wire = WireCreate | WireTake | WireCommit;

interface AnyWire {
  readonly run: string;
  readonly at: number;
  /** The current time in tests. By default, the database's clock is used. */
  readonly now?: number;
}

export interface WireCreate extends AnyWire {
  readonly pipeline: string;
  readonly account: string;
  readonly title?: string;
  readonly tags: string;
  readonly text: string;
  readonly body: string;
  readonly media?: readonly string[];
  readonly wake_at?: number | null;
  readonly memo?: string;
}

export interface WireTake extends AnyWire {
  readonly write: string;
  readonly ttl: number;
  readonly holder: string;
  readonly head: string;
  readonly tail: string;
  readonly dead_epoch: number | null;
}

export interface WireCommit extends AnyWire {
  /** Id of this write, the same for every repetition. */
  readonly write: string;
  /** The `write` of the run's previous write, if this process made it. */
  readonly after_write?: string;
  readonly epoch: number;
  readonly after_seq: number;
  readonly count: number;
  readonly status: string;
  readonly resume_at?: number;
  readonly park: boolean;
  readonly inbox: readonly number[];
  readonly body?: string;
  readonly wake_at?: number | null;
  readonly memo?: string;
  readonly ledger?: readonly WireChange[];
  /** 1 if the write includes a charge. */
  readonly charges?: 0 | 1;
  /** The quarter of an hour in which new holds are counted. */
  readonly slot?: number;
  readonly caps?: readonly WireCap[];
  readonly wallet_mark?: number;
  readonly most_unseen?: number;
  readonly media?: readonly string[];
  readonly jobs?: readonly object[];
  readonly results?: readonly object[];
  readonly moved_to?: string;
  readonly notices?: readonly object[];
  readonly snapshot_seq?: number;
  readonly fold_version?: number;
  readonly state?: string;
}

/** `tag` is null for a cap on all runs; `slot` is null for a cap without a period. */
interface WireCap {
  readonly tag: string | null;
  readonly slot: number | null;
  readonly cap: number;
}

interface WireChange extends EntryChange {
  readonly step: string;
  readonly attempt: number;
}

export function encodeCommit(commit: Commit & { readonly status: string }): WireCommit {
  const {
    lease,
    afterSeq,
    at,
    events,
    status,
    park = false,
    inbox = [],
    ledger = [],
    snapshot,
    wake,
    resumeAt,
  } = commit;
  const account = movedTo(events);
  return {
    run: lease.runId,
    write: randomUUID(),
    epoch: lease.epoch,
    after_seq: afterSeq,
    count: events.length,
    at,
    status,
    park,
    inbox,
    ...(resumeAt != null && { resume_at: resumeAt }),
    ...(events.length > 0 && { body: encodeEvents(events) }),
    ...(park && wake !== undefined && encodeWake(wake)),
    ...(ledger.length > 0 && { ...encodeLedger(ledger), slot: slotOf(at) }),
    ...encodeGuard(commit),
    ...unlessEmpty("media", [...new Set(events.flatMap(mediaOf))]),
    ...unlessEmpty("jobs", lastOf(jobsOf(events), ({ step, attempt }) => `${attempt} ${step}`).map(jobOf)),
    ...unlessEmpty("results", resultsOf(commit)),
    ...(account !== null && { moved_to: account }),
    ...unlessEmpty("notices", commit.notices ?? []),
    ...(snapshot !== undefined && {
      snapshot_seq: snapshot.seq,
      fold_version: snapshot.foldVersion,
      state: snapshot.state,
    }),
  };
}

export function encodeWake({ at, memo }: Wake): { readonly wake_at: number | null; readonly memo: string } {
  return { wake_at: at, memo: JSON.stringify(memo) };
}

function encodeGuard(commit: Commit): Pick<WireCommit, "caps" | "wallet_mark" | "most_unseen"> {
  const guard = guardOf(commit);
  if (guard === null) return {};
  const { wallet } = guard;
  const caps = guard.caps.map(({ tag, sinceAt, capMicros: cap }): WireCap => {
    return { tag, slot: sinceAt === null ? null : slotOf(sinceAt), cap };
  });
  if (wallet === null) return { caps };
  return { caps, wallet_mark: wallet.mark, most_unseen: wallet.balanceMicros - wallet.floorMicros };
}

function encodeLedger(changes: readonly LedgerChange[]): Pick<WireCommit, "ledger" | "charges"> {
  const byEntry = Map.groupBy(changes, ({ step, attempt }) => `${attempt} ${step}`);
  const charges = changes.some(({ type }) => type === "charged" || type === "settle") ? 1 : 0;
  const ledger = [...byEntry.values()].map((ofEntry): WireChange => {
    const { step, attempt } = ofEntry[0]!;
    return { step, attempt, ...ofEntry.map(entryChange).reduce(mergeChanges) };
  });
  return { ledger, charges };
}

function lastOf<T>(entries: readonly T[], keyOf: (entry: T) => string): readonly T[] {
  return [...new Map(entries.map((entry) => [keyOf(entry), entry])).values()];
}

function jobOf({ step, attempt, jobId: job }: KnownJob) {
  return { step, attempt, job };
}

function resultsOf({ results = [] }: Commit) {
  return lastOf(results, ({ step }) => step).map(({ step, fingerprint, model, tookMs }) => {
    return { step, fingerprint, model, took_ms: tookMs };
  });
}

export function unlessEmpty<Name extends string, T>(
  name: Name,
  list: readonly T[],
): { readonly [N in Name]?: readonly T[] } {
  return list.length === 0 ? {} : ({ [name]: list } as { readonly [N in Name]: readonly T[] });
}
