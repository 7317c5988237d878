import { changeOf } from "../../define/index.ts";
import { planStep, type RunState } from "../../journal/state.ts";
import { own } from "../../own.ts";
import type { StepEdits } from "../../plan/index.ts";
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
    const said = hint === null ? "" : `; ${hint}`;
    throw new InvalidOptionError("edit", `run "${state.runId}" has no step ${path}${said}.`, next);
  }
  const step = planStep(state, path);
  if ("model" in step) return;
  const why = `${path} is a step of kind ${step.kind}; only inputs of jobs and chats can be edited.`;
  throw new InvalidOptionError("edit", why, next);
}
