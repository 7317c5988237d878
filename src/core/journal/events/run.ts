import type { CleanText } from "../../kit/clean-text.ts";
import { dollars, formatUsd } from "../../kit/money.ts";
import { shellWord } from "../../kit/value-text.ts";
import { lastAttempt, passClock, type RunState, type StepState, startClock, stopClock } from "../state.ts";
import type { AgreedQuote, AskedPrice, PauseReason, RunEnd } from "./facts.ts";
import { detail, type EventTable, type Fold, ignoredBy, line, type NoticeText } from "./spec.ts";

interface Paused {
  readonly type: "run.paused";
  readonly reason: PauseReason;
  readonly message: CleanText;
  /** URL of the page for adding funds. */
  readonly fundingUrl?: CleanText;
  /** The minimum balance, budget or cap with which the run can continue, in micro-dollars. */
  readonly requiredMicros?: number | null;
  readonly balanceMicros?: number | null;
  /** The command-line option that raises a shared cap. */
  readonly flag?: CleanText;
  /** Command-line options that set the cap or wallet floor that stopped the run. Suggested commands include them. */
  readonly limitFlags?: readonly CleanText[];
  /** Prices that a person must accept. Setting a budget of `requiredMicros` accepts them. */
  readonly asks?: readonly AskedPrice[];
  /** When the run may continue without a person, in epoch milliseconds. */
  readonly resumeAt?: number;
  /** The step that must run again because its output is lost. */
  readonly rerun?: string;
  /** Steps that a changed pipeline replaces. */
  readonly replaced?: readonly string[];
  /** Steps that exceeded their time limit and that the run is still waiting for. */
  readonly late?: readonly string[];
  /** Id and time of the message that stopped the run. */
  readonly request?: { readonly id: number; readonly at: number };
}

/** Events about a run as a whole. */
export type RunLevelEvent =
  | {
      readonly type: "lease.acquired";
      readonly epoch: number;
      /** Description of the process that took the run's lease. */
      readonly holder: string;
      /** Version of Showrunner that writes the following events. */
      readonly program: string;
      /** True if the run was parked and resumed early or on time. */
      readonly parked?: true;
    }
  | { readonly type: "run.started" }
  /** A person confirmed that the account has a new key or the service has a new URL. */
  | {
      readonly type: "run.account.moved";
      readonly baseUrl: string;
      readonly keyId: string;
      /** The job that was read with the new key and URL to check the account; null if the run had no job yet. */
      readonly jobId: string | null;
    }
  /** The run's limits were changed when it was resumed. */
  | {
      readonly type: "run.budget.set";
      readonly budgetMicros: number | null;
      readonly maxUnquotedMicros: number | null;
      /** The new terms, if they changed. */
      readonly agreed?: AgreedQuote;
    }
  | SpendingReached
  | Paused
  /**
   * A paused run continues. `byItself` is true if nobody resumed the run: it continued because a late request ended.
   */
  | { readonly type: "run.resumed"; readonly byItself?: true }
  /** The service or the media bucket became unreachable, or a different server responded in its place. */
  | {
      readonly type: "service.unavailable";
      readonly reason: "unreachable" | "misdirected" | "media";
      readonly message: CleanText;
    }
  | { readonly type: "service.recovered"; readonly reason?: "media" }
  | { readonly type: "run.finished"; readonly status: RunEnd; readonly message: string | null }
  /**
   * A finished run continues, because a step is being rerun or waited for again. `byItself` is true if nobody resumed
   * the run: it continued because a late job ended.
   */
  | { readonly type: "run.reopened"; readonly byItself?: true };

/** Spending reached `percent` of a budget or cap. */
export interface SpendingReached {
  readonly type: "spending.reached";
  readonly what: "budget" | "cap";
  /** Name of the limit, such as `budget of 5.00 USD`. */
  readonly limit: string;
  readonly percent: number;
  readonly limitMicros: number;
  readonly committedMicros: number;
}

