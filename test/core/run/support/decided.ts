import { newRun, type RunEvent } from "../../../../src/core/journal/events.ts";
import type { RunState } from "../../../../src/core/journal/state.ts";
import type { Plan, PlanStep } from "../../../../src/core/plan/plan.ts";
import type { Command } from "../../../../src/core/run/command.ts";
import type { DecideContext } from "../../../../src/core/run/decision-builder.ts";
import { decide } from "../../../../src/core/run/scheduler.ts";
import { planned } from "../../journal/samples.ts";
import { job, planOf } from "./plans.ts";

export const HOUR_MS = 3_600_000;
/** The time of every decision. */
export const NOW = 100 * HOUR_MS;

/** Steps, each with changes to its new state. */
export type Steps = readonly (readonly [PlanStep, object?])[];

/** Lists steps, each with changes to its new state. */
export const stepsOf = (...steps: Steps): Steps => steps;

/** Jobs with these names, each with changes to its new state. */
export const jobs = (states: Readonly<Record<string, object>>): Steps =>
  Object.entries(states).map(([name, state]) => [job(name), state]);

/** A running run with these steps. */
export function runningState(steps: Steps, more: Partial<RunState> = {}, plan: Partial<Plan> = {}): RunState {
  const all = planOf(steps.map(([step]) => step));
  const state: RunState = {
    ...newRun("r", { ...planned(), plan: { ...all, ...plan } }, 0),
    status: "running",
    ...more,
  };
  for (const [{ path }, own] of steps) Object.assign(state.steps[path]!, structuredClone(own));
  return state;
}

export interface Decided {
  readonly events: readonly RunEvent[];
  readonly commands: readonly Command[];
  readonly wakeAt: number | null;
}

/** Returns the decision for a state at {@link NOW}. */
export function decidedOf(state: RunState, context: Partial<DecideContext> = {}): Decided {
  const { events, commands, wakeAt } = decide(state, {
    now: NOW,
    order: state.planned.plan.steps,
    active: new Set(),
    notBefore: new Map(),
    unsent: new Set(),
    idempotencyWindowMs: 24 * HOUR_MS,
    ...context,
  });
  return { events, commands, wakeAt };
}
