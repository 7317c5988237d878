import { randomBytes } from "node:crypto";
import { answerOf } from "../../core/api/index.ts";
import { cleanText } from "../../core/kit/clean-text.ts";
import {
  type Audience,
  both,
  InvalidOptionError,
  isCallerError,
  isShowrunnerError,
  OPERATOR,
  type Sentences,
  sentenceFor,
} from "../../core/kit/errors.ts";
import { own } from "../../core/kit/lookup.ts";
import { FOR_CALLERS } from "../../core/plan/index.ts";
import { type Problem, QuoteRefusedError } from "../../index.ts";

/** Thrown to refuse a request. Callers receive it as `{error: {code, message}}`. */
export class Refusal extends Error {
  readonly status: number;
  readonly code: string;
  readonly field: string | null;
  /** Reference to the entry in the operator's log. Null if nothing was logged. */
  readonly reference: string | null;

  constructor(
    status: number,
    code: string,
    message: string,
    field: string | null = null,
    reference: string | null = null,
  ) {
    super(message);
    this.status = status;
    this.code = code;
    this.field = field;
    this.reference = reference;
  }
}

/** Refuses a valid request because the server is busy. */
export class BusyRefusal extends Refusal {
  readonly retryAfterS: number;

  constructor(status: 429 | 503, message: string, retryAfterS: number) {
    super(status, status === 429 ? "TOO_MANY" : "BUSY", message);
    this.retryAfterS = retryAfterS;
  }
}

export function notFound(what: string): Refusal {
  return new Refusal(404, "NOT_FOUND", `${what} was not found.`);
}

export function badRequest(message: string, field: string | null = null): Refusal {
  return new Refusal(400, "BAD_REQUEST", message, field);
}

export function cutShort(): Refusal {
  return badRequest("The body was cut short.");
}

/** Logs an error with the reference that the caller receives. */
export type Report = (error: unknown, reference: string) => void;

/** Returns a function that writes each error to stderr on one line, without secrets or control characters. */
export function stderrReport(server: string): (error: unknown, reference?: string) => void {
  return (error, reference) => {
    const text = cleanText(String(error), MOST_LOGGED).replaceAll(/[\n\t]+/g, " ");
    process.stderr.write(`${server}: ${reference === undefined ? "" : `${reference}: `}${text}\n`);
  };
}

const MOST_LOGGED = 4_000;

const MOST_MESSAGE = 1_000;
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
    is: both("The expected cost exceeds the budget. Generate less, or set a larger budget."),
  },
  WALLET_SHORT: { status: 402, is: both("This server cannot pay for more jobs right now."), isReported: true },
  QUOTE_REFUSED: {
    status: 409,
    is: {
      customer: "The quote no longer matches what this run costs. Ask for a new quote.",
      agent:
        "The quote has been used, has expired, or no longer matches what this run costs: `quote_pipeline` returns a new quote",
    },
  },
  PLAN_PROBLEMS: { status: 422, is: both("The pipeline cannot run with this input.") },
};

const OPTIONS: Readonly<Record<string, string>> = {
  step: "This step is not waiting for a decision.",
  pick: "Choose one of the items shown by giving its number.",
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
  const option = error instanceof InvalidOptionError ? error.option : "";
  const wrong = own(OPTIONS, option);
  if (wrong !== undefined) return new Refusal(400, code, wrong, option);
  const known = answerOf(error) !== null ? undefined : own(REFUSALS, code);
  if (known !== undefined && known.isReported === undefined) {
    const own = error instanceof QuoteRefusedError ? inputChanges(error) : null;
    return new Refusal(known.status, code, `${own === null ? "" : `${own}. `}${sentenceFor(known.is, audience)}`);
  }
  const reference = reported(error, report);
  if (known !== undefined) return new Refusal(known.status, code, sentenceFor(known.is, audience), null, reference);
  const quote = `Give the reference ${reference} to ${sentenceFor(OPERATOR, audience)}.`;
  if (answerOf(error) === null)
    return new Refusal(500, "INTERNAL", `Something went wrong on this server. ${quote}`, null, reference);
  const message = `The service that this server uses has failed. Try again later. ${quote}`;
  return new Refusal(503, "SERVICE", message, null, reference);
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

interface CallerProblem {
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
    const quote =
      reference === null ? "" : ` For details, give the reference ${reference} to ${sentenceFor(OPERATOR, audience)}.`;
    const message = `${where === "" ? "" : `${where}: `}${first.message}${more}${quote}`;
    super(422, "PLAN_PROBLEMS", message, first.field, reference);
    this.problems = problems.slice(0, MOST_PROBLEMS);
  }
}

export function unplannable(problems: readonly Problem[], { audience, report }: How): Unplannable {
  const isWhole = problems.every(isForCallers);
  const reference = isWhole ? null : reported(unplannedError(problems), report);
  return new Unplannable(
    problems.map((one) => problemFor(one)),
    reference,
    { audience },
  );
}

function unplannedError(problems: readonly Problem[]): Error {
  const hidden = problems.filter((one) => !isForCallers(one));
  const lines = hidden.map(({ step, field, message }) => [step, field, message].filter((part) => part !== null));
  const text = lines.map((parts) => parts.join("  ")).join("; ");
  return new Error(`could not plan a pipeline with the caller's input: ${cleanText(text, 2 * MOST_MESSAGE)}`);
}

function isForCallers({ code, step }: Pick<Problem, "code" | "step">): boolean {
  return step === null && (code === "input" || code === FOR_CALLERS);
}

const UNPLANNED = "The pipeline cannot run with this input.";
const NO_FILE = "A required file is missing, damaged or of the wrong type.";
const PROBLEMS: Readonly<Record<string, string>> = {
  // Both problems have the same sentence, because two sentences would reveal whether a file exists on this machine.
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
