import { DatabaseSync } from "node:sqlite";
import { beforeEach, expect, test } from "vitest";
import { FOLD_VERSION, fold, type RunEvent } from "../../../src/core/journal/events.ts";
import { isSnapshotDue, loadRun, snapshotOf } from "../../../src/core/journal/run-repository.ts";
import { openSqliteJournal } from "../../../src/core/journal/sqlite.ts";
import { ownText } from "../../../src/core/kit/clean-text.ts";
import { job, planOf } from "../run/support/plans.ts";
import { newPath, planned, started, takeLease } from "./samples.ts";

let path: string;

const first = { ...planned(), plan: planOf([job("a"), job("b"), job("c")]) };

/** The end of a step that sets what a new step has not at all. */
const ended: RunEvent = {
  ...{ type: "step.finished", step: "a", status: "failed", reason: "it was late" },
  ...{ isGivenUp: true, forCallers: ownText("try another picture") },
};

/** A run with a snapshot at event 5, and two events after it. */
beforeEach(async () => {
  path = newPath();
  const journal = await openSqliteJournal(path);
  await journal.createRun("r", first, 10);
  const lease = await takeLease(journal, "r", { at: 20 });
  const events = [{ type: "run.started" } as const, started("a"), ended];
  await journal.commit({ lease, afterSeq: 2, at: 30, events, status: "running" });
  const snapshot = snapshotOf(fold(await journal.read("r"))!);
  await journal.commit({ lease, afterSeq: 5, at: 40, events: [], status: "running", snapshot });
  await journal.commit({ lease, afterSeq: 5, at: 50, events: [started("b"), started("c")], status: "running" });
  await journal.close();
});

function edit(sql: string): void {
  const raw = new DatabaseSync(path);
  raw.exec(sql);
  raw.close();
}

/** Sequence numbers after which events were read, and whether the state is that of all events. */
async function load() {
  const journal = await openSqliteJournal(path);
  const reads: (number | undefined)[] = [];
  const watched: typeof journal = Object.create(journal, {
    snapshot: { value: (runId: string) => journal.snapshot(runId) },
    read: {
      value: (runId: string, options: Parameters<typeof journal.read>[1]) => {
        reads.push(options?.limit === 1 ? 0 : (options?.afterSeq ?? undefined));
        return journal.read(runId, options);
      },
    },
  });
  const state = await loadRun(watched, "r");
  expect(state).toEqual(fold(await journal.read("r")));
  await journal.close();
  return reads;
}

test("A run is loaded from its snapshot, its plan and the events since", async () => {
  expect(await load()).toEqual([0, 5]);
});

const unusable = [
  ["of another version", `UPDATE snapshots SET fold_version = ${FOLD_VERSION - 1}`],
  ["that is no JSON", "UPDATE snapshots SET state = '{'"],
  ["that is nothing", "UPDATE snapshots SET state = 'null'"],
  ["whose packed text is damaged", "UPDATE snapshots SET state = x'00ff00ff'"],
  ["that says another number than its row", "UPDATE snapshots SET seq = 3"],
  ["of another run", `UPDATE snapshots SET state = replace(state, '"runId":"r"', '"runId":"q"')`],
  [
    "that the events after it do not follow from",
    `UPDATE snapshots SET state = replace(state, '"path":"b"', '"path":"d"')`,
  ],
];

test.each(unusable)("A snapshot %s is ignored: the events say the same [G48]", async (_, sql) => {
  edit(sql);
  expect((await load()).at(-1)).toBeUndefined();
});

test("Under way, a snapshot is due when the events since the last one outweigh the state; at rest, when they are many", () => {
  expect(isSnapshotDue(999, 10, "continues")).toBe(false);
  expect(isSnapshotDue(1_000, 10, "continues")).toBe(true);
  expect(isSnapshotDue(39_999, 10_000, "continues")).toBe(false);
  expect(isSnapshotDue(40_000, 10_000, "continues")).toBe(true);
  expect(isSnapshotDue(60, 20, "idle")).toBe(false);
  expect(isSnapshotDue(200, 10_000, "idle")).toBe(true);
});

test("Parked in every slice, a snapshot is due when the events outweigh the state: not with every few events of a large run", () => {
  expect(isSnapshotDue(199, 20, "parked")).toBe(false);
  expect(isSnapshotDue(200, 20, "parked")).toBe(true);
  expect(isSnapshotDue(9_999, 10_000, "parked")).toBe(false);
  expect(isSnapshotDue(10_000, 10_000, "parked")).toBe(true);
});
