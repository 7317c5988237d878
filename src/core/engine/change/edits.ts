import { changeOf } from "../../define/index.ts";
import { planStep, type RunState } from "../../journal/state.ts";
import { own } from "../../kit/own.ts";
import { type StepEdits, type TextChange, withTexts } from "../../plan/index.ts";
import type { Json } from "../../plan/plan.ts";
import { didYouMean } from "../../plan/suggest.ts";
import { InvalidOptionError } from "../errors.ts";
import type { ResumeOptions } from "../options/options.ts";

/** The edits as a run keeps them; throws {@link InvalidOptionError} for a step of which nothing can be edited. */
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
  const why = `${path} is a step of kind ${step.kind}; only inputs of jobs and chats can be edited.`;
  throw new InvalidOptionError("edit", why, next);
}

/** The texts that these edits replace by others. */
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

/** The edits, and what replaces their texts in all other steps: also in fields that were edited before, which code does not say. */
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
