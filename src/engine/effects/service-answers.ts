import {
  type Answer,
  type RequestKind,
  type SentBefore,
  type VerdictName,
  verdictOf,
  verdicts,
} from "../../answers/index.ts";
import { ApiError, answerOf, MalformedResponseError, redactUrls, UnknownOutcomeError } from "../../api/index.ts";
import { ShowrunnerError } from "../../errors.ts";
import type { JournalError, RunEvent } from "../../journal/events.ts";
import type { Trouble } from "../service-watch.ts";
import type { EffectContext, EffectResult } from "./effect.ts";

/** What an answer means, and the error that it came as. */
export interface Judged {
  readonly answer: Answer;
  readonly verdict: VerdictName;
  /** Of the last send. */
  readonly error: unknown;
  /** What it was asked for. */
  readonly step: string | null;
}

interface Circumstances {
  /** An earlier send may have made the job. Default false. */
  readonly mayExist?: boolean;
  readonly step?: string;
}

/** Looks the answer up in the table; throws what is none. */
export function judge(kind: RequestKind, error: unknown, about: Circumstances = {}): Judged {
  const { mayExist = false, step = null } = about;
  const answer = answerOf(error);
  if (answer === null) throw error;
  const isUnknown = error instanceof UnknownOutcomeError;
  const before: SentBefore = mayExist || (isUnknown && error.earlierSend) ? "re-send" : "first send";
  return { answer, verdict: verdictOf(kind, answer, before), error: isUnknown ? error.cause : error, step };
}

/** What every verdict that fails no step leads to: another try, or a pause. `events` come first. */
export function resting(
  judged: Judged,
  context: Pick<EffectContext, "client">,
  events: readonly RunEvent[] = [],
): EffectResult {
  const { pause, retried } = verdicts[judged.verdict];
  switch (pause) {
    case "unreachable":
    case "misdirected":
      return retried
        ? { events, trouble: troubleOf(judged, pause, context) }
        : {
            events: [
              ...events,
              { type: "run.paused", reason: pause, message: troubleOf(judged, pause, context).message },
            ],
          };
    case "credentials":
      return { events: [...events, refusedKey(judged, context)] };
    case "funds":
      return { events: [...events, unfunded(judged)], againInMs: Number.POSITIVE_INFINITY };
    case "unanswered":
    case "unresolved":
    case null:
      throw new Error(`${judged.verdict} is for its own effect to handle.`);
    default:
      return pause satisfies never;
  }
}

/** How trouble is told: what was asked for where, and what came instead. */
export function troubleOf(
  { error }: Judged,
  pause: Trouble["pause"],
  { client }: Pick<EffectContext, "client">,
): Trouble {
  const said = redactUrls(error instanceof Error ? error.message : String(error));
  if (!(error instanceof ApiError)) {
    const isForeign = error instanceof MalformedResponseError;
    return { pause, message: isForeign ? `${client.baseUrl}: ${said}` : said };
  }
  if (error.envelope && pause === "unreachable") return { pause, message: `${client.baseUrl}: ${said}` };
  const type = error.contentType === null ? "without a content type" : error.contentType;
  const to = error.location === null ? "" : `, a redirect to ${error.location}`;
  const who = "not an answer of the service, but of something before it: a login page, a proxy, a load balancer";
  return { pause, message: `${client.baseUrl} answered ${error.request} with ${error.status} (${type}${to}): ${who}` };
}

function refusedKey({ error }: Judged, { client }: Pick<EffectContext, "client">): RunEvent {
  const { code, serviceMessage } = error as ApiError;
  const said = redactUrls(serviceMessage);
  const why = code === "PERMISSION_DENIED" ? "its scopes, or its owner's place in the workspace" : "its secret";
  const message = `${client.baseUrl} does not take key ${client.keyId} (${code}: ${said}). Check ${why}; nothing is lost, and the right key goes on.`;
  return { type: "run.paused", reason: "credentials", message };
}

function unfunded({ error, step }: Judged): RunEvent {
  const { billing, request, serviceMessage } = error as ApiError;
  return {
    type: "run.paused",
    reason: "funds",
    message: `${step ?? request}: the wallet cannot fund it (${redactUrls(serviceMessage)}).`,
    ...(billing !== null && {
      fundingUrl: billing.fundingUrl,
      requiredMicros: billing.requiredMicros,
      balanceMicros: billing.balanceMicros,
    }),
  };
}

/** The service's error as the journal keeps it: what it says may quote the presigned URLs that it was sent. */
export function journalError(error: unknown): JournalError {
  if (error instanceof ApiError) {
    const details = error.details ?? [];
    const reasons = details.flatMap((detail) => (detail.reason === null ? [] : [detail.reason]));
    const fields = details.map((detail) => detail.message).join("; ");
    const said = error.serviceMessage;
    const message = fields === "" || said.includes(fields) ? said : `${said} ${fields}`;
    return { code: error.code, message: redactUrls(message), retryable: error.retryable, reasons };
  }
  const message = redactUrls(error instanceof Error ? error.message : String(error));
  return { code: error instanceof ShowrunnerError ? error.code : "UNKNOWN", message, retryable: false };
}
