import fc from "fast-check";
import { expect, test } from "vitest";
import {
  type DrainState,
  drainTables,
  failed,
  MAX_FAILURES,
  newDrain,
  shipped,
  switched,
} from "../../../src/local-service/drains/tables.ts";
import { openStore } from "../../../src/local-service/store/store.ts";
import { isFull } from "../../support/sample.ts";
import { newFolder } from "../../support/temporary-folder.ts";

const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ is: fc.constant("failed" as const), status: fc.constantFrom(500, null) }) },
  { weight: 1, arbitrary: fc.record({ is: fc.constant("shipped" as const), position: fc.nat(100) }) },
  { weight: 1, arbitrary: fc.record({ is: fc.constant("switched" as const), on: fc.boolean() }) },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

function after(drain: DrainState, one: Step, now: number): DrainState {
  if (one.is === "failed") return failed(drain, "UNAVAILABLE", one.status, now);
  return one.is === "shipped" ? shipped(drain, one.position, now) : switched(drain, one.on);
}

test("in any sequence, a drain is off by itself exactly after five failures in a row, and its cursor never moves back", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      let drain = newDrain(true, 0);
      let inARow = 0;
      steps.forEach((one, now) => {
        const before = drain;
        // Only one batch is under way at a time, so none ends after the last failure.
        if (before.disabledReason === "consecutive_failures" && one.is !== "switched") return;
        drain = after(drain, one, now);
        if (one.is === "failed") inARow += 1;
        else if (one.is === "shipped" || one.on) inARow = 0;
        expect(drain.consecutiveFailures).toBe(inARow);
        expect(drain.position).toBeGreaterThanOrEqual(before.position);
        if (drain.enabled === 1) expect(inARow).toBeLessThan(MAX_FAILURES);
        if (drain.disabledReason === "consecutive_failures")
          expect([drain.enabled, inARow >= MAX_FAILURES]).toEqual([0, true]);
        if (one.is === "switched")
          expect([drain.enabled, drain.disabledReason]).toEqual(one.on ? [1, null] : [0, "disabled_by_user"]);
      });
    }),
    { numRuns: isFull ? 1000 : 200 },
  );
});

test("events that no drain accepts are bounded in number and age; what all have accepted is deleted", () => {
  const folder = newFolder();
  const store = openStore(folder);
  try {
    const tables = drainTables(store.statements);
    const texts = { level: "info", event: "e", message: "", source: "api", data: "{}" } as const;
    for (let at = 1; at <= 10; at += 1)
      for (const workspaceId of ["mine", "other"])
        tables.addEvent({ jobId: "job_1", model: "m", ...texts, workspaceId, at });
    const left = () => tables.events("mine", 0, 100).map((row) => row.at);
    tables.prune("mine", 0, 0, 100);
    expect(left()).toHaveLength(10);
    tables.prune("mine", 0, 3, 100);
    expect(left()).toEqual([3, 4, 5, 6, 7, 8, 9, 10]);
    tables.prune("mine", 0, 0, 5);
    expect(left()).toEqual([6, 7, 8, 9, 10]);
    tables.prune("mine", tables.events("mine", 0, 2).at(-1)!.seq, 0, 100);
    expect(left()).toEqual([8, 9, 10]);
    expect(tables.events("other", 0, 100)).toHaveLength(10);
  } finally {
    store.close();
  }
});
