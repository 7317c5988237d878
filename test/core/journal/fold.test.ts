import { describe, expect, test } from "vitest";
import { IllegalEventError } from "../../../src/core/journal/errors.ts";
import { fold, type RunEvent, type StoredEvent, specOf } from "../../../src/core/journal/events.ts";
import { newAttempt, outputsOf } from "../../../src/core/journal/state.ts";
import { job, planOf, ref } from "../run/support/plans.ts";
import { gate } from "../run/support/steps.ts";
import { planned } from "./samples.ts";
import {
  at,
  begun,
  completed,
  copy,
  ended,
  error,
  Folded,
  intended,
  output,
  quoted,
  sent,
  settled,
  started,
  steps,
  submitted,
} from "./support/folded.ts";

describe("a paid job", () => {
  test("is held, sent, acknowledged, made, paid and copied, each with its instant", () => {
    const run = new Folded().take(started, quoted("a", 80), begun("a"), { ...intended("a", 90), clockOffsetMs: 5 });
    const attempt = run.state.steps.a!.attempts[0]!;
    expect(run.state).toMatchObject({ status: "running", startedAt: 100, heldMicros: 90, spentMicros: 0, seq: 5 });
    expect(attempt).toMatchObject({
      ...{
        n: 1,
        phase: "submitting.sent",
        money: "held",
        quote: { costMicros: 80, basis: "quoted" },
        key: "k1",
        model: "m",
      },
      ...{
        input: { x: 1 },
        holdMicros: 90,
        expectedMicros: 80,
        intendedAt: 130,
        lastSentAt: 130,
        sentByService: { from: 135, to: 135 },
      },
    });
    run.take({ type: "job.submit.unknown", ...at("a"), message: "gone", clockOffsetMs: 7 });
    expect(attempt).toMatchObject({
      phase: "submitting.unknown",
      intendedAt: 130,
      lastSentAt: 140,
      sentByService: { from: 135, to: 147 },
    });
    run.take({ type: "job.submit.resent", ...at("a"), clockOffsetMs: 9 });
    const sentByService = { from: 135, to: 159 };
    expect(attempt).toMatchObject({ phase: "submitting.unknown", lastSentAt: 150, sentByService });
    run.take(submitted("a"), { type: "job.started", ...at("a") });
    expect(attempt).toMatchObject({ phase: "inProgress", jobId: "j-a-1", model: "m2", submittedAt: 160 });
    run.take(completed("a", output(0), output(1, "FAILED"), output(2, "EXPIRED")));
    expect(attempt.outputs.map(({ phase }) => phase)).toEqual(["available", "failed", "expired"]);
    expect(attempt).toMatchObject({ phase: "completed", completedAt: 180, money: "held" });
    run.take(settled("a", 60));
    expect(run.state).toMatchObject({ heldMicros: 0, spentMicros: 60, overcharges: {} });
    run.take(settled("a", 70), { type: "output.downloaded", ...at("a"), index: 0, ...copy }, ended("a", "partial"));
    expect(run.state).toMatchObject({ spentMicros: 70, losses: 1 });
    expect(attempt).toMatchObject({ costMicros: 70, money: "settled" });
    expect(attempt.outputs[0]).toMatchObject({ phase: "downloaded", copy });
    run.take({ type: "output.expired", ...at("a"), index: 0 });
    expect(outputsOf(run.state.steps.a!)[0]!.phase).toBe("archived");
    expect(run.state.steps.a).toMatchObject({ status: "partial", startedAt: 120, finishedAt: 220 });
  });

  test("that is refused, withdrawn, failed or lost gives back what is held, or keeps it for its bill", () => {
    const refused = new Folded().take(started, ...sent("a"), { type: "job.submit.refused", ...at("a"), error });
    expect(refused.state.heldMicros).toBe(0);
    expect(refused.state.steps.a!.attempts[0]).toMatchObject({ phase: "refused", money: "released", error });
    const again = new Folded().take(started, ...sent("a"), {
      type: "job.submit.withdrawn",
      ...at("a"),
      reason: "funds",
    });
    expect(again.state.heldMicros).toBe(0);
    again.take(intended("a", 120));
    expect(again.state.heldMicros).toBe(120);
    const failed = new Folded().take(started, ...sent("a"), submitted("a"), { type: "job.failed", ...at("a"), error });
    expect(failed.state.heldMicros).toBe(100);
    expect(failed.state.steps.a!.attempts[0]).toMatchObject({ phase: "failed", completedAt: 150, error });
    failed.take(settled("a", 0), quoted("a", 50, 2), intended("a", 50, 2));
    expect(failed.state).toMatchObject({ heldMicros: 50, spentMicros: 0 });
    expect(failed.state.steps.a!.attempts).toHaveLength(2);
  });

  test.each([
    ["found", { type: "job.found", ...at("a") }, "inQueue", "held", null, 100],
    ["acknowledged", submitted("a"), "inQueue", "held", "j-a-1", 100],
    ["adopted", { type: "job.adopted", ...at("a"), jobId: "j9" }, "inQueue", "held", "j9", 100],
    ["lost", { type: "job.adopted", ...at("a"), jobId: null }, "lost", "released", null, 0],
  ])("that nobody knows the outcome of is %s", (_how, event, phase, money, jobId, heldMicros) => {
    const unresolved = { type: "job.unresolved", ...at("a"), message: "who knows", cause: "refused" };
    const run = new Folded().take(started, ...sent("a"), unresolved);
    expect(run.state.steps.a).toMatchObject({ status: "unresolved", reason: "who knows" });
    expect(run.state.steps.a!.attempts[0]).toMatchObject({ phase: "unresolved", unresolved: "refused" });
    run.take(event);
    expect(run.state.steps.a).toMatchObject({ status: "running", reason: null });
    expect(run.state.steps.a!.attempts[0]).toMatchObject({ phase, money, jobId, unresolved: null });
    expect(run.state.heldMicros).toBe(heldMicros);
  });

  test("whose model charges above its quotes is held for more", () => {
    const run = new Folded().take(started, ...sent("a"), { type: "job.hold.raised", ...at("a"), holdMicros: 170 });
    expect(run.state.heldMicros).toBe(170);
    expect(run.state.steps.a!.attempts[0]!.holdMicros).toBe(170);
    run.take(submitted("a"), settled("a", 160));
    expect(run.state).toMatchObject({ heldMicros: 0, spentMicros: 160 });
  });
});

