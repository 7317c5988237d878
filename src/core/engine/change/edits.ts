import { isDeepStrictEqual } from "node:util";
import { valueProblems } from "../../catalog/index.ts";
import { changeOf, type Pipeline } from "../../define/index.ts";
import type { Chosen } from "../../journal/events.ts";
import { isStepFinal, planStep, type RunState } from "../../journal/state.ts";
import { InvalidOptionError } from "../../kit/errors.ts";
import { didYouMean, own } from "../../kit/lookup.ts";
import { isSecondChoice, plainJson, type StepEdits, type TextChange, traitsOf, withTexts } from "../../plan/index.ts";
import type { Decision, Json, PlanStep, Reference } from "../../plan/plan.ts";
import { changeable, nothingChangeable } from "../../run/kinds/approve.ts";
import { readiness } from "../../run/readiness.ts";
import { missingReason, referencedValue } from "../../run/resolve.ts";
import { madeAgainFor } from "../../run/second-choice.ts";
import { schemaOf } from "../../view/run-view.ts";
import { functionsFor, type StepFunctions } from "../effects/functions.ts";
import type { ResumeOptions } from "../options/options.ts";

export function editsOf(state: RunState, edit: ResumeOptions["edit"] = {}): StepEdits {
  const edits = Object.entries(edit).map(([name, fields]) => {
    const path = own(state.formerNames, name) ?? name;
    checkEditable(state, path);
    return [path, changeOf(fields)] as const;
  });
  return Object.fromEntries(edits);
}

function checkEditable(state: RunState, path: string): void {
  const { steps } = state.planned.plan;
  const next = `showrunner show ${state.runId}`;
  if (!steps.some((step) => step.path === path)) {
    const paths = steps.map((step) => step.path);
    const hint = didYouMean(path, paths);
    const hintText = hint === null ? "" : `; ${hint}`;
    throw new InvalidOptionError("edit", `run "${state.runId}" has no step ${path}${hintText}.`, next);
  }
  const step = planStep(state, path);
  if ("model" in step) return;
  const why = `${path} (${step.kind}) cannot be edited: only the inputs of jobs and chats can.`;
  throw new InvalidOptionError("edit", why, next);
}

export function textChanges({ planned }: RunState, edits: StepEdits): readonly TextChange[] {
  return planned.plan.steps.flatMap((step) => {
    const edit = own(edits, step.path);
    if (edit === undefined || !("input" in step)) return [];
    return Object.entries(edit.set).flatMap(([field, after]) => {
      const before = own(step.input as { readonly [name: string]: Json }, field);
      const isText = typeof before === "string" && before.trim() !== "" && typeof after === "string";
      return isText && before !== after ? [{ before, after }] : [];
    });
  });
}

/** Combines new edits with the run's earlier edits, after applying text replacements to the earlier edits. */
export function everywhere(
  { planned }: RunState,
  edits: StepEdits,
  texts: readonly TextChange[],
): { readonly edits: StepEdits; readonly texts: readonly TextChange[] } {
  const earlier = Object.entries(planned.edits ?? {}).map(([path, { set }]) => {
    const now = own(edits, path);
    const fields = Object.entries(set).filter(([name]) => !(now && (name in now.set || now.without.includes(name))));
    const replaced = fields.map(([name, value]) => [name, withTexts(value, texts) as Json] as const);
    return [path, { set: { ...Object.fromEntries(replaced), ...now?.set }, without: now?.without ?? [] }] as const;
  });
  return { edits: { ...edits, ...Object.fromEntries(earlier) }, texts };
}

const MOST_CHARACTERS = 1_000_000;

export function changedValue(state: RunState, decision: Decision, chosen: Chosen | undefined, value: Json): Json {
  const next = `showrunner approve ${state.runId}   (lists pending decisions and the results to review)`;
  const refuse = (why: string) => new InvalidOptionError("value", why, next);
  const shown = changeable(decision, chosen);
  if (shown === null) throw refuse(`${nothingChangeable(decision)}.`);
  if (!isPlain(value))
    throw refuse("is not plain JSON (text, numbers, true, false, null, and lists and objects of these).");
  if (JSON.stringify(value).length > MOST_CHARACTERS) throw refuse(`is longer than ${MOST_CHARACTERS} characters.`);
  const before = referencedValue(state, shown);
  const schema = schemaOf(state, shown);
  if (schema === null) {
    const [is, was] = [typeNamed(value), typeNamed(before)];
    if (is !== was) throw refuse(`is ${is}, but ${shown.step} produced ${was}; later steps expect the same type.`);
    return value;
  }
  const problems = valueProblems(schema as { readonly [keyword: string]: unknown }, value);
  if (problems.length > 0) {
    const text = problems.map((problem) => problem.replace(/^the answer/, "it")).join("; ");
    throw refuse(`does not match the schema of ${shown.step}: ${text}.`);
  }
  return value;
}

function isPlain(value: Json): boolean {
  try {
    return isDeepStrictEqual(plainJson(value), value);
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

function typeNamed(value: Json | undefined): string {
  if (value === null || value === undefined) return "nothing";
  if (Array.isArray(value)) return "a list";
  return { string: "text", number: "a number", boolean: "true or false" }[typeof value as string] ?? "an object";
}

/** The edits or reruns that follow from a person's note on a step, as options for {@link Showrunner.resume}. */
export interface Redo {
  /** The edits that the steps' `revise` functions returned; absent if there are none. */
  readonly edit?: NonNullable<ResumeOptions["edit"]>;
  /** Paths of the steps to rerun; absent if `edit` is set. */
  readonly rerun?: readonly string[];
  readonly note?: string;
}

type Fields = { readonly [field: string]: Json | undefined };

/**
 * Returns the edits or reruns that a person's note asks for. Returns an empty object while a step to redo is in
 * progress.
 */
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
