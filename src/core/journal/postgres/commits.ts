import type { Row } from "../columns.ts";
import { RunUnknownError } from "../errors.ts";
import type { SpendingCap } from "../money.ts";
import { guarded } from "../spend-guard.ts";
import type { Commit, CommitOutcome } from "../store.ts";
import type { Database } from "./database.ts";
import { encodeCommit } from "./encode.ts";
import type { LeaseClock } from "./leases.ts";
import type { WriteQueue } from "./write-queue.ts";

type FullCommit = Commit & { readonly status: string };

export function commitRun(
  db: Database,
  writes: WriteQueue,
  clock: LeaseClock,
  commit: FullCommit,
): Promise<CommitOutcome> {
  const wire = { ...encodeCommit(commit), ...clock.forWrite() };
  return writes.add(wire, (row) => {
    const outcome = outcomeOf(db, clock, commit, row);
    if (outcome.committed && outcome.lease !== null) writes.note(wire.run, wire.epoch, wire.write);
    else if (outcome.committed || outcome.reason === "fenced") writes.forget(wire.run);
    return outcome;
  });
}

function outcomeOf({ columns, place }: Database, clock: LeaseClock, commit: FullCommit, row: Row): CommitOutcome {
  const outcome = columns.text(row, "outcome");
  const all = row.committed === null ? [] : (columns.json(row, "committed") as readonly number[]);
  switch (outcome) {
    case "committed": {
      const expiresAt = clock.expiryOf(columns.integer(row, "lease_left"));
      const lease = commit.park === true ? null : { ...commit.lease, expiresAt };
      const [lastSeq, tail] = [columns.integer(row, "last_seq"), columns.integer(row, "tail")];
      return { committed: true, lastSeq, tail, lease, committedMicros: all };
    }
    case "fenced":
    case "inbox":
      return { committed: false, reason: outcome };
    case "money": {
      const unseen = columns.integerOrNull(row, "unseen_micros") ?? 0;
      const { refused } = guarded(commit, () => ({
        committedMicros: (cap) => all[commit.guard!.caps.indexOf(cap as SpendingCap)]!,
        unseenMicros: () => unseen,
      }));
      return refused!;
    }
    default:
      throw new RunUnknownError(commit.lease.runId, place);
  }
}
