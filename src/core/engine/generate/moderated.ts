import type { Flagged, JournalError } from "../../journal/events.ts";
import { cleanText, ownText } from "../../kit/clean-text.ts";

/**
 * Codes for a refusal by moderation. OpenAI sends them as the `code` of image errors, and fal as the `type` of errors.
 */
const CODES: ReadonlySet<unknown> = new Set(["moderation_blocked", "content_policy_violation"]);
/** Replicate's code for moderation, at the end of an error text. */
const IN_TEXT = /\(E005\)(?: \([\w-]+\))?\.?$/m;
const MOST_CAUSES = 8;
const MOST_BODY = 64 * 1024;

type Fields = { readonly [field: string]: unknown };

/** Marks an error as a moderation refusal if the provider's code says so. `of`: what was refused, if certain. */
export function asModerated(error: JournalError, thrown: unknown, of: Flagged["of"]): JournalError {
  const found = objectionIn(thrown);
  if (found === null) return error;
  const field = found.field === null ? null : cleanText(`input.${found.field}`, 300);
  const flagged = { of: field === null ? of : "input", field, category: null } as const;
  return { code: ownText("MODERATION_FAILED"), message: error.message, retryable: false, flagged };
}

function objectionIn(thrown: unknown): { readonly field: string | null } | null {
  let cause: unknown = thrown;
  for (let depth = 0; depth < MOST_CAUSES; depth++) {
    if (typeof cause === "string") return IN_TEXT.test(cause) ? { field: null } : null;
    if (!isFields(cause)) return null;
    const objection = objectionOf(cause) ?? objectionOf(bodyOf(cause));
    if (objection !== null) return objection;
    if (typeof cause.message === "string" && IN_TEXT.test(cause.message)) return { field: null };
    cause = cause.cause;
  }
  return null;
}

function objectionOf(fields: Fields): { readonly field: string | null } | null {
  const { data, error, code, type, detail } = fields;
  for (const inner of [data, error]) {
    const found = isFields(inner) ? objectionOf(inner) : null;
    if (found !== null) return found;
  }
  if (CODES.has(code) || CODES.has(type)) return { field: fieldOf(fields) };
  for (const entry of Array.isArray(detail) ? detail : []) {
    const found = isFields(entry) ? objectionOf(entry) : null;
    if (found !== null) return found;
  }
  return null;
}

function fieldOf({ loc }: Fields): string | null {
  if (!Array.isArray(loc) || loc[0] !== "body" || loc.length < 2) return null;
  return loc.slice(1).join(".");
}

function bodyOf({ responseBody }: Fields): Fields {
  if (typeof responseBody !== "string" || responseBody.length > MOST_BODY) return {};
  try {
    const body: unknown = JSON.parse(responseBody);
    return isFields(body) ? body : {};
  } catch {
    return {};
  }
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null;
}
