import { describe, expect, test } from "vitest";
import type { DecideContext } from "../../../src/core/run/decision-builder.ts";
import { decidedOf, HOUR_MS, NOW, runningState } from "./support/decided.ts";
import { job, ref } from "./support/plans.ts";

const sent = {
  ...{ n: 1, key: "sr1_k", model: "image-1", input: { prompt: "a" }, jobId: "j1", error: null, outputs: [] },
  ...{ quote: { costMicros: 40_000, basis: "quoted" }, holdMicros: 40_000, expectedMicros: 40_000, costMicros: null },
  ...{ intendedAt: NOW - HOUR_MS, lastSentAt: NOW - 1, serviceClockOffsetMs: 0, unresolved: null },
  ...{ submittedAt: NOW - HOUR_MS, completedAt: NOW - 60_000 },
};
const output = { index: 0, status: "COMPLETED", phase: "available", voiceId: null, copy: null, error: null };

/** What is decided of a job whose attempt is as given. */
function decided(attempt: object, context: Partial<DecideContext> = {}, isUnresolved = false, more = {}) {
  const step = { status: isUnresolved ? "unresolved" : "running", startedAt: 1, attempts: [{ ...sent, ...attempt }] };
  const returns = { a: ref("a") };
  const run = { heldMicros: 40_000, ...more };
  const state = runningState([[job("a", {}, { keep: false }), step]], run, { returns });
  const { events, commands } = decidedOf(state, context);
  return { events: events.filter((event) => "step" in event), commands };
}

const ended = (attempt: object, context: Partial<DecideContext> = {}) =>
  decided({ money: "settled", costMicros: 40_000, ...attempt }, context).events;
const failedBecause = (reason: string) => [{ type: "step.finished", step: "a", status: "failed", reason }];

describe("a submit without an answer", () => {
  const old = { phase: "submitting.sent", money: "held", intendedAt: NOW - 25 * HOUR_MS };

  test("is sent again under its key, as something that may exist", () => {
    const { events, commands } = decided({ phase: "submitting.unknown", money: "held" });
    const { key, model, input } = sent;
    expect(commands).toEqual([{ type: "submit", step: "a", attempt: 1, key, model, input, mayExist: true }]);
    expect(events).toEqual([]);
  });

  test("is sent no more once its key is too old; a person decides", () => {
    const { events, commands } = decided(old);
    const message = "the submit request was never answered, and its idempotency key is too old to be used again";
    expect(events).toEqual([{ type: "job.unresolved", step: "a", attempt: 1, message, cause: "too old" }]);
    expect(commands).toEqual([]);
  });

  test("is sent however old its key is, where nothing of it ever left", () => {
    const { commands } = decided(old, { unsent: new Set(["submit:a#1"]) });
    expect(commands).toMatchObject([{ type: "submit", key: "sr1_k", mayExist: false }]);
  });

  test("exactly as old as the window is sent", () => {
    expect(decided({ ...old, intendedAt: NOW - 24 * HOUR_MS }).commands).toMatchObject([{ type: "submit" }]);
  });
});

describe("an unresolved attempt", () => {
  const unresolved = (cause: string, more = {}) =>
    decided({ phase: "unresolved", money: "held", unresolved: cause, ...more }, {}, true).commands;

  test("whose job was not found is polled, and nothing is sent", () => {
    expect(unresolved("not found")).toEqual([{ type: "follow", step: "a", attempt: 1, jobId: "j1" }]);
  });

  test("that was refused when it was sent again is sent under its key, while that is young enough", () => {
    expect(unresolved("refused")).toMatchObject([{ type: "submit", key: "sr1_k", mayExist: true }]);
    expect(unresolved("refused", { intendedAt: NOW - 25 * HOUR_MS })).toEqual([]);
  });

  test("is sent again and not searched for, even if its step is replaced", () => {
    const replaced = { pause: { reason: "drift", replaced: ["a"] } };
    const lost = { phase: "submitting.unknown", money: "held" };
    const refused = { phase: "unresolved", money: "held", unresolved: "refused" };
    expect(decided(lost, {}, false, replaced).commands).toMatchObject([{ type: "submit", isReplaced: true }]);
    const [command] = decided(refused, {}, true, replaced).commands;
    expect(command).toMatchObject({ type: "submit", mayExist: true });
    expect(command).not.toHaveProperty("isReplaced");
  });

  test("whose key is too old, or that was answered with an older job, is left to a person", () => {
    expect(unresolved("too old")).toEqual([]);
    expect(unresolved("older job")).toEqual([]);
  });
});

describe("an attempt that is over", () => {
  test("fails its step for the service's reason, or says that none was given", () => {
    expect(ended({ phase: "refused", money: "released", error: { message: "too long" } })).toEqual(
      failedBecause("too long"),
    );
    expect(ended({ phase: "refused", money: "released" })).toEqual(failedBecause("the service refused the request"));
    expect(ended({ phase: "lost", money: "released" })).toEqual(
      failedBecause("someone confirmed that nothing was generated"),
    );
    expect(ended({ phase: "failed" })).toEqual(failedBecause("the job failed"));
    const error = { code: "BAD_INPUT", message: "no face", retryable: false };
    expect(ended({ phase: "failed", error })).toEqual(failedBecause("BAD_INPUT: no face"));
  });

  test("that failed waits for its bill before anything is decided, except where the bill never comes", () => {
    const held = { phase: "failed", money: "held", costMicros: null };
    expect(decided(held)).toEqual({ events: [], commands: [{ type: "settle", step: "a", attempt: 1, jobId: "j1" }] });
    const notBefore = new Map([["settle:a#1", Number.POSITIVE_INFINITY]]);
    expect(decided(held, { notBefore }).events).toEqual(failedBecause("the job failed"));
  });

  test("is as good as its outputs", () => {
    const bad = { ...output, index: 1, status: "FAILED", phase: "failed", error: { message: "too dark" } };
    const completed = (outputs: readonly object[]) => ended({ phase: "completed", outputs });
    expect(completed([])).toEqual(failedBecause("the job completed without any output"));
    expect(completed([bad])).toEqual(failedBecause("too dark"));
    const unsaid = failedBecause("output 1 failed; the service gave no reason");
    expect(completed([{ ...bad, error: null }])).toEqual(unsaid);
    const late = failedBecause("output 1 expired on the service before it could be copied");
    expect(completed([{ ...bad, status: "EXPIRED", phase: "expired", error: null }])).toEqual(late);
    expect(completed([output, bad])).toMatchObject([
      { type: "step.finished", status: "partial", reason: "1 of 2 outputs failed: too dark" },
    ]);
    expect(completed([output])).toMatchObject([{ type: "step.finished", status: "succeeded" }]);
  });
});
