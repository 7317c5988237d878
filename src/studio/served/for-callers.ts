import { randomBytes } from "node:crypto";
import { cleanText } from "../../core/kit/clean-text.ts";
import { isCallerError, isShowrunnerError } from "../../core/kit/errors.ts";
import { formatUsd } from "../../core/kit/money.ts";
import { own } from "../../core/kit/own.ts";
import { FOR_CALLERS } from "../../core/plan/index.ts";
import {
  failureOf,
  isOfService,
  openDecisions,
  type Problem,
  planStep,
  QuoteRefusedError,
  type RunEvent,
  type RunState,
  type StepState,
} from "../../internal.ts";
import { Refusal } from "./refusal.ts";

/** Callers get only fixed sentences and the messages of `CallerError`. */
export type Audience = "customer" | "agent" | "reviewer";

/** Logs an error under a reference that callers also receive. */
export type Report = (error: unknown, reference: string) => void;

/** Writes one line per error, without secrets or control characters. */
export function stderrReport(server: string): (error: unknown, reference?: string) => void {
  return (error, reference) => {
    const said = cleanText(String(error), MOST_LOGGED).replaceAll(/[\n\t]+/g, " ");
    process.stderr.write(`${server}: ${reference === undefined ? "" : `${reference}: `}${said}\n`);
  };
}

const MOST_LOGGED = 4_000;

type Sentences = { readonly customer: string; readonly agent: string };
const both = (text: string): Sentences => ({ customer: text, agent: text });
const said = (sentences: Sentences, audience: Audience) => sentences[audience === "agent" ? "agent" : "customer"];

const MOST_MESSAGE = 1_000;
const PERSON = "the person who started this server";
const OPERATOR: Sentences = { customer: "the operator of this server", agent: PERSON };

const REFUSALS: Readonly<
  Record<string, { readonly status: number; readonly is: Sentences; readonly isReported?: true }>
> = {
  RUN_UNKNOWN: { status: 404, is: { customer: "This run was not found.", agent: "This run does not exist" } },
  RUN_DIFFERS: {
    status: 409,
    is: {
      customer:
        "A run with this key already exists with a different pipeline or input. Send the same request, or use another key.",
      agent: "A run with this name already exists with a different pipeline or input",
    },
  },
  RUN_BUSY: { status: 409, is: both("Another process is driving this run. Try again in a minute.") },
  OVER_BUDGET: {
    status: 402,
    is: both("The expected cost exceeds the budget. Ask for less, or set a larger budget."),
  },
  WALLET_SHORT: { status: 402, is: both("This server cannot pay for more jobs right now."), isReported: true },
  QUOTE_REFUSED: {
    status: 409,
    is: {
      customer: "The quote no longer matches what this run costs. Ask for a new quote.",
      agent:
        "The quote was used, has expired or no longer matches what this run costs: `quote_pipeline` returns a new one",
    },
  },
  PLAN_PROBLEMS: { status: 422, is: both("The pipeline cannot run with this input.") },
};

const OPTIONS: Readonly<Record<string, string>> = {
  step: "This step is not waiting for a decision.",
  pick: "Choose one of the items shown, by its number.",
  value: "The replacement must have the same structure as the value shown.",
  note: "A note can have up to 2,000 characters.",
  title: "A title is a single line of up to 120 characters.",
};

interface How {
  readonly audience: Audience;
  readonly report: Report;
}

export function refusalFor(error: unknown, { audience, report }: How): Refusal {
  if (error instanceof Refusal) return error;
  if (isCallerError(error)) return new Refusal(422, "CALLER_ERROR", cleanText(error.message, MOST_MESSAGE));
  const problems = problemsIn(error);
  if (problems !== null) return unplannable(problems, { audience, report });
  const code = isShowrunnerError(error) ? error.code : "";
  const option = code === "INVALID_OPTION" && "option" in (error as object) ? String((error as Named).option) : "";
  const wrong = own(OPTIONS, option);
  if (wrong !== undefined) return new Refusal(400, code, wrong, option);
  const known = isOfService(error) ? undefined : own(REFUSALS, code);
  if (known !== undefined && known.isReported === undefined) {
    const own = error instanceof QuoteRefusedError ? inputChanges(error) : null;
    return new Refusal(known.status, code, `${own === null ? "" : `${own}. `}${said(known.is, audience)}`);
  }
  const reference = reported(error, report);
  if (known !== undefined) return new Refusal(known.status, code, said(known.is, audience), null, reference);
  const quote = `Quote ${reference} to ${said(OPERATOR, audience)}.`;
  if (!isOfService(error))
    return new Refusal(500, "INTERNAL", `Something went wrong on this server. ${quote}`, null, reference);
  const message = `The service that this server uses failed. Try again later. ${quote}`;
  return new Refusal(503, "SERVICE", message, null, reference);
}

