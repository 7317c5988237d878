import type { PlanStep } from "../plan/plan.ts";
import { JournalRecordError } from "./errors.ts";
import type { RunEvent } from "./events.ts";
import type { Commit, LeaseHolder, LedgerChange } from "./store.ts";

/** The event that says who writes from here on. */
export function leaseTaken(epoch: number, { host, pid, instance, program }: LeaseHolder): RunEvent {
  const holder = `${host}:${pid}:${instance}`;
  return { type: "lease.taken", epoch, holder, ...(program !== undefined && { program }) };
}

/** Job ids that events make known, so that a webhook finds its run. */
export function jobsOf(events: readonly RunEvent[]): readonly string[] {
  const ids = events.map((event) =>
    event.type === "job.submitted" || event.type === "job.adopted" ? event.jobId : null,
  );
  return ids.filter((id) => id !== null);
}

/** Content hashes that an event names, so that `gc` knows which bytes are in use. */
export function mediaOf(event: RunEvent): readonly string[] {
  switch (event.type) {
    case "upload.stored":
    case "output.downloaded":
      return [event.sha256];
    case "task.done":
      return event.files.map(({ sha256 }) => sha256);
    case "step.reused":
      return event.outputs.flatMap(({ copy }) => (copy === null ? [] : [copy.sha256]));
    case "expand.planned":
      return uploadsOf(event.steps);
    case "run.replanned":
      return uploadsOf(event.plan.steps);
    default:
      return [];
  }
}

function uploadsOf(steps: readonly PlanStep[]): readonly string[] {
  return steps.flatMap((step) => (step.kind === "upload" ? [step.file.sha256] : []));
}

/** One (step, attempt) of the ledger. */
export interface LedgerEntry {
  readonly heldMicros: number;
  readonly settledMicros: number;
  /** The account's mark when the charge became known; null before. */
  readonly charged: number | null;
}

export const emptyEntry: LedgerEntry = { heldMicros: 0, settledMicros: 0, charged: null };

/** The entry after a change: a settle closes the hold, a release drops it, a hold replaces what was held. */
export function changeLedger(entry: LedgerEntry, change: LedgerChange, mark: number): LedgerEntry {
  switch (change.type) {
    case "hold":
      return { heldMicros: change.amountMicros, settledMicros: entry.settledMicros, charged: null };
    case "raise":
      return { ...entry, heldMicros: change.amountMicros };
    case "charged":
      return { ...entry, charged: mark };
    case "settle":
      return { heldMicros: 0, settledMicros: change.costMicros, charged: entry.charged ?? mark };
    case "release":
      return { ...entry, heldMicros: 0 };
    default:
      return change satisfies never;
  }
}

/** Throws before anything is written when a commit breaks the journal's own rules. */
export function checkCommit(commit: Commit): void {
  for (const change of commit.ledger ?? []) checkMicros(change);
  const lastSeq = commit.afterSeq + commit.events.length;
  if (commit.snapshot !== undefined && commit.snapshot.seq > lastSeq) {
    throw new JournalRecordError(
      `The snapshot of run "${commit.lease.runId}" says seq ${commit.snapshot.seq}, but the commit ends at ${lastSeq}. Nothing was written.`,
    );
  }
}

function checkMicros(change: LedgerChange): void {
  const micros = "amountMicros" in change ? change.amountMicros : change.type === "settle" ? change.costMicros : 0;
  if (Number.isSafeInteger(micros) && micros >= 0) return;
  throw new JournalRecordError(
    `A ${change.type} of ${micros} micro-dollars for step "${change.step}" is no whole, non-negative amount. Nothing was written.`,
  );
}
