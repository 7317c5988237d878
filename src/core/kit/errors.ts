/**
 * Base of every error that Showrunner throws on purpose. `code` is a literal that programs match on; the message says
 * what was wrong, where, and what to do next.
 */
export abstract class ShowrunnerError extends Error {
  /** Literal, stable name of the condition. */
  abstract readonly code: string;

  constructor(message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** Shared by all copies of this module. */
const FOR_CALLERS = Symbol.for("showrunner.for-callers");

/**
 * Its message is meant for whoever called your pipeline, by handler, browser client or MCP: throw it in `build`, `title`, a schema, a
 * task, a scoring function, `expand` or `authorize`. Of all other errors callers read no word.
 */
export class CallerError extends ShowrunnerError {
  readonly code = "CALLER_ERROR";

  constructor(message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    Object.defineProperty(this, FOR_CALLERS, { value: true });
  }
}

/** True for every {@link CallerError}, also of another copy of this library. */
export function isCallerError(value: unknown): value is Error {
  return value instanceof Error && FOR_CALLERS in value;
}

/** True for every error of the family, whichever folder it comes from. */
export function isShowrunnerError(value: unknown): value is ShowrunnerError {
  return value instanceof ShowrunnerError;
}
