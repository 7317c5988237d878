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

/** True for every error of the family, whichever folder it comes from. */
export function isShowrunnerError(value: unknown): value is ShowrunnerError {
  return value instanceof ShowrunnerError;
}
