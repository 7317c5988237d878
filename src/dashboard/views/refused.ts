import { NOT_ACCEPTED, type PlanStep, type RunState, type StepState, traitsOf } from "../../internal.ts";
import type { MediaView, RefusedView } from "./run-wire.ts";
import { cut } from "./truncate.ts";

const MOST_VISITED = 100;
const MOST_REFUSED = 6;
const MOST_SHOWN = 6;

/** What is shown of a step's uses: their media, as they can be looked at. */
type Shows = (state: RunState, plan: PlanStep) => readonly MediaView[];

/** What checks refused: of the step itself, and on the way to what it passes on. */
export function refusedOf(state: RunState, plan: PlanStep, shows: Shows): readonly RefusedView[] {
  const plans = new Map<string, PlanStep>();
  const planOf = (path: string) => {
    if (plans.size === 0) for (const step of state.planned.plan.steps) plans.set(step.path, step);
    return plans.get(path);
  };
  const standsForOthers = (step: PlanStep) => traitsOf(step).standsFor.length > 0;
  const found: RefusedView[] = [];
  const visited = new Set([plan]);
  for (const one of visited) {
    const reason = reasonOf(state.steps[one.path]);
    if (reason !== null)
      found.push({ step: one.path, reason: cut(reason, 1000), shows: shows(state, one).slice(0, MOST_SHOWN) });
    if (!standsForOthers(one) || visited.size > MOST_VISITED || found.length >= MOST_REFUSED) continue;
    for (const path of one.needs) {
      const next = planOf(path);
      if (next !== undefined && (standsForOthers(next) || reasonOf(state.steps[path]) !== null)) visited.add(next);
    }
  }
  return found;
}

/** Why a check refused what it looked at; null where it did not. */
function reasonOf(step: StepState | undefined): string | null {
  if (step?.status !== "failed") return null;
  const error = step.failures.at(-1)?.error;
  return error?.code === NOT_ACCEPTED ? error.message : null;
}
