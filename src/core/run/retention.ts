import type { OutputFacts, RunEvent } from "../journal/events.ts";
import {
  isRunFinal,
  isStepFinal,
  lastAttempt,
  type OutputPhase,
  type OutputState,
  outputsOf,
  type RunState,
  type StepState,
} from "../journal/state.ts";
import { DAY_MS, HOUR_MS } from "../kit/duration.ts";
import { type PlanStep, type Reference, stepNamed, traitsOf } from "../plan/plan.ts";
import { type ProducedOutput, referenced } from "./resolve.ts";

/** An earlier output is reused only if it stays available for longer than this. */
export const REUSE_MARGIN_MS = HOUR_MS;
/** An expired output may still be downloadable for this long. */
export const ERASED_AFTER_MS = 3 * DAY_MS;

export function isOver({ expiresAt }: Pick<OutputFacts, "expiresAt">, now: number): boolean {
  return expiresAt !== undefined && expiresAt <= now;
}

export function lapsed(state: RunState, plan: PlanStep, now: number): readonly RunEvent[] {
  const used = traitsOf(plan).uses.flatMap((ref) => (ref.as === "asset" ? referenced(state, ref) : []));
  const over = used.filter(({ output }) => isTaken(output) && isOver(output, now));
  const unique = new Map(over.map((produced) => [produced.output, produced]));
  return [...unique.values()].map(({ step, output }) => lapse(state.steps[step]!, output));
}

function isTaken({ phase, voiceId }: OutputState): boolean {
  return voiceId === null && (phase === "available" || phase === "downloaded");
}

/** Returns the event for an output that expired on the service. Attempt 0 stands for an output from an earlier run. */
export function lapse(step: StepState, { index }: Pick<OutputState, "index">): RunEvent {
  const attempt = step.outputs !== null ? 0 : (lastAttempt(step)?.n ?? 0);
  return { type: "output.lapsed", step: step.path, attempt, index };
}

export function uncopiedOf(plan: PlanStep, step: StepState): readonly OutputState[] {
  const isKept = traitsOf(plan).keeps && step.outputs === null;
  return outputsOf(step).filter(({ phase, copy, voiceId }) => {
    return copy === null && voiceId === null && (phase === "lapsed" || (isKept && phase === "available"));
  });
}

export function uncopied({ planned, steps }: RunState): readonly ProducedOutput[] {
  return planned.plan.steps.flatMap((plan) =>
    uncopiedOf(plan, steps[plan.path]!).map((output) => ({ step: plan.path, output })),
  );
}

/** Returns outputs that expired before they were copied, so only a rerun can restore them. */
export function lost({ planned, steps }: RunState): readonly ProducedOutput[] {
  return planned.plan.steps.flatMap((plan) => {
    const step = steps[plan.path]!;
    if (step.status !== "succeeded" || !traitsOf(plan).keeps || step.outputs !== null) return [];
    return outputsOf(step).flatMap((output) => {
      const isLost = output.phase === "expired" && output.copy === null && output.voiceId === null;
      return isLost ? { step: plan.path, output } : [];
    });
  });
}

type Ref = Reference["$ref"];

interface Expiring {
  readonly step: string;
  readonly index: number;
  readonly assetId: string | null;
  readonly expiresAt: number;
  readonly neededBy: readonly string[];
  readonly copied: boolean;
  readonly uncopied: string | null;
}

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
  return outputsOf(state.steps[plan.path]!).flatMap((output): readonly Expiring[] => {
    const { index, assetId, voiceId, phase, copy, expiresAt, uncopied = null } = output;
    if (voiceId !== null || expiresAt === undefined || !atService.has(phase)) return [];
    const neededBy = users.get(`${plan.path} ${index}`) ?? [];
    const copied = copy !== null;
    const isWanted = (assetId !== null && neededBy.length > 0) || (traitsOf(plan).keeps && !copied);
    return isWanted ? [{ step: plan.path, index, assetId, expiresAt, neededBy, copied, uncopied }] : [];
  });
}

const atService: ReadonlySet<OutputPhase> = new Set(["available", "downloaded", "lapsed"]);

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

function outputsFor(state: RunState, ref: Ref): readonly ProducedOutput[] {
  if (ref.as !== "asset") return [];
  const plan = stepNamed(state.planned.plan, ref.step);
  const { standsFor } = plan === undefined ? { standsFor: [] } : traitsOf(plan);
  const isOpen = standsFor.length > 0 && state.steps[ref.step]?.chosen === null;
  return isOpen ? standsFor.flatMap(({ $ref }) => outputsFor(state, $ref)) : referenced(state, ref);
}
