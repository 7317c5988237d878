import { expect, test } from "vitest";
import { newAttempt, type RunState } from "../../../src/core/journal/state.ts";
import type { PlanStep } from "../../../src/core/plan/plan.ts";
import {
  type CapTerms,
  type Headroom,
  inFlightMicros,
  isSameLimit,
  isSubmitting,
  type LimitHeadroom,
  minusHold,
  overHeadroom,
  raisedHolds,
  whyRaised,
} from "../../../src/core/run/money.ts";
import { runningState } from "./support/decided.ts";
import { job } from "./support/plans.ts";

const daily: CapTerms = {
  ...{ what: "cap", capMicros: 1_000_000, title: "1.00 USD a day", endsAt: 5_000, resumesAt: "midnight" },
  ...{ flag: ["--cap ", "/day"], limitFlags: ["--cap", "1.00/day"] },
};
const cap: LimitHeadroom = { limit: "cap", headroomMicros: 300_000, cap: daily, committedMicros: 700_000 };
const floor: LimitHeadroom = {
  limit: "floor",
  headroomMicros: 100_000,
  floorMicros: 500_000,
  balanceMicros: 800_000,
  unseenMicros: 200_000,
};
const later: Headroom = { limit: "later", headroomMicros: 0, askAgainAt: 9 };

test("a hold is taken from the headroom, and counted where its limit counts", () => {
  expect(minusHold(cap, 100_000)).toEqual({ ...cap, headroomMicros: 200_000, committedMicros: 800_000 });
  expect(minusHold(floor, 60_000)).toEqual({ ...floor, headroomMicros: 40_000, unseenMicros: 260_000 });
  expect(minusHold(later, 60_000)).toBe(later);
});

test("a later limit replaces an earlier one of its kind, and a cap only the cap of its name", () => {
  expect(isSameLimit(cap, { ...cap, headroomMicros: 1 })).toBe(true);
  expect(isSameLimit(cap, { ...cap, cap: { ...daily, title: "9.00 USD a week" } })).toBe(false);
  expect(isSameLimit(floor, { ...floor, headroomMicros: 1 })).toBe(true);
  expect(isSameLimit(cap, floor)).toBe(false);
  expect(isSameLimit(later, floor)).toBe(false);
});

test("a cap that begins anew pauses until then, and names the cap that would have done in whole cents", () => {
  expect(overHeadroom(cap, "face", 301_000)).toEqual({
    type: "run.paused",
    reason: "cap",
    message:
      "face needs 0.301 USD, but 0.70 USD of the 1.00 USD a day is spent or reserved. The run can continue at midnight, or earlier with a higher cap: --cap USD/day.",
    requiredMicros: 1_001_000,
    flag: "--cap 1.01/day",
    limitFlags: ["--cap", "1.00/day"],
    resumeAt: 5_000,
  });
});

test.each([
  ["never begins anew", { ...daily, endsAt: null, resumesAt: null }, 301_000],
  ["is less than the job alone", daily, 1_000_001],
])("a cap that %s pauses as a budget does, without an instant", (_why, terms, holdMicros) => {
  const pause = overHeadroom({ ...cap, cap: terms }, "face", holdMicros);
  expect(pause).toMatchObject({ reason: "budget", requiredMicros: 700_000 + holdMicros });
  expect(pause.message).toMatch(/is spent or reserved\. Resume with a higher cap: --cap USD\/day\.$/);
  expect(pause).not.toHaveProperty("resumeAt");
});

test("what is as large as the whole cap fits into its next period", () => {
  expect(overHeadroom(cap, "face", daily.capMicros)).toMatchObject({ reason: "cap" });
});

test("a wallet floor pauses for funds, and says what the wallet has beside what is reserved", () => {
  expect(overHeadroom(floor, "face", 150_000)).toEqual({
    type: "run.paused",
    reason: "funds",
    message:
      "face needs 0.15 USD; the wallet has 0.60 USD that is not reserved, and 0.50 USD must stay in it. Add funds, or resume with a lower floor: --wallet-floor USD.",
    requiredMicros: 650_000,
    balanceMicros: 600_000,
    limitFlags: ["--wallet-floor", "0.50"],
  });
});