describe("a chat", () => {
  const ask = (n: number) => ({ type: "chat.intended", ...at("talk", n), model: "talk", input: {}, holdMicros: 40 });

  test("is held, and paid or given up with what it may have cost", () => {
    const run = new Folded().take(started, begun("talk"), ask(1));
    expect(run.state.heldMicros).toBe(40);
    run.take({ type: "chat.failed", ...at("talk"), error, answer: "{", costMicros: 6, jobId: "c1" }, ask(2));
    expect(run.state).toMatchObject({ heldMicros: 40, spentMicros: 6, unconfirmedMicros: 0 });
    const [first] = run.state.steps.talk!.attempts;
    expect(first).toEqual({
      ...newAttempt(1, "chat"),
      ...{
        phase: "failed",
        money: "settled",
        model: "talk",
        input: {},
        holdMicros: 40,
        expectedMicros: 40,
        costMicros: 6,
        error,
        jobId: "c1",
        answer: "{",
        intendedAt: 120,
        completedAt: 130,
      },
    });
    run.take({ type: "chat.abandoned", ...at("talk", 2), holdMicros: 40 }, ask(3));
    expect(run.state).toMatchObject({ heldMicros: 40, spentMicros: 6, unconfirmedMicros: 40 });
    expect(run.state.steps.talk!.attempts[1]).toMatchObject({
      phase: "abandoned",
      money: "unconfirmed",
      completedAt: 150,
    });
    run.take({ type: "chat.failed", ...at("talk", 3), error, costMicros: 0, jobId: null }, ask(4));
    expect(run.state.steps.talk!.attempts[2]!.answer).toBeUndefined();
    run.take({ type: "chat.answered", ...at("talk", 4), value: { ok: 1 }, costMicros: 9, jobId: null });
    expect(run.state).toMatchObject({ heldMicros: 0, spentMicros: 15, unconfirmedMicros: 40 });
    expect(run.state.steps.talk).toMatchObject({ value: { ok: 1 } });
  });

  test("may be repeated once the run, paused for it, is resumed; for another reason it may not", () => {
    const abandoned = [ask(1), { type: "chat.abandoned", ...at("talk"), holdMicros: 40 }];
    const resumed = (reason: string) =>
      new Folded().take(
        started,
        begun("talk"),
        ...abandoned,
        { type: "run.paused", reason, message: "x" },
        { type: "run.resumed" },
      );
    expect(resumed("unanswered").state.steps.talk!.attempts[0]!.mayRepeat).toBe(true);
    expect(resumed("funds").state.steps.talk!.attempts[0]!.mayRepeat).toBeUndefined();
    const failed = { type: "chat.failed", ...at("talk"), error, costMicros: 0, jobId: null };
    const other = new Folded().take(started, begun("talk"), ask(1), failed, {
      type: "run.paused",
      reason: "unanswered",
      message: "x",
    });
    expect(other.take({ type: "run.resumed" }).state.steps.talk!.attempts[0]!.mayRepeat).toBeUndefined();
  });
});

