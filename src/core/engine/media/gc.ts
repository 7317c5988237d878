import { mediaOf } from "../../journal/record.ts";
import { moved } from "../../journal/run-repository.ts";
import { isRunFinal } from "../../journal/state.ts";
import type { JournalStore, RunRow, StoredResult } from "../../journal/store.ts";
import { DAY_MS } from "../../kit/duration.ts";
import { LEFTOVER_MS, removeTemporaries, temporaryTag } from "../../kit/files.ts";
import { GRACE_MS, type ListedMedia, type MediaGarbage } from "./media-store.ts";

export interface GcOptions {
  /** Finished runs are removed when their last event is older than this, in milliseconds. Default: 30 days. */
  readonly olderThanMs?: number | undefined;
  /** True to report what would be removed, without removing it. Default: false. */
  readonly dryRun?: boolean | undefined;
}

export interface GcReport {
  readonly dryRun: boolean;
  /** Ids of removed runs, oldest first. */
  readonly runs: readonly string[];
  /** Old finished runs that were kept, because a process is executing them or money is still reserved for them. */
  readonly skipped: readonly { readonly runId: string; readonly reason: "leased" | "holds" }[];
  /** Number of requests whose only reusable result was removed. A later run must pay for them again. */
  readonly reusable: number;
  /** Media that no run refers to anymore. */
  readonly media: {
    readonly count: number;
    readonly sizeBytes: number;
    /** Milliseconds until a later `gc` can delete the discarded media; 0 if they have already been deleted. */
    readonly deletedAfterMs: number;
  };
  /** Number of expired upload handles removed. */
  readonly handles: number;
  /** Number of items that killed processes left behind, such as temporary files and unfinished uploads. */
  readonly leftovers: number;
}

interface GcParts {
  readonly store: JournalStore;
  readonly media: { readonly garbage: MediaGarbage };
  readonly now: () => number;
}

const MONTH_MS = 30 * DAY_MS;

/**
 * Removes old finished runs and unused media. The results of removed runs can no longer be reused, unless a remaining
 * run has reused them.
 */
export async function collectGarbage(parts: GcParts, options: GcOptions = {}): Promise<GcReport> {
  const { store, media, now } = parts;
  const dryRun = options.dryRun ?? false;
  const before = now() - (options.olderThanMs ?? MONTH_MS);
  const leftovers = (await removeLeftovers(store, dryRun)) + (await media.garbage.removeLeftovers({ dryRun }));
  const old = (await store.runs()).filter((row) => isFinished(row) && row.updatedAt < before).toReversed();
  const runs: string[] = [];
  const skipped: { readonly runId: string; readonly reason: "leased" | "holds" }[] = [];
  const produced: StoredResult[] = [];
  for (const { runId } of old) {
    const madeHere = await store.results({ runId }, Number.MAX_SAFE_INTEGER);
    const refusal = dryRun ? await holds(store, runId) : await remove(store, runId, now());
    if (refusal === null) {
      runs.push(runId);
      produced.push(...madeHere);
    } else if (refusal !== "unknown") skipped.push({ runId, reason: refusal });
  }
  const { count, sizeBytes } = await removeUnnamed(media.garbage, store, { dryRun, except: dryRun ? runs : [] });
  const reusable = await lostResults(store, produced, new Set(runs));
  const handles = await store.dropHandles(now(), { dryRun });
  const removed = { count, sizeBytes, deletedAfterMs: media.garbage.purgeAfterMs };
  return { dryRun, runs, skipped, reusable, media: removed, handles, leftovers };
}

async function removeLeftovers(store: JournalStore, dryRun: boolean): Promise<number> {
  const tagsIn = new Map<string, Set<string>>();
  for (const { runId } of await store.runs()) {
    const [first] = await store.read(runId, { limit: 1 });
    if (first?.event.type !== "run.planned") continue;
    const { outDir, nonce } = moved(first.event, store);
    tagsIn.set(outDir, (tagsIn.get(outDir) ?? new Set()).add(temporaryTag(nonce)));
  }
  let count = 0;
  for (const [outDir, tags] of tagsIn) {
    count += await removeTemporaries(outDir, tags, { olderThanMs: LEFTOVER_MS, dryRun });
  }
  return count;
}

