/** An error answer; thrown by routes, sent as `{error: {code, message}}`. */
export class Refusal extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

export function notFound(what: string): Refusal {
  return new Refusal(404, "NOT_FOUND", `${what} is not here.`);
}

export function badRequest(message: string): Refusal {
  return new Refusal(400, "BAD_REQUEST", message);
}