test("a hold above its quote is explained, one at or below it is not", () => {
  expect(whyRaised("image-1", 100_000, 150_000)).toBe(
    " (quoted 0.10, but image-1 has charged more than quoted before)",
  );
  expect(whyRaised("image-1", 100_000, 100_000)).toBe("");
  expect(whyRaised("image-1", null, 150_000)).toBe("");
});

/** Two steps in a group and one beside it, each with an attempt that holds money. */
function holding(changes: Readonly<Record<string, object>> = {}): RunState {
  const steps = ["a/x", "a/y", "b"].map((name, index): [PlanStep, object] => {
    const attempt = { n: 1, model: "image-1", phase: "inQueue", money: "held", holdMicros: 10 ** index, quote: null };
    return [job(name), { attempts: [{ ...attempt, ...changes[name] }] }];
  });
  return runningState(steps);
}

test.each([
  ["jobs under way count", {}, "", 111],
  ["of a group only its own", {}, "a/", 11],
  ["what is settled is no hold any more", { b: { money: "settled" } }, "", 11],
  ["an ended job whose bill is still polled counts", { b: { phase: "completed" } }, "", 111],
  ["so does a failed one", { b: { phase: "failed" } }, "", 111],
  ["one whose bill never came does not", { "a/y": { phase: "completed" } }, "", 101],
  ["one that is only priced does not", { b: { phase: "priced" } }, "", 11],
])("bills that may be less than their holds: %s", (_what, changes, within, micros) => {
  const state = holding(changes);
  const givenUp = new Map([["settle:a/y#1", Number.POSITIVE_INFINITY]]);
  expect(inFlightMicros(state, Object.keys(state.steps), within, givenUp)).toBe(micros);
});

test("a chat under way counts, one that was answered does not", () => {
  const state = holding();
  const request = { ...newAttempt(1, "chat"), holdMicros: 5 };
  state.steps.b!.attempts = [{ ...request, phase: "submitting.sent", money: "held" }];
  expect(inFlightMicros(state, ["b"], "", new Map())).toBe(5);
  expect(isSubmitting(state, ["b"])).toBe(true);
  state.steps.b!.attempts = [{ ...request, phase: "completed", money: "settled" }];
  expect(inFlightMicros(state, ["b"], "", new Map())).toBe(0);
  expect(isSubmitting(state, ["b"])).toBe(false);
});

test("a charge may be on its way while a submit has no acknowledgement", () => {
  expect(isSubmitting(holding(), ["a/x", "b"])).toBe(false);
  expect(isSubmitting(holding({ b: { phase: "submitting.sent" } }), ["a/x", "b"])).toBe(true);
});

const sent = () => false;

test("holds of a model that charges above its quotes are raised in the order of their steps; others are not", () => {
  const state = holding({ b: { model: "video-1" }, "a/x": { quote: { costMicros: 100 }, holdMicros: 100 } });
  state.steps["a/y"]!.attempts[0]!.quote = { costMicros: 100, basis: "quoted" };
  state.steps["a/y"]!.attempts[0]!.holdMicros = 100;
  expect(raisedHolds(state, Object.keys(state.steps), sent)).toEqual([]);
  state.overcharges["image-1"] = { worst: { quotedMicros: 100, chargedMicros: 150 }, unquotedMicros: null } as never;
  const raised = { type: "job.hold.raised", attempt: 1, holdMicros: 150 };
  expect(raisedHolds(state, ["b", "a/y", "a/x"], sent)).toEqual([
    { ...raised, step: "a/x" },
    { ...raised, step: "a/y" },
  ]);
  state.steps["a/x"]!.attempts[0]!.money = "settled";
  expect(raisedHolds(state, ["a/y", "a/x"], sent)).toEqual([{ ...raised, step: "a/y" }]);
  const unsent = raisedHolds(state, ["a/y"], (path, { n }) => path === "a/y" && n === 1);
  expect(unsent).toEqual([{ type: "job.submit.withdrawn", step: "a/y", attempt: 1, reason: "unsent" }]);
});
