import { expect, test } from "vitest";
import type { RunState } from "../../../src/core/journal/state.ts";
import type { Reference } from "../../../src/core/plan/plan.ts";
import { documentSchemas } from "../../../src/core/view/document-schema.ts";
import { runDocument } from "../../../src/core/view/run-document.ts";
import { RunHistory, RunView } from "../../../src/core/view/run-view.ts";
import { placedFile } from "../../../src/core/view/step-view.ts";
import { attempt, output } from "../run/support/attempts.ts";
import { runningState } from "../run/support/decided.ts";
import { FakeRun } from "../run/support/fake-run.ts";
import { job, planOf, ref } from "../run/support/plans.ts";
import { gate, pick, task } from "../run/support/steps.ts";

const documentOf = (state: RunState, options?: { readonly isInterrupted: boolean }) =>
  documentSchemas.runDocument.parse(runDocument(new RunView(state), options));
const iso = (ms: number) => new Date(ms).toISOString();

test("a document has the run in snake case, dollars as text and instants as ISO-8601", () => {
  const state = runningState([[job("a"), { status: "failed", reason: "no", startedAt: 1, finishedAt: 2 }]], {
    ...{
      status: "paused",
      spentMicros: 5_500_000,
      heldMicros: 20_000,
      unconfirmedMicros: 10_000,
      budgetMicros: 5_000_000,
    },
    ...{ createdAt: 1_000, finishedAt: 2_000, message: "old", activeTime: { ms: 7, since: null, lastAt: 9 } },
    overcharges: {
      m: {
        worst: { quotedMicros: 100_000, chargedMicros: 150_000 },
        unquotedMicros: null,
        times: 2,
        excessMicros: 90_000,
      },
      n: { worst: null, unquotedMicros: 5, times: 1, excessMicros: 10_000 },
      learnt: { worst: null, unquotedMicros: 5, times: 0, excessMicros: 0 },
    },
    pause: {
      ...{
        reason: "budget",
        message: "too dear",
        fundingUrl: "https://pay",
        requiredMicros: 6_000_000,
        balanceMicros: null,
      },
      ...{ flag: null, resumeAt: 3_000 },
    },
  });
  expect(documentOf(state)).toEqual({
    ...{ id: "r", seq: 1, pipeline: "by-hand", title: null, tags: {}, status: "paused", message: "too dear" },
    pause: { reason: "budget", funding_url: "https://pay", required: "6.00", balance: null, resume_at: iso(3_000) },
    ...{
      budget: "5.00",
      budget_tag: null,
      quote: null,
      rerun_quote: "0.00",
      projected: "5.53",
      cost: "5.50",
      held: "0.02",
      unconfirmed: "0.01",
      over_budget: "0.50",
    },
    next: { command: "showrunner resume r --budget 6.00", note: null },
    overcharges: [
      { model: "m", times: 2, excess: "0.09", worst: { quoted: "0.10", charged: "0.15" } },
      { model: "n", times: 1, excess: "0.01", worst: null },
    ],
    ...{ out_dir: "/tmp/out", outputs: {}, created_at: iso(1_000), finished_at: iso(2_000), took_ms: 7, expiring: [] },
    missing: [{ step: "a", output: null, what: "result", until: null, text: "a failed: no" }],
    refused: [],
    steps: [
      {
        ...{
          path: "a",
          kind: "job",
          phase: "failed",
          late: null,
          model: "m",
          status: "failed",
          reason: "no",
          started_at: iso(1),
          finished_at: iso(2),
        },
        ...{
          quote: null,
          edited: [],
          attempts: [],
          outputs: [],
          value: null,
          chosen: null,
          approval: null,
          reused_from: null,
        },
      },
    ],
  });
});

