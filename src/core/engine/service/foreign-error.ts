import type { ServiceError } from "../../api/index.ts";
import type { Flagged, JournalError } from "../../journal/events.ts";
import { type CleanText, cleanText, ownText, sentence } from "../../kit/clean-text.ts";

/** What a service calls an error may be of any length. */
export const MOST_CODE = 100;
/** Of a refusal by moderation. */
export const MODERATED = "MODERATION_FAILED";

interface ForeignError extends Partial<Pick<ServiceError, "param" | "details">> {
  readonly code: string;
  readonly message: string;
  readonly retryable: boolean;
}

/** An error that the service reports, as the journal keeps it. `of`: what moderation looked at, where that is certain. */
export function foreignError(error: ForeignError, of: Flagged["of"] = null): JournalError {
  const { code, retryable } = error;
  const flagged = code === MODERATED ? flaggedBy(error, of) : null;
  const message = flagged === null ? cleanText(error.message) : sentence`${cleanText(error.message)}${saidOf(flagged)}`;
  return { code: cleanText(code, MOST_CODE), message, retryable, ...(flagged !== null && { flagged }) };
}

/** Of several fields the first, which is the one that the service calls the primary one. */
function flaggedBy({ param, details }: ForeignError, of: Flagged["of"]): Flagged {
  const [detail] = details ?? [];
  const field = param ?? (detail?.field || null);
  const side = field === null ? null : (/^(input|output)/.exec(field)?.[1] as Flagged["of"]);
  const category = detail?.reason ?? null;
  const short = (text: string | null) => (text === null ? null : cleanText(text, 300));
  return { of: side ?? of, field: short(field), category: short(category) };
}

function saidOf({ of, field, category }: Flagged): CleanText {
  const parts = [field ?? (of === null ? null : ownText(of)), category].filter((part) => part !== null);
  const [first, second] = parts;
  if (first === undefined) return ownText("");
  return second === undefined ? sentence` (flagged: ${first})` : sentence` (flagged: ${first}, ${second})`;
}
