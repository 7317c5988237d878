import type { Answer } from "./call.ts";

export interface ErrorPorts {
  /** An unexpected error; its text never reaches the caller. */
  onDefect(error: unknown, traceId: string): void;
  /** Messages are those of a hosted service. */
  readonly strict: boolean;
}

/** The envelope of what a handler threw. Anything but a refusal is a defect: reported, and answered without its text. */
export function errorAnswer(
  thrown: unknown,
  traceId: string,
  { onDefect, strict }: ErrorPorts,
): Answer & { readonly is: "json" } {
  if (!(thrown instanceof Refusal)) onDefect(thrown, traceId);
  const refusal =
    thrown instanceof Refusal ? thrown : refuseForNow("INTERNAL", "Something unexpected went wrong on our side.", 1);
  const { status, headers } = refusal;
  const error = strict ? refusal.strictBody : refusal.body;
  return { is: "json", status, body: { error, trace_id: traceId }, headers };
}

/** Every code of the API with its HTTP status. */
export const HTTP_STATUS = {
  UNKNOWN: 500,
  INVALID_ARGUMENT: 400,
  NOT_FOUND: 404,
  GONE: 410,
  ALREADY_EXISTS: 409,
  ALREADY_IN_PROGRESS: 409,
  UNAUTHORIZED: 401,
  PERMISSION_DENIED: 403,
  INSUFFICIENT_BALANCE: 402,
  MODERATION_FAILED: 422,
  FAILED_PRECONDITION: 400,
  CANCELLED: 499,
  DEADLINE_EXCEEDED: 504,
  RESOURCE_EXHAUSTED: 429,
  UNAVAILABLE: 503,
  INTERNAL: 500,
} as const;

export type ErrorCode = keyof typeof HTTP_STATUS;

/** One bad field of a request. `message` begins with the field's path. */
export interface FieldProblem {
  readonly field: string;
  readonly message: string;
  readonly reason: string | null;
  /** Accepted values, or accepted names on the first unknown field only. */
  readonly allowed: readonly string[] | null;
}

export interface Billing {
  /** Dollars, as `GET /balance` shows them. */
  readonly balance: number;
  readonly required: number | null;
  readonly currency: "USD";
  readonly funding_url: string;
  readonly reason: string | null;
}

/** The error object of the API. Keys without a value are left out. */
export interface ErrorBody {
  readonly code: ErrorCode;
  readonly message: string;
  readonly retryable: boolean;
  readonly retry_after?: number;
  readonly param?: string;
  readonly details?: readonly FieldProblem[];
  readonly replaced_by?: string;
  readonly billing?: Billing;
}

/** A request that the service answers with an error envelope. Thrown by handlers, caught once in `kernel.ts`. */
export class Refusal extends Error {
  readonly body: ErrorBody;
  readonly headers: Readonly<Record<string, string>>;
  readonly #fixedMessage: string;

  constructor(body: ErrorBody, headers: Readonly<Record<string, string>> = {}, fixedMessage = body.message) {
    super(body.message);
    this.name = "Refusal";
    this.body = body;
    this.headers = headers;
    this.#fixedMessage = fixedMessage;
  }

  /** The body as a hosted service words it: a message that is the same for every request of its condition. */
  get strictBody(): ErrorBody {
    return { ...this.body, message: this.#fixedMessage };
  }

  get status(): number {
    return HTTP_STATUS[this.body.code];
  }
}

interface More extends Omit<Partial<ErrorBody>, "code" | "message"> {
  /** The message of the strict profile, where `message` tells more than the condition: what this request or service has. */
  readonly fixedMessage?: string;
}

export function refuse(code: ErrorCode, message: string, { fixedMessage, ...more }: More = {}): Refusal {
  return new Refusal({ code, message, retryable: false, ...more }, {}, fixedMessage);
}

/** One that may succeed when sent again after `retryAfter` seconds. */
export function refuseForNow(
  code: ErrorCode,
  message: string,
  retryAfter: number,
  headers: Readonly<Record<string, string>> = {},
): Refusal {
  const body: ErrorBody = { code, message, retryable: true, retry_after: retryAfter };
  return new Refusal(body, { "Retry-After": String(retryAfter), ...headers });
}

/** Most problems told in one answer. */
const MAX_DETAILS = 100;
/** Longest path of a field, message, and accepted value, in characters; names of fields come from the request. */
const MAX_FIELD_LENGTH = 200;
const MAX_MESSAGE_LENGTH = 500;
/** Most accepted values told with a problem. */
const MAX_ALLOWED = 1000;

function shortened(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1).toWellFormed()}…`;
}

function bounded({ field, message, reason, allowed }: FieldProblem): FieldProblem {
  return {
    field: shortened(field, MAX_FIELD_LENGTH),
    message: shortened(message, MAX_MESSAGE_LENGTH),
    reason,
    allowed: allowed?.slice(0, MAX_ALLOWED).map((value) => shortened(value, MAX_FIELD_LENGTH)) ?? null,
  };
}

/** 400 with every bad field at once: the first hundred of them, and how many there are. */
export function invalid(problems: readonly FieldProblem[]): Refusal {
  const count = new Set(problems.map((problem) => problem.field)).size;
  const noun = count === 1 ? "1 invalid input field" : `${count} invalid input fields`;
  const details = problems.slice(0, MAX_DETAILS).map(bounded);
  const rest = problems.length - details.length;
  const where = rest === 0 ? "see details" : `the first ${MAX_DETAILS} problems are in details, ${rest} more are not`;
  return refuse("INVALID_ARGUMENT", `The request has ${noun}; ${where}.`, { param: details[0]!.field, details });
}

/** One bad field. `text` goes on after the field's path. */
export function problem(field: string, text: string, reason: string, allowed: readonly string[] | null = null) {
  const path = shortened(field, MAX_FIELD_LENGTH);
  return { field, message: `${path}: ${text}`, reason, allowed } satisfies FieldProblem;
}

export const notFound = (what: string, fixedMessage = what) => refuse("NOT_FOUND", what, { fixedMessage });