interface Named {
  readonly option: unknown;
}

function problemsIn(error: unknown): readonly Problem[] | null {
  if (!isShowrunnerError(error) || error.code !== "PLAN_PROBLEMS" || !("problems" in error)) return null;
  return error.problems as readonly Problem[];
}

export function inputChanges({ changes }: { readonly changes: readonly string[] }): string | null {
  const own = changes.filter((line) => line.startsWith("input."));
  return own.length === 0 ? null : cleanText(own.join("; "), MOST_MESSAGE);
}

export function reported(error: unknown, report: Report): string {
  const reference = randomBytes(4).toString("hex");
  report(error, reference);
  return reference;
}

export interface CallerProblem {
  readonly field: string | null;
  readonly step: string | null;
  readonly message: string;
}

const MOST_PROBLEMS = 50;
const MOST_FIELD = 300;

export class Unplannable extends Refusal {
  readonly problems: readonly CallerProblem[];

  constructor(problems: readonly CallerProblem[], reference: string | null, { audience }: Pick<How, "audience">) {
    const [first = { field: null, step: null, message: UNPLANNED }] = problems;
    const where = [first.step, first.field].filter((part) => part !== null).join(" ");
    const more = problems.length > 1 ? ` (and ${problems.length - 1} more)` : "";
    const quote = reference === null ? "" : ` Quote ${reference} to ${said(OPERATOR, audience)} for details.`;
    const message = `${where === "" ? "" : `${where}: `}${first.message}${more}${quote}`;
    super(422, "PLAN_PROBLEMS", message, first.field, reference);
    this.problems = problems.slice(0, MOST_PROBLEMS);
  }
}

export function unplannable(problems: readonly Problem[], { audience, report }: How): Unplannable {
  const isWhole = problems.every(isForCallers);
  const reference = isWhole ? null : reported(new UnplannedError(problems), report);
  return new Unplannable(
    problems.map((one) => problemFor(one)),
    reference,
    { audience },
  );
}

class UnplannedError extends Error {
  constructor(problems: readonly Problem[]) {
    const lines = problems
      .filter((one) => !isForCallers(one))
      .map(({ step, field, message }) => {
        return [step, field, message].filter((part) => part !== null).join("  ");
      });
    super(`a caller's input could not be planned: ${cleanText(lines.join("; "), 2 * MOST_MESSAGE)}`);
  }
}

function isForCallers({ code, step }: Pick<Problem, "code" | "step">): boolean {
  return step === null && (code === "input" || code === FOR_CALLERS);
}

const UNPLANNED = "The pipeline cannot run with this input.";
const NO_FILE = "A required file is missing, damaged or of the wrong type.";
const PROBLEMS: Readonly<Record<string, string>> = {
  // Both have the same sentence, because two would reveal whether a file exists on this machine.
  "missing-file": NO_FILE,
  "not-media-file": NO_FILE,
  "media-bounds": "A file is larger, smaller, longer or shorter than allowed.",
  moderated: "The content was refused by moderation.",
  maxLength: "The text is longer than allowed.",
  minLength: "The text is shorter than allowed.",
  maximum: "A number is larger than allowed.",
  minimum: "A number is smaller than allowed.",
  maxItems: "A list is longer than allowed.",
  minItems: "A list is shorter than allowed.",
  enum: "A value is not one of the allowed values.",
};

