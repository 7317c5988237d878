import { isDeepStrictEqual } from "node:util";
import type { Pipeline } from "../../define/index.ts";
import { isStepFinal, planStep, type RunState } from "../../journal/state.ts";
import { InvalidOptionError } from "../../kit/errors.ts";
import { own } from "../../kit/lookup.ts";
import { isSecondChoice, traitsOf } from "../../plan/index.ts";
import type { Json, PlanStep, Reference } from "../../plan/plan.ts";
import { readiness } from "../../run/readiness.ts";
import { missingReason } from "../../run/resolve.ts";
import { madeAgainFor } from "../../run/second-choice.ts";
import { functionsFor, type StepFunctions } from "../effects/functions.ts";
import type { ResumeOptions } from "../options/options.ts";

/** What {@link Showrunner.resume} does with a person's note on a step. */
export interface Redo {
  /** The edits that the steps' `revise` functions returned; absent if there are none. */
  readonly edit?: NonNullable<ResumeOptions["edit"]>;
  /** Steps to rerun unchanged; absent if there are edits. */
  readonly rerun?: readonly string[];
  readonly note?: string;
}

type Fields = { readonly [field: string]: Json | undefined };

/** Turns a person's note into edits or reruns. Returns an empty object while one of the steps is in progress. */
export function redoOf(state: RunState, step: string, note: string, pipeline: Pipeline | undefined): Redo {
  const path = own(state.formerNames, step) ?? step;
  const next = `showrunner show ${state.runId}`;
  if (note.trim() === "") throw new InvalidOptionError("note", "is empty; say what should be different.");
  const known = state.planned.plan.steps.some((planned) => planned.path === path);
  if (!known) throw new InvalidOptionError("redo", `run "${state.runId}" has no step ${path}.`, next);
  const makers = [...new Set(madeFor(state, path))];
  // An earlier call may have started the unfinished steps. `resume` then continues that call.
  if (!makers.every((maker) => isStepFinal(state.steps[maker]!.status))) return {};
  if (makers.length === 0) throw new InvalidOptionError("redo", `${path} has no job or chat output to redo.`, next);
  const functions = functionsFor(state, { pipeline });
  const edits = makers.flatMap((maker) => {
    const fields = changesOf(state, planStep(state, maker), note, functions);
    return fields === null || Object.keys(fields).length === 0 ? [] : [[maker, fields] as const];
  });
  return edits.length === 0 ? { rerun: makers, note } : { edit: Object.fromEntries(edits), note };
}

function madeFor(state: RunState, path: string): readonly string[] {
  const plan = planStep(state, path);
  if ("model" in plan) return [path];
  const passed: readonly Reference[] = state.steps[path]!.expanded ?? traitsOf(plan).standsFor;
  const all = passed.flatMap(({ $ref }) => madeFor(state, $ref.step));
  if (!isSecondChoice(plan)) return all;
  const reference = passed.find(({ $ref }) => missingReason(state, $ref) === null);
  if (reference !== undefined) return madeFor(state, reference.$ref.step);
  return all.flatMap((maker) => (state.steps[maker]!.status === "failed" ? (madeAgainFor(state, maker) ?? []) : []));
}

function changesOf(state: RunState, step: PlanStep, note: string, functions: StepFunctions): Fields | null {
  const found = functions.find(state, step.path);
  if (!("code" in found) || found.code.kind !== "revise" || !("input" in step)) return null;
  const wrong = (why: string) => new InvalidOptionError("redo", `revise of ${step.path} ${why}.`);
  const ready = readiness(state, step, step.input);
  if (ready.ready !== "yes" || !isObject(ready.input)) throw wrong("needs the step's input, which is incomplete");
  let revised: unknown;
  try {
    revised = found.code.revise(structuredClone(ready.input), note);
  } catch (error) {
    throw wrong(`threw: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (!isObject(revised)) throw wrong("must return an object of fields, such as { prompt: … }");
  const before = ready.input;
  return Object.fromEntries(
    Object.entries(revised).filter(([name, value]) => !isDeepStrictEqual(value, own(before, name))),
  );
}

function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Promise);
}
