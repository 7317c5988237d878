/** Sent as `{error: {code, message}}`. */
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
