import { type Answer, type RequestKind, type SentBefore, type VerdictName, verdictOf } from "../../answers/index.ts";
import { ApiError, answerOf, type Client, MalformedResponseError, UnknownOutcomeError } from "../../api/index.ts";
import { cleanContentType, cleanText, ownText, sentence } from "../../clean-text.ts";
import { ShowrunnerError } from "../../errors.ts";
import type { JournalError } from "../../journal/events.ts";
import type { ServiceFailure } from "./service-watch.ts";

/** What an answer means, and the error that it came as. */
export interface Judged {
  readonly answer: Answer;
  readonly verdict: VerdictName;
  /** Of the last send. */
  readonly error: unknown;
  /** The kind of request. */
  readonly step: string | null;
}

interface ErrorContext {
  /** An earlier send may have made the job. Default false. */
  readonly mayExist?: boolean;
  readonly step?: string;
}

/** Looks the answer up in the table; throws what is none. */
export function judge(kind: RequestKind, error: unknown, about: ErrorContext = {}): Judged {
  const { mayExist = false, step = null } = about;
  const answer = answerOf(error);
  if (answer === null) throw error;
  const isUnknown = error instanceof UnknownOutcomeError;
  const before: SentBefore = mayExist || (isUnknown && error.earlierSend) ? "re-send" : "first send";
  return { answer, verdict: verdictOf(kind, answer, before), error: isUnknown ? error.cause : error, step };
}

/** An outage in words: what was requested where, and what came instead. */
export function serviceFailureOf(
  { error }: Judged,
  pause: ServiceFailure["pause"],
  { client }: { readonly client: Client },
): ServiceFailure {
  const said = cleanText(error instanceof Error ? error.message : String(error));
  const at = ownText(client.baseUrl);
  if (!(error instanceof ApiError)) {
    const isForeign = error instanceof MalformedResponseError;
    return { pause, message: isForeign ? sentence`${at}: ${said}` : said };
  }
  if (error.envelope && pause === "unreachable") return { pause, message: sentence`${at}: ${said}` };
  const type = cleanContentType(error.contentType) ?? ownText("without a content type");
  const to = error.location === null ? ownText("") : sentence`, a redirect to ${cleanText(error.location, 500)}`;
  const who = ownText(
    "not an answer of the service, but of something before it: a login page, a proxy, a load balancer",
  );
  const request = ownText(error.request);
  return { pause, message: sentence`${at} answered ${request} with ${error.status} (${type}${to}): ${who}` };
}

/** What a service calls an error may be of any length. */
export const MOST_CODE = 100;
const MOST_REASONS = 100;

interface ForeignError {
  readonly code: string;
  readonly message: string;
  readonly retryable: boolean;
}

/** An error that the service reports of a job or an output, as the journal keeps it. */
export function foreignError(error: ForeignError): JournalError {
  const { code, message, retryable } = error;
  return { code: cleanText(code, MOST_CODE), message: cleanText(message), retryable };
}

/** The service's error as the journal keeps it: what it says may quote the presigned URLs that it was sent. */
export function journalError(error: unknown): JournalError {
  if (error instanceof ApiError) {
    const details = error.details ?? [];
    const named = details.slice(0, MOST_REASONS).flatMap(({ reason }) => (reason === null ? [] : [reason]));
    const reasons = named.map((reason) => cleanText(reason, MOST_CODE));
    const fields = details.map((detail) => detail.message).join("; ");
    const said = error.serviceMessage;
    const message = fields === "" || said.includes(fields) ? said : `${said} ${fields}`;
    return { ...foreignError({ code: error.code, message, retryable: error.retryable }), reasons };
  }
  const message = cleanText(error instanceof Error ? error.message : String(error));
  const code = cleanText(error instanceof ShowrunnerError ? error.code : "UNKNOWN", MOST_CODE);
  return { code, message, retryable: false };
}
