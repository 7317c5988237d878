import { expect, test } from "vitest";
import { LiveRun, renderTree } from "../../../src/cli/live/tree.ts";
import { fold, type RunEvent, type StoredEvent } from "../../../src/core/journal/events.ts";
import { activeMs } from "../../../src/core/journal/state.ts";
import { ownText } from "../../../src/core/kit/clean-text.ts";
import { runDocument } from "../../../src/core/view/run-document.ts";
import { RunView } from "../../../src/core/view/run-view.ts";
import { FakeRun } from "../run/support/fake-run.ts";
import { job, planOf } from "../run/support/plans.ts";

const planned = new FakeRun({ plan: planOf([job("a")]) }).events[0]!.event;
const leased = (epoch: number): RunEvent => ({ type: "lease.acquired", epoch, holder: "h", program: "1.0.0" });

/** A run of these events at these seconds. */
function told(...events: readonly (readonly [seconds: number, event: RunEvent])[]): readonly StoredEvent[] {
  return events.map(([seconds, event], index) => {
    return { runId: "x", seq: index + 1, at: seconds * 1000, version: 2, event };
  });
}

const paused: RunEvent = { type: "run.paused", reason: "approval", message: ownText("look") };

test("one run takes as long in the report and on the terminal: rests and dead processes do not count", () => {
  const events = told(
    [0, planned],
    [1, leased(1)],
    [2, { type: "run.started" }],
    [10, paused],
    [100, leased(2)],
    [101, { type: "run.resumed" }],
    [105, { type: "job.quoted", step: "a", attempt: 1, costMicros: 1, basis: "quoted" }],
    // Killed at 105, gone on with an hour later.
    [3705, leased(3)],
    [3715, { type: "run.finished", status: "succeeded", message: null }],
  );
  const state = fold(events)!;
  expect(activeMs(state)).toBe(8000 + 4000 + 10_000);
  expect(runDocument(new RunView(state)).took_ms).toBe(22_000);
  const live = new LiveRun();
  for (const event of events) live.add(event);
  expect(renderTree(live, { now: 9e9, width: 80, height: 9, paint: (_style, text) => text })).toContain("22.0 s");
});

test("a run that is at work took as long as up to its last event, and one that is opened again goes on counting", () => {
  const begun = told([0, planned], [2, { type: "run.started" }], [7, leased(2)]);
  expect(activeMs(fold(begun)!)).toBe(0);
  const over = [...begun, ...told([9, { type: "run.finished", status: "failed", message: null }])];
  const again = [...over, ...told([50, { type: "run.reopened" }], [53, paused])];
  const state = fold(again.map((event, index) => ({ ...event, seq: index + 1 })))!;
  expect(activeMs(state)).toBe(2000 + 3000);
});