describe("a run", () => {
  const pause = { type: "run.paused", reason: "budget", message: "too dear", requiredMicros: 5, flag: "--cap 1" };
  const requested = { type: "rerun.requested", requestId: "q1", steps: ["a"] };

  test("pauses with what it needs, and forgets it when it goes on", () => {
    const run = new Folded().take(started, { type: "service.unavailable", reason: "unreachable", message: "away" });
    expect(run.state.outage).toEqual({ since: 110, reason: "unreachable", message: "away" });
    run.take(pause);
    expect(run.state).toMatchObject({ status: "paused" });
    expect(run.state.pause).toEqual({
      ...{
        reason: "budget",
        message: "too dear",
        fundingUrl: null,
        requiredMicros: 5,
        balanceMicros: null,
        flag: "--cap 1",
        resumeAt: null,
      },
    });
    run.take({ type: "run.resumed" });
    expect(run.state).toMatchObject({ status: "running", pause: null, outage: null });
    run.take(
      { type: "service.unavailable", reason: "media", message: "full" },
      { type: "service.recovered", reason: "media" },
    );
    expect(run.state.outage).toBeNull();
  });

  test("takes another budget and another account", () => {
    const run = new Folded().take({ type: "run.budget.set", budgetMicros: 8, maxUnquotedMicros: 9 });
    expect(run.state).toMatchObject({ budgetMicros: 8, maxUnquotedMicros: 9 });
    run.take({ type: "run.account.moved", baseUrl: "https://b", keyId: "k2", jobId: null });
    expect(run.state.planned).toMatchObject({ baseUrl: "https://b", keyId: "k2", nonce: "n0" });
    expect(run.take({ type: "lease.acquired", epoch: 4, holder: "h", program: "1.0.0" }).state.epoch).toBe(4);
  });

  test("ends with its message, and begins again without it", () => {
    const run = new Folded().take(
      started,
      pause,
      requested,
      { type: "run.resumed" },
      { type: "service.unavailable", reason: "media", message: "x" },
    );
    run.take({ type: "run.finished", status: "partial", message: "b failed" });
    expect(run.state).toMatchObject({
      status: "partial",
      message: "b failed",
      finishedAt: 150,
      pause: null,
      outage: null,
    });
    expect(run.state.reruns).toEqual([{ requestId: "q1", steps: ["a"], requestedAt: 120, isOpen: false }]);
    run.take({ type: "run.reopened" });
    expect(run.state).toMatchObject({ status: "running", message: null, finishedAt: null });
  });

  test("counts the time at work: not a pause, nor its end", () => {
    const run = new Folded().take(started, begun("a"), pause, begun("cut"), { type: "run.resumed" });
    expect(run.state.activeTime).toEqual({ ms: 20, since: 140, lastAt: 140 });
    run.take({ type: "run.finished", status: "succeeded", message: null });
    expect(run.state.activeTime).toEqual({ ms: 30, since: null, lastAt: 150 });
    expect(run.take({ type: "run.reopened" }).state.activeTime.since).toBe(160);
  });

  test("has a request for a rerun open until it waits for a decision, and takes each request once", () => {
    const run = new Folded().take(started, requested);
    expect(() => run.take(requested)).toThrow(IllegalEventError);
    run.take({ ...requested, requestId: "q2" }, pause);
    expect(run.state.reruns.map(({ isOpen }) => isOpen)).toEqual([true, true]);
    run.take({ type: "run.resumed" }, { ...pause, reason: "approval" });
    expect(run.state.reruns.map(({ isOpen }) => isOpen)).toEqual([false, false]);
  });

  test("counts the steps that ended without their full result", () => {
    const run = new Folded().take(started, begun("a"), begun("b"), ended("a", "succeeded"));
    expect(run.state.losses).toBe(0);
    run.take(
      ended("b", "failed"),
      ended("cut", "skipped", { skippedByCondition: true }),
      ended("talk", "skipped", { pruned: true }),
    );
    expect(run.state.losses).toBe(3);
    expect(run.state.steps.cut).toMatchObject({ skippedByCondition: true, pruned: false });
    expect(run.state.steps.talk).toMatchObject({ skippedByCondition: false, pruned: true });
    expect(run.take({ type: "step.reset", step: "b", why: "asked" }).state.losses).toBe(2);
  });
});

