import type { Chosen } from "../../journal/events.ts";
import { outputsOf, type RunState } from "../../journal/state.ts";
import { traitsOf } from "../../plan/index.ts";
import { NOT_ACCEPTED, type PlanStep, type Reference } from "../../plan/plan.ts";
import { stepNamed } from "../../plan/plan-index.ts";
import { referenced } from "../resolve.ts";

const MOST_VISITED = 100;
const MOST_REFUSED = 6;
const MOST_SHOWN = 6;

/** What a check did not accept. */
export interface Refused {
  /** The check. */
  readonly step: string;
  /** Several are divided by `; `. */
  readonly reason: string;
  /** Outputs that it looked at: frames, or the whole; the file of an upload counts as its output 0. */
  readonly shows: readonly Chosen[];
}

/** What this step, a check, refused; none where it did not. */
export function refusedBy(state: RunState, plan: PlanStep): readonly Refused[] {
  const step = state.steps[plan.path];
  const error = step?.status === "failed" ? step.failures.at(-1)?.error : undefined;
  if (error?.code !== NOT_ACCEPTED) return [];
  const shows = traitsOf(plan).uses.flatMap((ref) => lookedAt(state, ref));
  return [{ step: plan.path, reason: error.message, shows: shows.slice(0, MOST_SHOWN) }];
}

/** What checks refused: the step itself, and on the way to what it passes on. */
export function refusedBefore(state: RunState, path: string): readonly Refused[] {
  const standsForOthers = (step: PlanStep) => traitsOf(step).standsFor.length > 0;
  const found: Refused[] = [];
  const first = stepNamed(state.planned.plan, path);
  const visited = new Set(first === undefined ? [] : [first]);
  for (const visitedStep of visited) {
    found.push(...refusedBy(state, visitedStep));
    if (!standsForOthers(visitedStep) || visited.size > MOST_VISITED || found.length >= MOST_REFUSED) continue;
    for (const path of visitedStep.needs) {
      const next = stepNamed(state.planned.plan, path);
      if (next !== undefined && (standsForOthers(next) || refusedBy(state, next).length > 0)) visited.add(next);
    }
  }
  return found;
}

/** What a check looks at: frames that a step beside a value made, or the medium itself. */
function lookedAt(state: RunState, ref: Reference["$ref"]): readonly Chosen[] {
  const step = state.steps[ref.step];
  if (step === undefined) return [];
  if (ref.as === "value")
    return outputsOf(step).flatMap(({ index, voiceId }) => (voiceId === null ? [{ step: ref.step, index }] : []));
  if (step.chosen !== null) return lookedAt(state, { ...ref, step: step.chosen.step, output: step.chosen.index });
  if (step.upload !== null) return [{ step: ref.step, index: 0 }];
  return referenced(state, ref).map(({ step, output }) => ({ step, index: output.index }));
}
