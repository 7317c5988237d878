/**
 * The base of every error that Showrunner throws on purpose. Programs match on `code`; the message says what is wrong,
 * where, and what to do next.
 */
export abstract class ShowrunnerError extends Error {
  /** Identifies the kind of error. It stays the same in later versions. */
  abstract readonly code: string;

  constructor(message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** Marks every {@link CallerError}. All copies of this module in a process use the same symbol. */
const FOR_CALLERS = Symbol.for("showrunner.for-callers");

/**
 * An error whose message may be shown to the people who call your pipeline through the handler, the browser client or
 * MCP. Throw it in `build`, `title`, a schema, a task, a scoring function, `expand` or `authorize`. Callers never see
 * the message of any other error.
 */
export class CallerError extends ShowrunnerError {
  readonly code = "CALLER_ERROR";

  constructor(message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    Object.defineProperty(this, FOR_CALLERS, { value: true });
  }
}

/** True for every {@link CallerError}, including those from another copy of this library. */
export function isCallerError(value: unknown): value is Error {
  return value instanceof Error && FOR_CALLERS in value;
}

/** An option has a value that cannot be used. */
export class InvalidOptionError extends ShowrunnerError {
  readonly code = "INVALID_OPTION";
  readonly option: string;
  /** The command to run next. Null if there is none. */
  readonly next: string | null;
  constructor(option: string, message: string, next: string | null = null) {
    super(`${option}: ${message}`);
    this.option = option;
    this.next = next;
  }
}

/**
 * True for every error that Showrunner throws on purpose. Errors of the package showrunner-local are instances of its
 * `LocalServiceError` instead.
 */
export function isShowrunnerError(value: unknown): value is ShowrunnerError {
  return value instanceof ShowrunnerError;
}

/** Who reads a message, other than the operator. They see only predefined error messages and those of `CallerError`. */
export type Audience = "customer" | "agent" | "reviewer";

export type Sentences = { readonly customer: string; readonly agent: string };

export const both = (text: string): Sentences => ({ customer: text, agent: text });
export const sentenceFor = (sentences: Sentences, audience: Audience) =>
  sentences[audience === "agent" ? "agent" : "customer"];

export const PERSON = "the person who started this server";
export const OPERATOR: Sentences = { customer: "the operator of this server", agent: PERSON };