test("a document of a run whose process has ended says so, with how it goes on", () => {
  const state = runningState([], { status: "running", budgetMicros: null });
  state.planned = { ...state.planned, tags: { for: "me" }, quoteMicros: 20_000 };
  state.rerunQuoteMicros = 10_000;
  expect(documentOf(state, { isInterrupted: true })).toMatchObject({
    ...{
      status: "interrupted",
      message: expect.stringContaining("the run's process has ended"),
      pause: null,
      budget: null,
      over_budget: null,
      finished_at: null,
    },
    ...{ tags: { for: "me" }, quote: "0.02", rerun_quote: "0.01", next: { command: "showrunner resume r" } },
  });
  expect(documentOf(state)).toMatchObject({ status: "running", message: null, next: null });
  expect(documentOf({ ...state, budgetMicros: 5, spentMicros: 5 }).over_budget).toBeNull();
  const paused = {
    reason: "stopped",
    message: "x",
    fundingUrl: null,
    requiredMicros: null,
    balanceMicros: 10_000,
    flag: null,
    resumeAt: null,
  } as const;
  expect(documentOf({ ...state, pause: paused }).pause).toMatchObject({
    required: null,
    balance: "0.01",
    resume_at: null,
  });
});

test("what the pipeline returned has the pipeline's names, and files as the steps have them", () => {
  const made = { status: "succeeded", attempts: [attempt(1, { outputs: [output(0), output(1, { voiceId: "v" })] })] };
  const words: Reference = { $ref: { step: "words", as: "value", output: 0 } };
  const state = runningState(
    [
      [job("a"), made],
      [job("b"), {}],
      [task("words"), { status: "succeeded", value: { wordCount: 2 } }],
    ],
    { files: [{ name: "bestTake", step: "a", index: 0, file: "p.png", manifest: "p.json" }] },
    { returns: { bestTake: ref("a"), allOf: [ref("a", "all")], later: ref("b"), words } },
  );
  const picture = {
    step: "a",
    index: 0,
    file: "p.png",
    content_type: "image/png",
    width: 2,
    height: 3,
    duration_ms: 4,
  };
  const voice = { voice_id: "v" };
  expect(documentOf(state).outputs).toEqual({
    bestTake: picture,
    allOf: [[picture, voice]],
    later: null,
    words: { wordCount: 2 },
  });
});

test("a document has what each step made and cost, former results and steps that are gone included", () => {
  const expiresAt = 48 * 3_600_000;
  const former = output(0, { assetId: "old", copy: null, voiceId: "v" });
  const made = {
    ...{
      status: "succeeded",
      superseded: 1,
      attempts: [
        attempt(1, { outputs: [former] }),
        attempt(2, { outputs: [output(0, { expiresAt }), output(1, { copy: null, expiresAt })] }),
      ],
    },
  };
  const reused = {
    status: "succeeded",
    outputs: [],
    reusedFrom: { runId: "r0", step: "x", jobId: null, completedAt: 0 },
  };
  const state = runningState(
    [
      [job("a", {}, { keep: false }), made],
      [job("b", {}, { keep: false }), reused],
      [gate("ok", [ref("a")]), { status: "running" }],
      [job("use", { image: ref("a", 1) })],
      [pick("best", [ref("a")]), { status: "succeeded", chosen: { step: "a", index: 0 } }],
      [gate("done", [ref("a")]), { status: "failed", approval: { approved: false, note: "dull" } }],
      [task("old"), { value: [1] }],
    ],
    { files: [{ name: "poster", step: "a", index: 0, file: "p.png", manifest: "p.json" }] },
  );
  const gone = state.planned.plan.steps.at(-1)!;
  state.planned = { ...state.planned, plan: planOf(state.planned.plan.steps.slice(0, -1)) };
  state.removedSteps.push(gone);
  const { steps, expiring } = documentOf(state);
  const facts = { content_type: "image/png", width: 2, height: 3, duration_ms: 4, fps: 5, expires_at: iso(expiresAt) };
  expect(steps[0]).toMatchObject({
    quote: "0.00008",
    attempts: [
      {
        ...{ n: 1, job_id: "j1", status: "completed", cost: "0.00006", error: null },
        former_outputs: [{ index: 0, asset_id: "old", voice_id: "v", sha256: null }],
      },
      { n: 2, job_id: "j2", status: "completed", cost: "0.00006", error: null },
    ],
    outputs: [
      {
        index: 0,
        status: "COMPLETED",
        asset_id: "x0",
        voice_id: null,
        file: "p.png",
        manifest: "p.json",
        sha256: "c",
        ...facts,
      },
      {
        index: 1,
        status: "COMPLETED",
        asset_id: "x1",
        voice_id: null,
        file: null,
        manifest: null,
        sha256: null,
        ...facts,
      },
    ],
  });
  expect(steps[0]!.attempts[1]).not.toHaveProperty("former_outputs");
  expect(steps[0]).not.toHaveProperty("removed");
  expect(steps[1]!.reused_from).toEqual({ run: "r0", step: "x" });
  expect(steps.map(({ path, status }) => `${path} ${status}`)).toEqual([
    ...[
      "a succeeded",
      "b succeeded",
      "ok awaiting-approval",
      "use waiting",
      "best succeeded",
      "done failed",
      "old waiting",
    ],
  ]);
  expect(steps[4]!.chosen).toEqual({ step: "a", index: 0 });
  expect(steps[5]!.approval).toEqual({ approved: false, note: "dull" });
  expect(steps[6]).toMatchObject({ removed: true, path: "old", model: null, value: [1] });
  expect(expiring).toEqual([
    {
      step: "a",
      index: 0,
      asset_id: "x0",
      expires_at: iso(expiresAt),
      needed_by: ["ok"],
      copied: true,
      uncopied: null,
    },
    {
      step: "a",
      index: 1,
      asset_id: "x1",
      expires_at: iso(expiresAt),
      needed_by: ["use"],
      copied: false,
      uncopied: null,
    },
  ]);
});

