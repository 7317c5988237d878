import type { Chosen, DecidedBy, RunEvent } from "../journal/events.ts";
import { isRunFinal, isStepFinal, ownAttempts, planStep, type RunState, type StepState } from "../journal/state.ts";
import type { RunRow } from "../journal/store.ts";
import { canonicalJson, traitsOf } from "../plan/index.ts";
import type { Json } from "../plan/plan.ts";
import { offered } from "./kinds/approve.ts";
import { resetEvents, staleSteps } from "./rerun.ts";

export interface PersonsDecision {
  readonly step: string;
  readonly approved: boolean;
  readonly pick: number | null;
  readonly note: string | null;
  readonly value?: Json | undefined;
  readonly chosen?: Chosen | undefined;
  readonly by?: DecidedBy;
}

/** Returns the events that record a person's decision. Call this only if {@link whyUndecidable} returns null. */
export function decisionEvents(state: RunState, { chosen, value, ...decision }: PersonsDecision): readonly RunEvent[] {
  const { step: path, approved, note } = decision;
  const step = state.steps[path]!;
  const { approval } = step;
  const isSameChoice = chosen?.step === step.chosen?.step && chosen?.index === step.chosen?.index;
  const isSameValue = canonicalJson(value) === canonicalJson(step.value);
  if (approval?.approved === approved && approval.note === note && isSameChoice && isSameValue) return [];
  const again: readonly RunEvent[] = isStepFinal(step.status)
    ? [...resets(state, path), { type: "step.started", step: path }]
    : [];
  return [
    ...again,
    { type: "approval.decided", ...decision, ...(value !== undefined && { value }) },
    ...(chosen === undefined ? [] : [{ type: "pick.decided", step: path, chosen, scores: null } as const]),
  ];
}

/** A decision that is waiting for a person. */
export interface OpenDecision {
  readonly step: string;
  /** The author's question; null if there is none. */
  readonly message: string | null;
  /** The number of takes to choose from; null if there is no choice. */
  readonly takes: number | null;
  /** When the decision became open, in epoch milliseconds. */
  readonly since: number;
}

export interface WaitingDecision extends OpenDecision, Pick<RunRow, "runId" | "title" | "pipeline" | "tags"> {}

export function openDecisions(state: RunState): readonly OpenDecision[] {
  if (isRunFinal(state.status)) return [];
  return state.planned.plan.steps.flatMap((plan): readonly OpenDecision[] => {
    const { decision, subject } = traitsOf(plan);
    const { status, approval, startedAt } = state.steps[plan.path]!;
    if (decision === null || status !== "running" || approval !== null) return [];
    const takes = decision.choose ? offered(state, decision).length : null;
    return [{ step: plan.path, message: subject, takes, since: startedAt ?? state.createdAt }];
  });
}

export interface Refusal {
  readonly why: string;
  readonly next: string;
}

export function whyUndecidable(state: RunState, path: string): Refusal | null {
  const next = `showrunner show ${state.runId}`;
  const step = Object.hasOwn(state.steps, path) ? state.steps[path] : undefined;
  if (step === undefined) return { why: `run "${state.runId}" has no step ${path}`, next };
  if (traitsOf(planStep(state, path)).decision === null) return { why: `${path} is not an approval`, next };
  if (!isRunFinal(state.status) && step.status === "running") return null;
  if (step.approval === null) {
    const why = step.status === "running" ? `the run is ${state.status}` : `${path} is ${step.status}`;
    return { why, next };
  }
  const late = isRunFinal(state.status) ? "the run has ended" : whyLate(state, path);
  if (late === null) return null;
  const again = `showrunner resume ${state.runId} --rerun ${path}   (asks again; if the choice changes, the steps that use it are rerun and charged again)`;
  return { why: `${path} was already ${step.approval.approved ? "approved" : "rejected"}, and ${late}`, next: again };
}

function whyLate(state: RunState, path: string): string | null {
  const used = decidedOn(state, path).map((name) => state.steps[name]!);
  const bought = used.find(isBought);
  if (bought !== undefined) return `${bought.path} has already sent a paid request based on that decision`;
  const busy = used.find((step) => step.path !== path && isUnderWay(state, step));
  if (busy !== undefined) return `${busy.path} is running because of that decision`;
  const cancelled = Object.values(state.steps).find(({ status }) => status === "cancelled");
  return cancelled === undefined ? null : `${cancelled.path} was cancelled because of that decision`;
}

function decidedOn(state: RunState, path: string): readonly string[] {
  return staleSteps(state, state.planned.plan, roots(path));
}

function resets(state: RunState, path: string): readonly RunEvent[] {
  return resetEvents(state, state.planned.plan, decidedOn(state, path), roots(path));
}

function roots(path: string): ReadonlyMap<string, string> {
  return new Map([[path, "decided again"]]);
}

function isBought(step: StepState): boolean {
  return ownAttempts(step).some(({ money, phase }) => money !== "none" && phase !== "refused");
}

function isUnderWay(state: RunState, { path, status, attempts }: StepState): boolean {
  const { decision } = traitsOf(planStep(state, path));
  return status === "running" && decision === null && attempts.at(-1)?.phase !== "priced";
}
