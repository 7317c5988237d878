import { outputsOf, type PlanStep, type RunState, type StepState, traitsOf } from "../../index.ts";
import { cut, cutJson } from "./cut.ts";
import { outputView } from "./media-view.ts";
import type { DecisionView, MediaView } from "./wire.ts";

interface Place {
  readonly step: string;
  readonly index: number;
}

interface Ref {
  readonly step: string;
  readonly output: number | "all" | "chosen";
}

/** What a person (or a rule) is to choose among, and what was chosen. Null for steps that choose nothing. */
export function decisionOf(state: RunState, plan: PlanStep, step: StepState): DecisionView | null {
  const { standsFor: refs, isChoice, subject } = traitsOf(plan);
  if (refs.length === 0) return null;
  const places = refs.flatMap(({ $ref }) => ($ref.as === "value" ? [] : placesOf(state, $ref)));
  const { chosen, approval } = step;
  const pick =
    chosen === null ? -1 : places.findIndex(({ step, index }) => step === chosen.step && index === chosen.index);
  return {
    shows: places.map((place) => viewAt(state, place)),
    values: refs.flatMap(({ $ref }) => ($ref.as === "value" ? valueView(state, $ref.step) : [])),
    choose: isChoice,
    message: subject === null ? null : cut(subject, 2000),
    approved: approval?.approved ?? null,
    note: approval?.note == null ? null : cut(approval.note, 2000),
    pick: pick < 0 ? null : pick,
  };
}

/** A value that a person reads before deciding; long texts are cut. */
function valueView(state: RunState, step: string): DecisionView["values"] {
  const value = state.steps[step]?.value;
  return value === undefined ? [] : [{ step, value: cutJson(value, 8000).value }];
}

/** Available outputs, in the order in which a pick counts them; picks and approvals are resolved to their targets. */
function placesOf(state: RunState, ref: Ref): readonly Place[] {
  const step = state.steps[ref.step];
  if (step === undefined) return [];
  if (step.chosen !== null) return [step.chosen];
  if (step.expanded !== null) return step.expanded.flatMap(({ $ref }) => placesOf(state, $ref));
  const there = outputsOf(step).filter(({ status, phase }) => status === "COMPLETED" && phase !== "expired");
  const requested = ref.output === "chosen" ? 0 : ref.output;
  return there
    .filter(({ index }) => requested === "all" || index === requested)
    .map(({ index }) => ({ step: ref.step, index }));
}

function viewAt(state: RunState, { step: path, index }: Place): MediaView {
  const step = state.steps[path];
  const output = step === undefined ? undefined : outputsOf(step).find((one) => one.index === index);
  if (step !== undefined && output !== undefined) return outputView(state, step, output);
  const nothing = { contentType: null, sizeBytes: null, width: null, height: null, durationMs: null, fps: null };
  return { step: path, index, kind: "other", url: null, ...nothing, state: "pending", error: null, file: null };
}