test("the file of an output is the first that it has, also of files that were placed since", () => {
  const state = runningState([]);
  const place = (name: string, index: number) =>
    state.files.push({ name, step: "a", index, file: `${name}.png`, manifest: null });
  place("one", 0);
  place("two", 0);
  expect(placedFile(state, "a", 0)?.name).toBe("one");
  expect([placedFile(state, "a", 1), placedFile(state, "b", 0)]).toEqual([undefined, undefined]);
  place("three", 1);
  expect(placedFile(state, "a", 1)?.name).toBe("three");
});

test("a history has what happened to a run", () => {
  const run = new FakeRun({ plan: planOf([job("a")]) });
  const history = new RunHistory();
  const take = (event: object) => {
    run.now += 10;
    run.take([event as never]);
    history.add(run.events.at(-1)!, run.state);
  };
  history.add(run.events[0]!, run.state);
  take({ type: "run.started" });
  take({ type: "run.paused", reason: "funds", message: "poor" });
  take({ type: "run.paused", reason: "funds", message: "poorer" });
  take({ type: "run.resumed" });
  take({ type: "run.paused", reason: "stopped", message: "x" });
  expect(history.incidents(run.state).map(({ what, why }) => `${what} ${why}`.trim())).toEqual([
    ...["paused: funds poor", "paused: funds poorer", "resumed", "paused: stopped x"],
  ]);
});

test("an incident of an attempt has its cost and whether it was tried again, as far as that is known by now", () => {
  const run = new FakeRun({
    plan: planOf([job("a", {}, { attempts: 2 }), job("b")]),
    fates: { a: ["failed", "made"], b: ["refused"] },
  });
  expect(run.run()).toBe(true);
  const told = (upTo: number) => {
    const history = new RunHistory();
    for (const stored of run.events.slice(0, upTo)) history.add(stored, run.state);
    return history.incidents(run.state).map(({ step, what, why, costMicros }) => ({ step, what, why, costMicros }));
  };
  expect(told(run.events.length)).toContainEqual({
    ...{ step: "a", what: "attempt 1 failed, tried again", why: "INTERNAL: failed on paper", costMicros: 100_000 },
  });
  expect(told(run.events.length)).toContainEqual({
    step: "b",
    what: "attempt 1 refused",
    why: "failed on paper",
    costMicros: null,
  });
});
