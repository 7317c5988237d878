import {
  type AttemptState,
  isStepFinal,
  lastAttempt,
  type RunState,
  type StepState,
  UNREAD_MS,
} from "../journal/state.ts";
import { formatDuration, MINUTE_MS, stillText } from "../kit/duration.ts";
import { dollars, formatUsd } from "../kit/money.ts";
import { shellWord } from "../kit/value-text.ts";
import { jobPhases } from "../lifecycle/index.ts";
import { givesWay, optionsAround, stepKinds } from "../plan/index.ts";
import type { PlanStep } from "../plan/plan.ts";
import { type Command, commandId } from "./command.ts";
import type { DecisionBuilder } from "./decision-builder.ts";
import { isOverdue, requestInFlight } from "./open-jobs.ts";
import { runOutcome } from "./outcome.ts";

/** A request is reported as slow after this multiple of its expected duration. */
const SLOW_TIMES = 3;
const SLOW_LEAST_MS = { learned: MINUTE_MS, guessed: 5 * MINUTE_MS } as const;
/**
 * Minimum time limit of a request that a resumed run waits for again. It is long enough to detect that the job does not
 * exist.
 */
const LEAST_AGAIN_MS = 5 * MINUTE_MS;

/** Records that a request is slow or has exceeded its time limit. Returns false if it has just recorded the latter. */
export function watchRequest(plan: PlanStep, step: StepState, builder: DecisionBuilder): boolean {
  const open = requestInFlight(step);
  if (open === null || isOverdue(step)) return true;
  const { request, since } = open;
  const { now, expected } = builder.context;
  const target = { step: plan.path, attempt: request.n };
  const withinMs = "policy" in plan ? plan.policy.withinMs : undefined;
  if (withinMs !== undefined) {
    const { awaitedSince } = request;
    const endsAt = awaitedSince === undefined ? since + withinMs : awaitedSince + Math.max(withinMs, LEAST_AGAIN_MS);
    if (now >= endsAt) {
      const next = nextOption(builder.state, plan.path);
      builder.events.push({ type: "step.overdue", ...target, withinMs, ...(next !== null && { next }) });
      return false;
    }
    builder.wake(endsAt);
  }
  const known = request.slow === undefined ? (expected?.(plan) ?? null) : null;
  if (known === null) return true;
  const leastMs = SLOW_LEAST_MS[known.isLearned ? "learned" : "guessed"];
  const slowAt = since + Math.max(leastMs, SLOW_TIMES * known.ms);
  if (now < slowAt) builder.wake(slowAt);
  else builder.events.push({ type: "step.slow", ...target, elapsedMs: now - since, expected: known });
  return true;
}

function nextOption({ planned, steps }: RunState, path: string): string | null {
  const option = optionsAround(planned.plan, path).find(givesWay);
  if (option === undefined || isStepFinal(steps[option.choice.path]!.status)) return null;
  return option.choice.second.options[option.at + 1] ?? null;
}

export function isLeftLate({ steps, pause }: RunState, path: string): boolean {
  return isOverdue(steps[path]!) && pause?.replaced?.includes(path) !== true;
}

export function ask(command: Command, plan: PlanStep, step: StepState, builder: DecisionBuilder): void {
  if (!watchRequest(plan, step, builder)) return;
  if (isLeftLate(builder.state, plan.path)) askForLate(command, builder);
  else builder.issue(command);
}

/** Polls for the outcome of an overdue request. If the run has paused or ended, does so only in workers. */
export function askForLate(command: Command, builder: DecisionBuilder): void {
  const { active, notBefore, now, asksForLate } = builder.context;
  const id = commandId(command);
  if (builder.state.status !== "running" && !asksForLate) return;
  if (!active.has(id) && (notBefore.get(id) ?? 0) <= now) builder.commands.push(command);
}

export function lateSteps({ state, index }: Pick<DecisionBuilder, "state" | "index">): readonly string[] {
  return [...index.late].filter((path) => isLeftLate(state, path));
}

/** Types of commands that only poll, so they may be interrupted at any time. */
const ASKING = ["follow", "operation"] as const;
/**
 * Returns the ids of the commands that poll open requests of these steps. With `all`, also returns the ids of those
 * that send a request and wait for its response.
 */
export function askingIds({ steps }: RunState, paths: readonly string[], { all = false } = {}): readonly string[] {
  return paths.flatMap((path) => {
    const open = requestInFlight(steps[path]!);
    return open === null
      ? []
      : [...ASKING, ...(all ? stepKinds : [])].map((type) => `${type}:${path}#${open.request.n}`);
  });
}

