import type { RunEvent } from "../journal/events.ts";
import { planStep, type RunState, type StepState } from "../journal/state.ts";
import { type Audience, OPERATOR, PERSON, type Sentences, sentenceFor } from "../kit/errors.ts";
import { own } from "../kit/lookup.ts";
import { formatUsd } from "../kit/money.ts";
import { openDecisions } from "../run/decisions.ts";
import { failureOf } from "../run/second-choice.ts";

const WAITS_FOR_OPERATOR: Sentences = {
  customer: "The run is waiting for the operator of this server.",
  agent: `The run is waiting for ${PERSON}: ask them to check it in the terminal or the dashboard`,
};

const PAUSES: Readonly<Record<string, Sentences>> = {
  approval: {
    customer: "The run is waiting for a decision.",
    agent: "The run is waiting for a decision: ask a person to decide; `approve_step` records their answer",
  },
  funds: {
    customer: "This server cannot pay for more jobs right now.",
    agent: `The wallet balance is too low: ask ${PERSON} to add funds, then call \`resume_run\``,
  },
  budget: {
    customer: "The remaining budget does not cover the next step.",
    agent: `The remaining budget does not cover the next step: ask ${PERSON} for a larger budget; agents cannot raise the budget`,
  },
  cap: {
    customer: "This server has reached its spending limit",
    agent: "This server has reached its spending limit: call `resume_run` later",
  },
  late: {
    customer: "A job is taking longer than usual",
    agent: "A job is taking longer than usual; `resume_run` continues to wait for it, and nothing is paid for twice",
  },
  stopped: { customer: "The run was stopped.", agent: "The run was stopped; `resume_run` continues it" },
  files: {
    customer: "Some finished files could not be downloaded yet",
    agent: "Some finished files could not be downloaded yet; `resume_run` tries again at no cost",
  },
  unreachable: {
    customer: "The service that this server uses is unavailable right now",
    agent: "The service is unavailable right now: call `resume_run` later",
  },
};

/**
 * Options for texts about a run. `audience` is who reads them. `hasEngine` is true if workers continue runs when they
 * are due.
 */
export interface RunTextOptions {
  readonly audience: Audience;
  readonly hasEngine?: boolean;
}

type Pause = Pick<NonNullable<RunState["pause"]>, "reason" | "flag" | "asks" | "requiredMicros" | "resumeAt">;

function whoContinues(reason: string, { resumeAt }: Pick<Pause, "resumeAt">, hasEngine: boolean): string {
  if (hasEngine && reason === "late") return "; the run continues once the job is done.";
  if (hasEngine && resumeAt !== null) return "; the run continues later.";
  return "; the operator of this server can continue the run.";
}

/** Describes why the run is paused. If `pause.flag` is set, the operator's cap is used up, not the caller's budget. */
function pauseText(pause: Pause, { audience, hasEngine = false }: RunTextOptions): string {
  const { reason, flag, asks, requiredMicros } = pause;
  if (asks !== undefined && requiredMicros !== null)
    return `Some prices that were unknown are now known. The run continues once a total of ${formatUsd(requiredMicros)} dollars is approved.`;
  const isCap = reason === "budget" && flag != null;
  const why = isCap ? "cap" : reason;
  const text = sentenceFor(own(PAUSES, why) ?? WAITS_FOR_OPERATOR, audience);
  const isOpen = audience !== "agent" && ["cap", "late", "files", "unreachable"].includes(why);
  return isOpen ? `${text}${whoContinues(why, pause, hasEngine)}` : text;
}

const INTERRUPTED: Sentences = {
  customer: "The run was interrupted. Its results are kept.",
  agent: "No process is driving the run; `resume_run` continues it, and nothing is paid for twice",
};
const PARTIAL = "Some of the results could not be generated.";

export function runText(state: RunState, isInterrupted: boolean, how: RunTextOptions): string | null {
  const { audience } = how;
  if (isInterrupted) return sentenceFor(INTERRUPTED, audience);
  const { runId, status, pause } = state;
  if (pause !== null) return isDecided(state) ? null : pauseText(pause, how);
  const authors = Object.values(state.steps).find(({ forCallers }) => forCallers !== undefined)?.forCallers;
  const quote = `Give the run id ${runId} to ${sentenceFor(OPERATOR, audience)}.`;
  switch (status) {
    case "failed":
      return authors ?? `The run failed. ${quote}`;
    case "partial":
      return authors ?? `${PARTIAL} ${quote}`;
    case "cancelled":
      return "The run was cancelled.";
    default:
      return null;
  }
}

export function isDecided(state: RunState): boolean {
  return state.pause?.reason === "approval" && openDecisions(state).length === 0;
}

const CAUSES: Readonly<Record<string, string>> = {
  moderated: "The content was refused by moderation.",
  refused: "The service refused the request.",
  retired: "The model is no longer available.",
  "no capacity": "The model is unavailable right now. Try again later.",
  away: "The model is unavailable right now. Try again later.",
};

export function stepText(state: RunState, step: StepState): string | null {
  if (step.status !== "failed") return endText({ status: step.status });
  if (step.approval?.approved === false) return "The step was rejected.";
  const { cause } = failureOf(planStep(state, step.path), step);
  return step.forCallers ?? own(CAUSES, cause) ?? endText({ status: step.status });
}

type Ended = Pick<Extract<RunEvent, { readonly type: "step.finished" }>, "forCallers"> & { readonly status: string };

/** Like {@link stepText}, but needs only the event that ended the step, not the state. */
export function endText({ status, forCallers }: Ended): string | null {
  switch (status) {
    case "failed":
      return forCallers ?? "The step failed.";
    case "partial":
      return PARTIAL;
    case "skipped":
      return "The step was not needed, or its input was missing.";
    case "cancelled":
      return "The step was cancelled.";
    case "unresolved":
      return "The outcome of the step is not known yet.";
    default:
      return null;
  }
}
