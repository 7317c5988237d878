import { isRunFinal, isStepFinal, lastAttempt, outputsOf, type RunState, type StepState } from "../../journal/state.ts";
import { traitsOf } from "../../plan/index.ts";
import type { PlanStep, Reference } from "../../plan/plan.ts";
import { stepNamed } from "../../plan/plan-index.ts";
import { type ProducedOutput, referenced } from "../resolve.ts";

type Ref = Reference["$ref"];

/** How long the service keeps an output after its job completed, milliseconds. */
export const RETENTION_MS = 48 * 3_600_000;

/** An output at the service that its run still needs. */
export interface Expiring {
  readonly step: string;
  readonly index: number;
  readonly assetId: string;
  /** Epoch milliseconds. */
  readonly expiresAt: number;
  /** Unfinished steps that use it. */
  readonly neededBy: readonly string[];
  /** True: a local copy exists, which is uploaded again at no cost when the asset has expired. */
  readonly copied: boolean;
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
  return outputsOf(step).flatMap(({ index, assetId, phase, copy }): readonly Expiring[] => {
    if (assetId === null || (phase !== "available" && phase !== "downloaded")) return [];
    const neededBy = users.get(`${plan.path} ${index}`) ?? [];
    const copied = copy !== null;
    const isWanted = neededBy.length > 0 || (traitsOf(plan).keeps && !copied);
    return isWanted ? [{ step: plan.path, index, assetId, expiresAt, neededBy, copied }] : [];
  });
}

/** When the service deletes the outputs of a step; null while it has none. */
export function expiryOf(step: StepState): number | null {
  const completedAt = step.reusedFrom?.completedAt ?? lastAttempt(step)?.completedAt ?? null;
  return completedAt === null ? null : completedAt + RETENTION_MS;
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