async function lostResults(
  store: JournalStore,
  produced: readonly StoredResult[],
  removed: ReadonlySet<string>,
): Promise<number> {
  let lost = 0;
  for (const { account, fingerprint } of new Map(
    produced.map((row) => [`${row.account} ${row.fingerprint}`, row]),
  ).values()) {
    const results = await store.results({ account, fingerprint }, Number.MAX_SAFE_INTEGER);
    if (results.every(({ runId }) => removed.has(runId))) lost += 1;
  }
  return lost;
}

function isFinished({ status }: RunRow): boolean {
  return isRunFinal(status);
}

async function holds(store: JournalStore, runId: string): Promise<"holds" | null> {
  return (await store.ledger(runId)).heldMicros > 0 ? "holds" : null;
}

async function remove(store: JournalStore, runId: string, at: number): Promise<"leased" | "holds" | "unknown" | null> {
  const outcome = await store.removeRun(runId, at);
  return outcome.removed ? null : outcome.reason;
}

async function removeUnnamed(
  garbage: MediaGarbage,
  store: JournalStore,
  { dryRun, except }: { readonly dryRun: boolean; readonly except: readonly string[] },
): Promise<{ readonly count: number; readonly sizeBytes: number }> {
  // List the media before reading the references. Otherwise a reference added in between would be missed.
  const old = await collect(garbage.list(), ({ ageMs }) => ageMs >= GRACE_MS);
  const named = old.length === 0 ? new Set<string>() : await mediaInUse(store, except);
  const unnamed = old.filter(({ sha256 }) => !named.has(sha256));
  const discarded: ListedMedia[] = dryRun ? unnamed : [];
  if (!dryRun) for (const media of unnamed) if (await garbage.discard(media.sha256)) discarded.push(media);
  if (!dryRun) await purge(garbage, store);
  return { count: discarded.length, sizeBytes: discarded.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0) };
}

export async function discardUnnamed(
  store: JournalStore,
  { garbage }: { readonly garbage: MediaGarbage },
  hashes: ReadonlySet<string>,
): Promise<void> {
  const named = await mediaInUse(store);
  for (const sha256 of hashes) if (!named.has(sha256)) await garbage.discard(sha256);
  await purge(garbage, store);
}

async function mediaInUse(store: JournalStore, except: readonly string[] = []): Promise<ReadonlySet<string>> {
  const given = new Set<string>();
  // Read the inboxes before the journal, because a run moves entries from its inbox to the journal.
  for (const row of await store.runs()) {
    if (isFinished(row)) continue;
    for (const { message } of await store.inbox(row.runId)) {
      if (message.type === "adopt" && message.file !== undefined) given.add(message.file.copy.sha256);
      if (message.type === "performed") for (const hash of message.events.flatMap(mediaOf)) given.add(hash);
    }
  }
  return new Set([...given, ...(await store.mediaInUse(except))]);
}

async function purge(garbage: MediaGarbage, store: JournalStore): Promise<void> {
  // List discarded media before reading the references. Otherwise a reference added before a discard could be missed.
  const discarded = await collect(garbage.discarded());
  if (discarded.length === 0) return;
  const named = await mediaInUse(store);
  for (const media of discarded) {
    if (named.has(media.sha256) && !(await garbage.restore(media.sha256))) continue;
    if (media.ageMs >= garbage.purgeAfterMs) await garbage.purge(media);
  }
}

async function collect<T>(all: AsyncIterable<T>, wanted: (item: T) => boolean = () => true): Promise<readonly T[]> {
  const found: T[] = [];
  for await (const item of all) if (wanted(item)) found.push(item);
  return found;
}
