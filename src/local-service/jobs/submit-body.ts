import { type FieldProblem, invalid, problem } from "../http/refusal.ts";
import { MAX_URL_LENGTH, TOO_LONG } from "../outbound/http-url.ts";

const MAX_KEY_LENGTH = 1024;

/** A submit as it was sent. `problems` concern fields other than `input`. */
export interface SubmitBody {
  readonly input: unknown;
  readonly webhook: string | null;
  readonly idempotencyKey: string | null;
  readonly problems: readonly FieldProblem[];
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isHttpUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}

function readWebhook(value: unknown): string | FieldProblem | null {
  if (value === undefined || value === null) return null;
  if (typeof value !== "string") return problem("webhook", "must be a string or null", "type");
  if (value.length > MAX_URL_LENGTH) return problem("webhook", TOO_LONG, "maxLength");
  return isHttpUrl(value) ? value : problem("webhook", "is not an http or https URI", "format");
}

function readKey(value: unknown): string | FieldProblem | null {
  if (value === undefined || value === null) return null;
  if (typeof value !== "string") return problem("idempotency_key", "must be a string or null", "type");
  if (value.length >= 1 && value.length <= MAX_KEY_LENGTH) return value;
  const reason = value.length === 0 ? "minLength" : "maxLength";
  return problem("idempotency_key", `must have 1 to ${MAX_KEY_LENGTH} characters`, reason);
}

/** Reads a submit body; unknown fields are ignored. @throws Refusal 400 when it is not an object. */
export function readSubmitBody(value: unknown): SubmitBody {
  if (!isRecord(value)) throw invalid([problem("body", "must be a JSON object", "type")]);
  const webhook = readWebhook(value["webhook"]);
  const key = readKey(value["idempotency_key"]);
  return {
    input: value["input"],
    webhook: typeof webhook === "string" ? webhook : null,
    idempotencyKey: typeof key === "string" ? key : null,
    problems: [webhook, key].filter((item) => item !== null && typeof item !== "string"),
  };
}

/** An input that is absent or not an object, detected before schema validation. */
export function inputShapeProblems(input: unknown): FieldProblem[] {
  if (input === undefined || input === null) return [problem("input", "is required", "required")];
  return isRecord(input) ? [] : [problem("input", "must be an object", "type")];
}
