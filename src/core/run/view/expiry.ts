import { isRunFinal, isStepFinal, outputsOf, type RunState } from "../../journal/state.ts";
import { traitsOf } from "../../plan/index.ts";
import type { PlanStep, Reference } from "../../plan/plan.ts";
import { stepNamed } from "../../plan/plan-index.ts";
import { type ProducedOutput, referenced } from "../resolve.ts";
import { expiryOf } from "../retention.ts";

type Ref = Reference["$ref"];

/** An output at the service that its run still needs. */
export interface Expiring {
  readonly step: string;
  readonly index: number;
  /** Null for one that the service gives a URL of only. */
  readonly assetId: string | null;
  /** Epoch milliseconds. */
  readonly expiresAt: number;
  /** Unfinished steps that use it. */
  readonly neededBy: readonly string[];
  /** True: a local copy exists, which is uploaded again at no cost when the asset has expired. */
  readonly copied: boolean;
  /** Why fetching it failed the last time; null where it did not. */
  readonly uncopied: string | null;
}

/** The stored outputs that a run still needs, the most urgent first; a finished run needs none. */
export function expiring(state: RunState): readonly Expiring[] {
  if (isRunFinal(state.status)) return [];
  const users = usersOf(state);
  const found = state.planned.plan.steps.flatMap((plan) => outputsAtService(state, plan, users));
  return found.sort((a, b) => a.expiresAt - b.expiresAt);
}

function outputsAtService(
  state: RunState,
  plan: PlanStep,
  users: ReadonlyMap<string, readonly string[]>,
): readonly Expiring[] {
  const step = state.steps[plan.path]!;
  const expiresAt = expiryOf(step);
  if (expiresAt === null) return [];
  return outputsOf(step).flatMap(({ index, assetId, voiceId, phase, copy, uncopied = null }): readonly Expiring[] => {
    if (voiceId !== null || (phase !== "available" && phase !== "downloaded")) return [];
    const neededBy = users.get(`${plan.path} ${index}`) ?? [];
    const copied = copy !== null;
    const isWanted = (assetId !== null && neededBy.length > 0) || (traitsOf(plan).keeps && !copied);
    return isWanted ? [{ step: plan.path, index, assetId, expiresAt, neededBy, copied, uncopied }] : [];
  });
}

/** Unfinished steps, by the outputs that they use. */
function usersOf(state: RunState): ReadonlyMap<string, readonly string[]> {
  const users = new Map<string, string[]>();
  for (const plan of state.planned.plan.steps) {
    if (isStepFinal(state.steps[plan.path]!.status)) continue;
    const used = traitsOf(plan).uses.flatMap((ref) => outputsFor(state, ref));
    for (const { step, output } of used) {
      const key = `${step} ${output.index}`;
      const known = users.get(key);
      if (known === undefined) users.set(key, [plan.path]);
      else known.push(plan.path);
    }
  }
  return users;
}

/** The outputs of a reference; while a choice is open, all its candidates. */
function outputsFor(state: RunState, ref: Ref): readonly ProducedOutput[] {
  if (ref.as !== "asset") return [];
  const plan = stepNamed(state.planned.plan, ref.step);
  const { standsFor } = plan === undefined ? { standsFor: [] } : traitsOf(plan);
  const isOpen = standsFor.length > 0 && state.steps[ref.step]?.chosen === null;
  return isOpen ? standsFor.flatMap(({ $ref }) => outputsFor(state, $ref)) : referenced(state, ref);
}