export const runLevelEvents: EventTable<RunLevelEvent> = {
  "lease.acquired": {
    apply: ({ state, at }, { epoch, parked = false }) => {
      state.epoch = epoch;
      if (!parked || state.drivenSince === null) state.drivenSince = at;
      passClock(state.activeTime, at, parked);
    },
    changes: "run",
    line: ({ holder, epoch }) => detail(`driven by ${holder} (epoch ${epoch})`),
    incident: ({ epoch, parked = false }) =>
      epoch < 2 || parked
        ? null
        : {
            what: "driven by another process",
            why: "A new process continued the run from its last recorded event.",
          },
    ...ignoredBy("ledger", "media", "timeline", "notice"),
  },
  "run.started": {
    apply: (fold) => {
      fold.moveRun();
      fold.state.startedAt = fold.at;
      startClock(fold.state.activeTime, fold.at);
    },
    changes: "run",
    timeline: (timeline) => timeline.work(true),
    ...ignoredBy("ledger", "media", "line", "incident", "notice"),
  },
  "run.account.moved": {
    apply: ({ state }, { baseUrl, keyId }) => {
      state.planned = { ...state.planned, baseUrl, keyId };
    },
    changes: "run",
    line: ({ keyId, baseUrl, jobId }) => {
      const proof =
        jobId === null ? "the run had sent nothing yet" : `the run's job ${jobId} was found in this account`;
      return line(`now belongs to key ${keyId} at ${baseUrl}; ${proof}`);
    },
    incident: ({ keyId, baseUrl }) => ({ what: "account moved", why: `To key ${keyId} at ${baseUrl}.` }),
    ...ignoredBy("ledger", "media", "timeline", "notice"),
  },
  "run.budget.set": {
    apply: ({ state }, { budgetMicros, maxUnquotedMicros, agreed }) => {
      state.budgetMicros = budgetMicros;
      if (agreed !== undefined) state.agreed = agreed;
      state.maxUnquotedMicros = maxUnquotedMicros;
    },
    changes: "run",
    line: ({ budgetMicros }) => detail(budgetOf(budgetMicros)),
    incident: ({ budgetMicros }) => ({ what: "budget changed", why: `${budgetOf(budgetMicros)}.` }),
    ...ignoredBy("ledger", "media", "timeline", "notice"),
  },
  "spending.reached": {
    apply: ({ state }, { limit, percent }) => {
      state.spendingReached = { ...state.spendingReached, [limit]: percent };
    },
    changes: "run",
    line: (event) => line(reachedText(event)),
    notice: (event, { runId, status }) => ({
      event: "run.spending",
      status,
      reason: event.what,
      message: reachedText(event),
      step: null,
      next: `showrunner show ${runId}`,
    }),
    ...ignoredBy("ledger", "media", "timeline", "incident"),
  },
  "run.paused": {
    apply: (fold, { reason, message, request, rerun, replaced, late, ...funds }) => {
      const { fundingUrl = null, requiredMicros = null, balanceMicros = null, flag = null, resumeAt = null } = funds;
      fold.moveRun();
      stopClock(fold.state.activeTime, fold.at);
      const stopId = request !== undefined && { stopId: request.id };
      fold.state.pause = { reason, message, fundingUrl, requiredMicros, balanceMicros, flag, resumeAt, ...stopId };
      if (rerun !== undefined) fold.state.pause = { ...fold.state.pause, rerun };
      if (replaced !== undefined) fold.state.pause = { ...fold.state.pause, replaced };
      if (late !== undefined) fold.state.pause = { ...fold.state.pause, late };
      if (funds.limitFlags !== undefined) fold.state.pause = { ...fold.state.pause, limitFlags: funds.limitFlags };
      if (funds.asks !== undefined) fold.state.pause = { ...fold.state.pause, asks: funds.asks };
      if (reason === "approval") closeReruns(fold.state);
    },
    changes: "run",
    timeline: (timeline) => timeline.work(false),
    line: ({ reason, message }) => line(`paused (${reason}): ${message}`),
    incident: ({ reason, message }) => ({ what: `paused: ${reason}`, why: message }),
    notice: (event, { runId }) => pauseNotice(runId, event),
    ...ignoredBy("ledger", "media"),
  },
  "run.resumed": {
    apply: (fold, { byItself }) => {
      const { state, at } = fold;
      fold.moveRun();
      startClock(state.activeTime, at);
      if (state.pause?.reason === "unanswered") allowRepeats(state);
      if (state.pause?.reason === "late" && byItself !== true) awaitAgain(state, at);
      state.pause = null;
      state.outage = null;
    },
    // The run waits for its late steps again, so they occupy concurrency slots again.
    changes: "plan",
    timeline: (timeline) => timeline.work(true),
    incident: () => ({ what: "resumed", why: "" }),
    ...ignoredBy("ledger", "media", "line", "notice"),
  },
  "service.unavailable": {
    apply: ({ state, at }, { reason, message }) => {
      state.outage = { since: at, reason, message };
    },
    changes: "run",
    line: ({ reason, message }) => line(`the ${awayOf(reason)} is unavailable, retrying: ${message}`),
    incident: ({ reason, message }) => ({
      what: reason === "misdirected" ? "another server responds" : `${awayOf(reason)} unavailable`,
      why: message,
    }),
    ...ignoredBy("ledger", "media", "timeline", "notice"),
  },
  "service.recovered": {
    apply: ({ state }) => {
      state.outage = null;
    },
    changes: "run",
    line: ({ reason }) => line(`the ${awayOf(reason)} is available again`),
    incident: ({ reason }) => ({ what: `${awayOf(reason)} available again`, why: "" }),
    ...ignoredBy("ledger", "media", "timeline", "notice"),
  },
  "run.finished": {
    apply: (fold, { status, message }) => {
      const { state, at } = fold;
      fold.moveRun(`run.${status}`);
      stopClock(state.activeTime, at);
      state.pause = null;
      state.outage = null;
      state.message = message;
      state.finishedAt = at;
      closeReruns(state);
    },
    changes: "run",
    timeline: (timeline) => timeline.end(),
    // The message is left out, because the steps' own lines describe the failures.
    line: ({ status }) => line(`run ${status}`),
    notice: ({ status, message }, { runId }) => {
      const event = status === "failed" ? "run.failed" : "run.finished";
      return { event, status, reason: null, message, step: null, next: `showrunner report ${runId}` };
    },
    ...ignoredBy("ledger", "media", "incident"),
  },
  "run.reopened": {
    apply: (fold, { byItself }) => {
      fold.moveRun();
      startClock(fold.state.activeTime, fold.at);
      for (const step of Object.values(fold.state.steps)) if (step.isGivenUp) awaitStep(fold, step);
      if (byItself !== true) awaitAgain(fold.state, fold.at);
      fold.state.finishedAt = null;
      fold.state.message = null;
    },
    changes: "plan",
    timeline: (timeline) => timeline.work(true),
    line: () => line("reopened"),
    incident: () => ({ what: "reopened", why: "Some of the run's steps are running or waiting again." }),
    ...ignoredBy("ledger", "media", "notice"),
  },
};

