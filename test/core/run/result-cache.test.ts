import canonicalize from "canonicalize";
import fc from "fast-check";
import { expect, test } from "vitest";
import { apply, type RunEvent } from "../../../src/core/journal/events.ts";
import type { RunState } from "../../../src/core/journal/state.ts";
import { ownText } from "../../../src/core/kit/clean-text.ts";
import type { JobStep } from "../../../src/core/plan/kinds/job.ts";
import type { Json } from "../../../src/core/plan/plan.ts";
import { currentIdentity } from "../../../src/core/run/request-identity.ts";
import { ResultRecorder } from "../../../src/core/run/result-recorder.ts";
import { runningState } from "./support/decided.ts";
import { job, ref } from "./support/plans.ts";

/** b takes in a. */
function chain(keep = true): RunState {
  return runningState([[job("a", {}, { keep })], [job("b", { images: [ref("a")] })]]);
}

function take(state: RunState, events: readonly RunEvent[]): readonly RunEvent[] {
  for (const event of events) apply(state, { runId: "r", seq: state.seq + 1, at: 7, version: 1, event });
  return events;
}

/** A step's job from its price to its outputs, and the end of the step. */
function made(step: string, input: Json): readonly RunEvent[] {
  const at = { step, attempt: 1 };
  const facts = { contentType: ownText("image/png"), width: 1, height: 1, durationMs: null, fps: null, error: null };
  return [
    { type: "job.quoted", ...at, costMicros: 1, basis: "quoted" },
    { type: "step.started", step },
    { type: "job.submit.intended", ...at, key: "k", model: "m", input, holdMicros: 1 },
    { type: "job.submitted", ...at, jobId: `job_${step}`, model: "m", replayed: false },
    { type: "job.started", ...at },
    {
      type: "job.completed",
      ...at,
      outputs: [{ index: 0, status: "COMPLETED", assetId: `asset_${step}`, voiceId: null, ...facts }],
    },
    { type: "step.finished", step, status: "succeeded", reason: null },
  ];
}

const copied = (step: string, sha256: string): RunEvent => ({
  ...{ type: "output.downloaded", step, attempt: 1, index: 0, sha256, sizeBytes: 1, contentType: "image/png" },
});
const usesA: Json = { prompt: "b", images: [{ source: "asset", asset_id: "asset_a" }] };

test("a result is noted once the content of all that it took in is known, whichever comes first", () => {
  const state = chain();
  const notes = new ResultRecorder(state);
  expect(notes.due(state, take(state, made("a", { prompt: "a" })), false).map(({ step }) => step)).toEqual(["a"]);
  notes.recorded([{ step: "a", fingerprint: "", model: null }]);
  expect(notes.due(state, take(state, made("b", usesA)), false)).toEqual([]);
  const [late] = notes.due(state, take(state, [copied("a", "11")]), false);

  const other = chain();
  const otherNotes = new ResultRecorder(other);
  take(other, made("a", { prompt: "a" }));
  take(other, [copied("a", "11")]);
  const early = otherNotes.due(other, take(other, made("b", usesA)), false).find(({ step }) => step === "b");
  expect(late).toEqual(early);
  expect(late).toMatchObject({ step: "b", model: "m" });
});

test("what a commit did not take is noted with the next one, and nothing twice", () => {
  const state = chain();
  const notes = new ResultRecorder(state);
  const first = notes.due(state, take(state, made("a", { prompt: "a" })), false);
  expect(notes.due(state, [{ type: "output.expired", step: "a", attempt: 1, index: 0 }], false)).toEqual(first);
  notes.recorded(first);
  expect(notes.due(state, [], true)).toEqual([]);
});

test("a process that takes over notes what the one before may not have noted", () => {
  const state = chain();
  take(state, made("a", { prompt: "a" }));
  expect(new ResultRecorder(state).due(state, [], true).map(({ step }) => step)).toEqual(["a"]);
});

test("what the journal holds of a step's last end is not noted again by a process that takes over", () => {
  const state = chain();
  take(state, made("a", { prompt: "a" }));
  const { finishedAt } = state.steps.a!;
  const stored = (at: number) => ({ step: "a", fingerprint: "f", model: "m", runId: "r", account: "k", at });
  const notedAfter = (at: number) => {
    const notes = new ResultRecorder(state);
    notes.noteStored(state, [stored(at)]);
    return notes.due(state, [], true).map(({ step }) => step);
  };
  expect(notedAfter(finishedAt!)).toEqual([]);
  expect(notedAfter(finishedAt! - 1)).toEqual(["a"]);
});

test("at the end an asset without a copy stands for itself", () => {
  const state = chain(false);
  take(state, made("a", { prompt: "a" }));
  const b = new ResultRecorder(state).due(state, take(state, made("b", usesA)), false).find(({ step }) => step === "b");
  expect(b).toBeDefined();
  expect(currentIdentity(state, state.planned.plan.steps[1] as JobStep)?.request).toMatchObject({ input: usesA });
});

test("requests are compared by content: an asset, its copy sent again and an uploaded file are the same", () => {
  const [asset, upload] = [chain(), chain()];
  for (const state of [asset, upload]) {
    take(state, made("a", { prompt: "a" }));
    take(state, [copied("a", "11")]);
  }
  take(asset, made("b", usesA));
  take(upload, made("b", { prompt: "b", images: [{ source: "upload", sha256: "11" }] }));
  const of = (state: RunState) => currentIdentity(state, state.planned.plan.steps[1] as JobStep)?.fingerprint;
  expect(of(asset)).toBe(of(upload));
});

test("the fingerprint of a request changes with every part of it, and not with the order of its keys", () => {
  const input = fc.dictionary(fc.stringMatching(/^[a-z]{1,6}$/), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 5 });
  const of = (asks: { readonly [key: string]: Json }) => {
    const state = chain();
    take(state, made("a", asks));
    return currentIdentity(state, state.planned.plan.steps[0] as JobStep)?.fingerprint;
  };
  const normal = (value: unknown) => JSON.stringify(value, (_, item) => (Object.is(item, -0) ? 0 : item));
  fc.assert(
    fc.property(input, input, (one, other) => {
      const [a, b] = [one, other].map((value) => JSON.parse(normal(value)) as { readonly [key: string]: Json });
      const reversed = Object.fromEntries(Object.entries(a!).reverse());
      expect(of(reversed)).toBe(of(a!));
      if (canonicalize(a) !== canonicalize(b)) expect(of(a!)).not.toBe(of(b!));
    }),
  );
});
