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

/** A problem with one field of a request. `message` begins with the field's path. */
export interface FieldProblem {
  readonly field: string;
  readonly message: string;
  readonly reason: string | null;
  readonly allowed: readonly string[] | null;
}

export interface Billing {
  readonly balance: number;
  readonly required: number | null;
  readonly currency: "USD";
  readonly funding_url: string;
  readonly reason: string | null;
}

export interface ErrorBody {
  readonly code: ErrorCode;
  readonly message: string;
  /** Kind of error, such as `rate_limit_error`. Set only in errors from language models. */
  readonly type?: string;
  readonly retryable: boolean;
  readonly retry_after?: number;
  readonly param?: string;
  readonly details?: readonly FieldProblem[];
  readonly replaced_by?: string;
  readonly billing?: Billing;
}

const CHAT_ERROR_TYPES: Readonly<Record<number, string>> = {
  401: "authentication_error",
  403: "permission_error",
  429: "rate_limit_error",
};

export function asChatError({ retry_after = 1, ...error }: ErrorBody, hasBegun = false): ErrorBody {
  const status = HTTP_STATUS[error.code];
  const type = CHAT_ERROR_TYPES[status] ?? (status >= 500 ? "server_error" : "invalid_request_error");
  const retryable = error.retryable && status !== 500 && !hasBegun;
  return { ...error, type, retryable, ...(retryable && { retry_after }) };
}

export class Refusal extends Error {
  readonly body: ErrorBody;
  readonly headers: Readonly<Record<string, string>>;
  readonly strictBody: ErrorBody;

  constructor(body: ErrorBody, headers: Readonly<Record<string, string>> = {}, fixedMessage = body.message) {
    super(body.message);
    this.name = "Refusal";
    this.body = body;
    this.headers = headers;
    this.strictBody = { ...body, message: fixedMessage };
  }

  get status(): number {
    return HTTP_STATUS[this.body.code];
  }
}

interface More extends Omit<Partial<ErrorBody>, "code" | "message"> {
  /** Replaces `message` in strict mode. Set this if `message` repeats details of the request. */
  readonly fixedMessage?: string;
}

export function refuse(code: ErrorCode, message: string, { fixedMessage, ...more }: More = {}): Refusal {
  return new Refusal({ code, message, retryable: false, ...more }, {}, fixedMessage);
}

export function refuseForNow(
  code: ErrorCode,
  message: string,
  retryAfter: number,
  headers: Readonly<Record<string, string>> = {},
): Refusal {
  const body: ErrorBody = { code, message, retryable: true, retry_after: retryAfter };
  return new Refusal(body, { "Retry-After": String(retryAfter), ...headers });
}

const MAX_DETAILS = 100;
/** Maximum length of a field name or value in an error. Names in a request can have any length. */
const MAX_FIELD_LENGTH = 200;
const MAX_MESSAGE_LENGTH = 500;
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

export function invalid(problems: readonly FieldProblem[]): Refusal {
  const count = new Set(problems.map((problem) => problem.field)).size;
  const noun = count === 1 ? "1 invalid input field" : `${count} invalid input fields`;
  const details = problems.slice(0, MAX_DETAILS).map(bounded);
  const rest = problems.length - details.length;
  const where = rest === 0 ? "see details" : `\`details\` lists the first ${MAX_DETAILS} problems and omits ${rest}`;
  return refuse("INVALID_ARGUMENT", `The request has ${noun}; ${where}.`, { param: details[0]!.field, details });
}

export function problem(field: string, text: string, reason: string, allowed: readonly string[] | null = null) {
  const path = shortened(field, MAX_FIELD_LENGTH);
  return { field, message: `${path}: ${text}`, reason, allowed } satisfies FieldProblem;
}

export const notFound = (what: string, fixedMessage = what) => refuse("NOT_FOUND", what, { fixedMessage });

export function flagged(field: string, category: string | undefined): Partial<ErrorBody> {
  if (category === undefined) return { param: field };
  return { param: field, details: [problem(field, `flagged as ${category}`, category)] };
}