function budgetOf(micros: number | null): string {
  return micros === null ? "No budget" : `A budget of ${dollars(micros)}`;
}

function closeReruns({ reruns }: RunState): void {
  for (const request of reruns) request.isOpen = false;
}

function allowRepeats({ steps }: RunState): void {
  for (const { attempts } of Object.values(steps)) {
    const last = attempts.at(-1);
    if (last?.phase === "abandoned") last.mayRepeat = true;
  }
}

function awaitAgain({ steps }: RunState, at: number): void {
  for (const step of Object.values(steps)) {
    const attempt = lastAttempt(step);
    if (attempt?.overdueAt !== undefined) attempt.awaitedSince = at;
  }
}

function awaitStep(fold: Fold, step: StepState): void {
  fold.moveStep(step, "step.awaited");
  delete step.isGivenUp;
  Object.assign(step, { reason: null, finishedAt: null });
}

function reachedText({ percent, limit, committedMicros }: SpendingReached): string {
  return `${percent}% of the ${limit} is spent or reserved: ${formatUsd(committedMicros)} USD`;
}

function pauseNotice(runId: string, { reason, message, limitFlags = [] }: Paused): NoticeText | null {
  const paused = { status: "paused", reason, message, step: null };
  switch (reason) {
    // People were already notified of each waiting step, and the person who stopped the run knows that it stopped.
    case "approval":
    case "stopped":
      return null;
    case "funds":
    case "budget":
    case "cap":
      return {
        event: "run.needs-funds",
        ...paused,
        next: ["showrunner resume", runId, ...limitFlags.map(shellWord)].join(" "),
      };
    case "unreachable":
    case "misdirected":
    case "credentials":
      return { event: "run.unreachable", ...paused, next: `showrunner resume ${runId}` };
    case "drift":
    case "files":
    case "unresolved":
    case "unanswered":
    case "late":
    case "code":
      break;
    default:
      reason satisfies never;
  }
  // A reason from a later version also gets this notice, because every pause waits for a person.
  return { event: "run.waiting", ...paused, next: `showrunner show ${runId}` };
}

function awayOf(reason: string | undefined): string {
  return reason === "media" ? "media bucket" : "service";
}