test("an event that no chart allows, or about what there is not, is refused with its number and its type", () => {
  const running = () => new Folded().take(started);
  for (const event of [
    ...[started, begun("nothing"), quoted("a", 1, 3), intended("a"), submitted("a"), { type: "run.resumed" }],
    ...[
      { type: "output.expired", ...at("a", 0), index: 0 },
      ended("a", "succeeded"),
      { type: "run.planned", plan: planOf([]) },
    ],
    ...[{ type: "chat.answered", ...at("talk"), value: 1, costMicros: 0, jobId: null }],
  ])
    expect(() => running().take(event)).toThrow(IllegalEventError);
  expect(() => running().take(begun("nothing"))).toThrow(/step\.started/);
  const ask = { type: "chat.intended", ...at("talk"), model: "talk", input: {}, holdMicros: 1 };
  expect(() => running().take(begun("talk"), ask, { ...ask, attempt: 2 })).toThrow(IllegalEventError);
  expect(() => running().take(begun("talk"), { ...ask, attempt: 2 })).toThrow(IllegalEventError);
});

test("a run is folded from its plan on, or not at all", () => {
  const first: StoredEvent = { runId: "r", seq: 1, at: 5, version: 4, event: { ...planned(), plan: planOf(steps) } };
  const second: StoredEvent = { ...first, seq: 2, at: 8, event: { type: "run.started" } };
  expect(fold([])).toBeNull();
  expect(fold([first, second])).toMatchObject({ runId: "r", seq: 2, createdAt: 5, startedAt: 8, status: "running" });
  expect(() => fold([second])).toThrow(IllegalEventError);
});

test("a decision that waits is told to people, with what it asks", () => {
  const { state } = new Folded([gate("ok", [ref("a")]), gate("pick", [ref("a")], true, "which?"), job("a")]);
  const notice = (step: string) => {
    const event = begun(step) as RunEvent;
    return specOf(event).notice?.(event, state)?.message ?? null;
  };
  expect([notice("ok"), notice("pick"), notice("a")]).toEqual([
    "ok is waiting for approval",
    "pick is waiting for a choice: which?",
    null,
  ]);
});
