import { stat } from "node:fs/promises";
import { LEFTOVER_MS, removeTemporaries, temporaryTag } from "../../durable-file.ts";
import { isRunFinal, type RunStatus } from "../../journal/state.ts";
import type { JournalStore, RunRow, StoredResult } from "../../journal/store.ts";
import type { MediaStore } from "./media-store.ts";

export interface GcOptions {
  /** Finished runs whose last event is older go, milliseconds. Default 30 days. */
  readonly olderThanMs?: number | undefined;
  /** True: says what would go and removes nothing. Default false. */
  readonly dryRun?: boolean | undefined;
}

export interface GcReport {
  readonly dryRun: boolean;
  /** Runs removed, oldest first. */
  readonly runs: readonly string[];
  /** Old and finished runs that were not removed: one is being driven, or money is still held for it. */
  readonly skipped: readonly { readonly runId: string; readonly reason: "leased" | "holds" }[];
  /** Requests whose last result went with these runs: a later run has to make it, and pay for it, again. */
  readonly reusable: number;
  /** Media that no run names any more. Files that runs were asked to return stay where they are. */
  readonly media: { readonly count: number; readonly sizeBytes: number };
  /** Upload handles that had lapsed. */
  readonly handles: number;
  /** Temporary files that a killed process left where it put files of a run. */
  readonly leftovers: number;
}

interface GcParts {
  readonly store: JournalStore;
  readonly media: MediaStore;
  readonly now: () => number;
}

const MONTH_MS = 30 * 24 * 3_600_000;
/** Bytes arrive before the event that names them: young files may belong to a run that is just about to say so. */
const RECENT_MS = 3_600_000;

/**
 * Removes old finished runs, then the media that no run names. What a younger run took over from an older one stays with
 * the younger; what an old run made is not to be taken over any more.
 */
export async function collectGarbage(parts: GcParts, options: GcOptions = {}): Promise<GcReport> {
  const { store, media, now } = parts;
  const dryRun = options.dryRun ?? false;
  const before = now() - (options.olderThanMs ?? MONTH_MS);
  const leftovers = await removeLeftovers(store, dryRun);
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
  // Listed before asking which are named, so that what is named meanwhile is among the answers.
  const files = await olderFiles(media);
  const named = await store.mediaInUse(dryRun ? runs : []);
  const unnamed = files.filter(({ sha256 }) => !named.has(sha256));
  let count = 0;
  let sizeBytes = 0;
  for (const file of unnamed) {
    if (!dryRun && !(await media.remove(file.sha256))) continue;
    count += 1;
    sizeBytes += file.sizeBytes;
  }
  const reusable = await lostResults(store, produced, new Set(runs));
  const handles = await store.dropHandles(now(), { dryRun });
  return { dryRun, runs, skipped, reusable, media: { count, sizeBytes }, handles, leftovers };
}

/** What was left where files of these runs go, and is not being written. */
async function removeLeftovers(store: JournalStore, dryRun: boolean): Promise<number> {
  let count = 0;
  for (const { runId } of await store.runs()) {
    const [first] = await store.read(runId, { limit: 1 });
    if (first?.event.type !== "run.planned") continue;
    const { outDir, nonce } = first.event;
    count += await removeTemporaries(outDir, temporaryTag(nonce), { olderThanMs: LEFTOVER_MS, dryRun });
  }
  return count;
}

/** Requests whose every result goes with these runs. */
async function lostResults(
  store: JournalStore,
  produced: readonly StoredResult[],
  removed: ReadonlySet<string>,
): Promise<number> {
  let lost = 0;
  for (const { account, fingerprint } of new Map(
    produced.map((row) => [`${row.account} ${row.fingerprint}`, row]),
  ).values()) {
    const left = await store.results({ account, fingerprint }, Number.MAX_SAFE_INTEGER);
    if (left.every(({ runId }) => removed.has(runId))) lost += 1;
  }
  return lost;
}

function isFinished({ status }: RunRow): boolean {
  return isRunFinal(status as RunStatus);
}

async function holds(store: JournalStore, runId: string): Promise<"holds" | null> {
  return (await store.ledger(runId)).heldMicros > 0 ? "holds" : null;
}

async function remove(store: JournalStore, runId: string, at: number): Promise<"leased" | "holds" | "unknown" | null> {
  const outcome = await store.removeRun(runId, at);
  return outcome.removed ? null : outcome.reason;
}

interface MediaFile {
  readonly sha256: string;
  readonly sizeBytes: number;
}

async function olderFiles(media: MediaStore): Promise<readonly MediaFile[]> {
  // The age of a file is told by the system's clock, whichever the run goes by.
  const before = Date.now() - RECENT_MS;
  const files: MediaFile[] = [];
  for await (const sha256 of media.hashes()) {
    const found = await stat(media.path(sha256)).catch(() => null);
    if (found !== null && found.mtimeMs < before) files.push({ sha256, sizeBytes: found.size });
  }
  return files;
}