export function problemFor(problem: Pick<Problem, "code" | "step" | "message"> & Partial<Problem>): CallerProblem {
  const { code, step, field = null, message } = problem;
  if (!isForCallers(problem)) return { step, field: null, message: own(PROBLEMS, code) ?? UNPLANNED };
  return {
    step,
    field: field === null ? null : cleanText(field, MOST_FIELD),
    message: cleanText(message, MOST_MESSAGE),
  };
}

const WAITS_FOR_OPERATOR: Sentences = {
  customer: "The run is waiting for the operator of this server.",
  agent: `The run is waiting for ${PERSON}: ask them to check it in the terminal or the dashboard`,
};

const PAUSES: Readonly<Record<string, Sentences>> = {
  approval: {
    customer: "The run is waiting for a decision.",
    agent: "The run is waiting for a decision: show it to a person; `approve_step` records their answer",
  },
  funds: {
    customer: "This server cannot pay for more jobs right now.",
    agent: `The wallet balance is too low: ask ${PERSON} to add funds, then call \`resume_run\``,
  },
  budget: {
    customer: "The remaining budget does not cover the next step.",
    agent: `The remaining budget does not cover the next step: ask ${PERSON} for a larger one; it cannot be raised from here`,
  },
  cap: {
    customer: "This server has reached its spending limit",
    agent: "This server has reached its spending limit: call `resume_run` later",
  },
  late: {
    customer: "A job is taking longer than usual",
    agent: "A job is taking longer than usual: `resume_run` waits for it again, and nothing is paid for twice",
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

/** `hasEngine` is true if workers continue runs when they are due. */
interface RunTextOptions {
  readonly audience: Audience;
  readonly hasEngine?: boolean;
}

type Pause = Pick<NonNullable<RunState["pause"]>, "reason" | "flag" | "asks" | "requiredMicros" | "resumeAt">;

function whoContinues(reason: string, { resumeAt }: Pick<Pause, "resumeAt">, hasEngine: boolean): string {
  if (hasEngine && reason === "late") return "; the run continues once it is done.";
  if (hasEngine && resumeAt !== null) return "; the run continues later.";
  return "; the operator of this server can continue the run.";
}

/** `flag` is set if the operator's cap is used up, not the caller's budget. */
function pauseText(pause: Pause, { audience, hasEngine = false }: RunTextOptions): string {
  const { reason, flag, asks, requiredMicros } = pause;
  if (asks !== undefined && requiredMicros !== null)
    return `Some prices that were unknown are now known. The run continues once a total of ${formatUsd(requiredMicros)} dollars is approved.`;
  const isCap = reason === "budget" && flag != null;
  const why = isCap ? "cap" : reason;
  const text = said(own(PAUSES, why) ?? WAITS_FOR_OPERATOR, audience);
  const isOpen = audience !== "agent" && ["cap", "late", "files", "unreachable"].includes(why);
  return isOpen ? `${text}${whoContinues(why, pause, hasEngine)}` : text;
}

const INTERRUPTED: Sentences = {
  customer: "The run is interrupted. Its results are kept.",
  agent: "No process is driving the run; `resume_run` continues it, and nothing is paid for twice",
};
const PARTIAL = "Some of the results could not be generated.";

export function runText(state: RunState, isInterrupted: boolean, how: RunTextOptions): string | null {
  const { audience } = how;
  if (isInterrupted) return said(INTERRUPTED, audience);
  const { runId, status, pause } = state;
  if (pause !== null) return isDecided(state) ? null : pauseText(pause, how);
  const authors = Object.values(state.steps).find(({ forCallers }) => forCallers !== undefined)?.forCallers;
  const quote = `Quote ${runId} to ${said(OPERATOR, audience)}.`;
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

/** Like {@link stepText}, but needs only the event that ended the step. */
export function endText({ status, forCallers }: Ended): string | null {
  switch (status) {
    case "failed":
      return forCallers ?? "The step failed.";
    case "partial":
      return PARTIAL;
    case "skipped":
      return "The step was not needed, or its input is missing.";
    case "cancelled":
      return "The step was cancelled.";
    case "unresolved":
      return "The outcome of the step is not known yet.";
    default:
      return null;
  }
}
