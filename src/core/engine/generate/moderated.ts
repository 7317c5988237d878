import type { Flagged, JournalError } from "../../journal/events.ts";
import { cleanText, ownText } from "../../kit/clean-text.ts";

/** What providers call a refusal by moderation: OpenAI's `error.code` of images, and the `type` of fal's details. */
const CODES: ReadonlySet<unknown> = new Set(["moderation_blocked", "content_policy_violation"]);
/** Replicate ends the text of a prediction's error with it, and perhaps an id; elsewhere it is quoted from the request. */
const IN_TEXT = /\(E005\)(?: \([\w-]+\))?\.?$/m;
/** Errors within errors are looked at so far. */
const MOST_CAUSES = 8;
/** Longer bodies are no message, characters. */
const MOST_BODY = 64 * 1024;

type Fields = { readonly [field: string]: unknown };

/** The error as one of moderation, where its provider says so by a code. `of`: what was looked at, where that is certain. */
export function asModerated(error: JournalError, thrown: unknown, of: Flagged["of"]): JournalError {
  const found = objectionIn(thrown);
  if (found === null) return error;
  const field = found.field === null ? null : cleanText(`input.${found.field}`, 300);
  const flagged = { of: field === null ? of : "input", field, category: null } as const;
  return { code: ownText("MODERATION_FAILED"), message: error.message, retryable: false, flagged };
}

function objectionIn(thrown: unknown): { readonly field: string | null } | null {
  let one: unknown = thrown;
  for (let depth = 0; depth < MOST_CAUSES; depth++) {
    if (typeof one === "string") return IN_TEXT.test(one) ? { field: null } : null;
    if (!isFields(one)) return null;
    const said = objectionOf(one) ?? objectionOf(bodyOf(one));
    if (said !== null) return said;
    if (typeof one.message === "string" && IN_TEXT.test(one.message)) return { field: null };
    one = one.cause;
  }
  return null;
}

function objectionOf(said: Fields): { readonly field: string | null } | null {
  const { data, error, code, type, detail } = said;
  for (const inner of [data, error]) {
    const found = isFields(inner) ? objectionOf(inner) : null;
    if (found !== null) return found;
  }
  if (CODES.has(code) || CODES.has(type)) return { field: fieldOf(said) };
  for (const one of Array.isArray(detail) ? detail : []) {
    const found = isFields(one) ? objectionOf(one) : null;
    if (found !== null) return found;
  }
  return null;
}

/** `["body", "prompt"]` */
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