export function wakeForLate(builder: DecisionBuilder, asking: readonly string[]): void {
  const { active, notBefore, now } = builder.context;
  for (const id of asking) {
    const at = notBefore.get(id) ?? now;
    if (active.has(id) || at <= now || at === Number.POSITIVE_INFINITY) continue;
    builder.lateAt = Math.min(builder.lateAt ?? at, at);
  }
  if (builder.state.status === "running" && builder.lateAt !== null) builder.wakeNoLater(builder.lateAt);
}

function isDecidedAgainst({ planned, steps }: RunState, path: string): boolean {
  return optionsAround(planned.plan, path).some(({ choice }) => isStepFinal(steps[choice.path]!.status));
}

export function endWaiting(builder: DecisionBuilder, late: readonly string[]): void {
  const { state, context, index } = builder;
  const open = late.filter((path) => !isStepFinal(state.steps[path]!.status));
  // Another open step may wait for the bill of a late job, even of one that was decided against.
  const isEnding = index.openSteps === open.length;
  const awaited = isEnding ? late.filter((path) => !isDecidedAgainst(state, path)) : late;
  if (awaited.length === 0) {
    // Commands that receive a response themselves finish first, because their response arrives soon or never.
    const asking = askingIds(state, late);
    if (context.active.size > asking.filter((id) => context.active.has(id)).length) return;
    if (builder.commands.some((command) => !asking.includes(commandId(command)))) return;
    // The run is about to end, so its remaining work must finish first.
    if (builder.dueOrWake("place") && runOutcome(state).toPlace.length > 0) return builder.issue({ type: "place" });
    if (builder.wakeAt !== null) return;
    for (const path of open) {
      const step = state.steps[path]!;
      builder.finish(step, "failed", givenUpText(step, context.now), "isGivenUp");
    }
    return;
  }
  const [first, ...others] = awaited;
  const more = others.length === 0 ? "" : ` (and ${others.length} more)`;
  const { request, since } = requestInFlight(state.steps[first!]!)!;
  const message = `${first}${more} has not finished after ${formatDuration(context.now - since)}; ${unfinished(request)}. To keep waiting, run: showrunner resume ${state.runId}`;
  builder.pauseNow("late", message, { late: awaited });
  if (!context.asksForLate) builder.commands.length = 0;
}

function unfinished({ jobId, money, holdMicros }: AttemptState): string {
  const reserved = money === "held" ? `, and ${formatUsd(holdMicros)} USD stays reserved` : "";
  return `${stillText(jobId)}${reserved}`;
}

function givenUpText(step: StepState, now: number): string {
  const { request, since } = requestInFlight(step)!;
  return `the run stopped waiting after ${formatDuration(now - since)}: ${unfinished(request)}`;
}

export function isLatePauseOver({ status, pause, steps }: RunState): boolean {
  if (status !== "paused" || pause?.reason !== "late") return false;
  return (pause.late ?? []).some((path) => steps[path] === undefined || !isOverdue(steps[path]));
}

export function isForPerson({ phase, doubt }: Pick<AttemptState, "phase" | "doubt">): boolean {
  if (phase === "unresolved") return true;
  return jobPhases.accepted.has(phase) && doubt?.isUnread === true && (doubt.saidForMs ?? 0) >= UNREAD_MS;
}

export function unresolvedText({ runId }: Pick<RunState, "runId">, step: StepState): string {
  const { path, reason } = step;
  const { phase, doubt, unresolved = null, provider, operation, holdMicros = 0 } = lastAttempt(step) ?? {};
  const adopt = `showrunner adopt ${runId} ${shellWord(path)}`;
  const isAsked = phase !== "unresolved" && doubt !== undefined;
  const asks = isAsked
    ? "; meanwhile, the run keeps asking the provider"
    : `; showrunner resume ${runId} asks the provider once more, free of charge`;
  const again = operation === undefined ? "" : asks;
  const advice =
    provider !== undefined
      ? `Check your account at ${provider}, then pass the file that the request generated, or "none" if there is no file: ${adopt} <file|none>${again}`
      : unresolved === "incomplete"
        ? `Check again for free: showrunner resume ${runId}; or keep the partial result: ${adopt} none`
        : `Say which job belongs to this step: ${adopt} <job-id|none>`;
  const held = holdMicros === 0 ? "" : `; up to ${dollars(holdMicros, Math.ceil)} stays reserved`;
  const why = reason ?? (isAsked ? doubt.message : "the submit request was never answered");
  return `${path}: ${why}${held}. ${advice}`;
}
