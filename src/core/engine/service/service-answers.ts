import {
  type Answer,
  type RequestKind,
  type SentBefore,
  type VerdictName,
  verdictOf,
  verdicts,
} from "../../answers.ts";
import {
  ApiError,
  answerOf,
  type Client,
  MalformedResponseError,
  type ServiceError,
  UnknownOutcomeError,
} from "../../api/index.ts";
import type { Flagged, JournalError, RunEvent } from "../../journal/events.ts";
import type { AttemptState, RunState, ServiceOutage } from "../../journal/state.ts";
import {
  type CleanText,
  cleanAddress,
  cleanContentType,
  cleanText,
  ownText,
  sentence,
  withoutFullStop,
} from "../../kit/clean-text.ts";
import { ShowrunnerError } from "../../kit/errors.ts";

export interface Judged {
  readonly answer: Answer;
  readonly verdict: VerdictName;
  readonly error: unknown;
  readonly step: string | null;
}

interface ErrorContext {
  readonly mayExist?: boolean;
  readonly step?: string;
}

/**
 * Returns what an error means for a request of this kind. Rethrows the error if it was not caused by a request to the
 * service.
 */
export function judge(kind: RequestKind, error: unknown, about: ErrorContext = {}): Judged {
  const { mayExist = false, step = null } = about;
  const answer = answerOf(error);
  if (answer === null) throw error;
  const isUnknown = error instanceof UnknownOutcomeError;
  const before: SentBefore = mayExist || (isUnknown && error.earlierSend) ? "re-send" : "first send";
  return { answer, verdict: verdictOf(kind, answer, before), error: isUnknown ? error.cause : error, step };
}

export function serviceFailureOf(
  { error }: Judged,
  pause: ServiceFailure["pause"],
  { client }: { readonly client: Client },
): ServiceFailure {
  const text = cleanText(error instanceof Error ? error.message : String(error));
  const at = ownText(client.baseUrl);
  if (!(error instanceof ApiError)) {
    const isForeign = error instanceof MalformedResponseError;
    return { pause, message: isForeign ? sentence`${at}: ${text}` : text };
  }
  if (error.envelope && pause === "unreachable") {
    const askedS = Math.ceil((error.retryAfterMs ?? 0) / 1000);
    const asked = askedS > 60 ? sentence` (the service asks clients to wait ${askedS} s)` : ownText("");
    return { pause, message: sentence`${at}: ${asked === "" ? text : withoutFullStop(text)}${asked}` };
  }
  const type = cleanContentType(error.contentType) ?? ownText("without a content type");
  const to = error.location === null ? ownText("") : sentence`, a redirect to ${cleanText(error.location, 500)}`;
  const who = ownText(
    "this answer is not from the service, but from something in front of it, such as a login page, a proxy or a load balancer",
  );
  const request = ownText(error.request);
  return { pause, message: sentence`${at} answered ${request} with ${error.status} (${type}${to}): ${who}` };
}

export interface ServiceFailure {
  readonly pause: "unreachable" | "misdirected";
  readonly message: CleanText;
  /** True if the media bucket, not the service, is unavailable. */
  readonly isMedia?: true;
}

export type EffectResult = { readonly events: readonly RunEvent[] } & (
  | { readonly end: "done" }
  | { readonly end: "retryLater"; readonly inMs: number }
  /** The command will not be issued again in the current execution of the run. */
  | { readonly end: "deferred" }
  /** The service was unreachable. The command is retried with increasing delays. */
  | { readonly end: "unreachable"; readonly serviceFailure: ServiceFailure }
  /**
   * This execution of the run has not sent the request. After a `serviceFailure`, the command is retried with growing
   * delays. `serviceFailure` is null if the run was stopped first.
   */
  | { readonly end: "notSent"; readonly serviceFailure: ServiceFailure | null }
  /** The service refused a read. The read is retried for two minutes; then the events in `otherwise` are recorded. */
  | { readonly end: "refused"; readonly otherwise: readonly RunEvent[] }
  /** Ends this execution of the run. The events are recorded, and the caller gets `failure`. */
  | { readonly end: "failed"; readonly failure: Error }
);

export function done(...events: readonly RunEvent[]): EffectResult {
  return { end: "done", events };
}

export function deferToNextDrive(...events: readonly RunEvent[]): EffectResult {
  return { end: "deferred", events };
}

/** Returns a result that retries the command or pauses the run. Throws for verdicts that effects handle themselves. */
export function retryOrPause(
  judged: Judged,
  context: { readonly client: Client },
  events: readonly RunEvent[] = [],
): EffectResult {
  const { pause, retried } = verdicts[judged.verdict];
  switch (pause) {
    case "unreachable":
    case "misdirected": {
      const serviceFailure = serviceFailureOf(judged, pause, context);
      if (retried) return { end: "unreachable", events, serviceFailure };
      return done(...events, { type: "run.paused", reason: pause, message: serviceFailure.message });
    }
    case "credentials":
      return done(...events, refusedKey(judged, context));
    case "funds":
      return deferToNextDrive(...events, unfunded(judged));
    case "unanswered":
    case "unresolved":
    case null:
      throw new Error(`bug: retryOrPause does not handle the verdict ${judged.verdict}`);
    default:
      return pause satisfies never;
  }
}

function refusedKey({ error }: Judged, { client }: { readonly client: Client }): RunEvent {
  const { code, serviceMessage } = error as ApiError;
  const serviceText = cleanText(serviceMessage);
  const why = ownText(
    code === "PERMISSION_DENIED" ? "the key's scopes and its owner's role in the workspace" : "the key's secret",
  );
  const key = sentence`${ownText(client.baseUrl)} does not accept key ${ownText(client.keyId)}`;
  const message = sentence`${key} (${cleanText(code, MOST_CODE)}: ${serviceText}). Check ${why}, then resume with a valid key. Nothing is lost.`;
  return { type: "run.paused", reason: "credentials", message };
}

function unfunded({ error, step }: Judged): RunEvent {
  const { billing, request, serviceMessage } = error as ApiError;
  const fundingUrl = billing === null ? null : cleanAddress(billing.fundingUrl);
  return {
    type: "run.paused",
    reason: "funds",
    message: sentence`The wallet cannot pay for ${ownText(step ?? request)} (${cleanText(serviceMessage)}).`,
    ...(fundingUrl !== null && { fundingUrl }),
    ...(billing !== null && {
      requiredMicros: billing.requiredMicros,
      balanceMicros: billing.balanceMicros,
    }),
  };
}

const MOST_REASONS = 100;

export function journalError(error: unknown): JournalError {
  if (error instanceof ApiError) {
    const details = error.details ?? [];
    const named = details.slice(0, MOST_REASONS).flatMap(({ reason }) => (reason === null ? [] : [reason]));
    const reasons = named.map((reason) => cleanText(reason, MOST_CODE));
    const fields = details.map((detail) => detail.message).join("; ");
    const { replacedBy } = error;
    const successor =
      replacedBy === null || error.serviceMessage.includes(replacedBy) ? "" : ` Use ${replacedBy} instead.`;
    const text = `${error.serviceMessage}${successor}`;
    const message = fields === "" || text.includes(fields) ? text : `${text} ${fields}`;
    if (error.code === MODERATED) {
      const { code, retryable, param } = error;
      return { ...foreignError({ code, message: text, retryable, param, details }, "input"), reasons };
    }
    return { ...foreignError({ code: error.code, message, retryable: error.retryable }), reasons };
  }
  const message = cleanText(error instanceof Error ? error.message : String(error));
  const code = cleanText(error instanceof ShowrunnerError ? error.code : "UNKNOWN", MOST_CODE);
  return { code, message, retryable: false };
}

const FIRST_OUTAGE_MS = 5_000;
const LONGEST_OUTAGE_MS = 60_000;

/** Returns how many milliseconds a run waits after `failures` consecutive failed calls. */
export function outageDelayMs(failures: number): number {
  return Math.min(LONGEST_OUTAGE_MS, FIRST_OUTAGE_MS * 2 ** (failures - 1));
}

export const GIVE_UP_AFTER_MS = 5 * 60_000;
/**
 * How long a refused read is retried, in milliseconds. A refusal may be wrong at first, because the service's reads can
 * lag behind its writes.
 */
const DOUBT_MS = 120_000;

export function lookAgainMs(waitedMs: number): number | null {
  return waitedMs < DOUBT_MS ? Math.max(2_000, Math.min(waitedMs, DOUBT_MS - waitedMs)) : null;
}

export function isNewDoubt(doubt: AttemptState["doubt"], message: string, now: number): boolean {
  return doubt?.message !== message || doubt.since > now;
}

interface Failing {
  readonly since: number;
  failures: number;
}

export interface WatchMemo {
  readonly failing: readonly (readonly [string, Failing])[];
  readonly refused: readonly (readonly [string, Failing])[];
  readonly awaySince: number | null;
  readonly heardAt: number | null;
}

export class ServiceWatch {
  readonly #now: () => number;
  readonly #giveUpAfterMs: number;
  readonly #failing: Map<string, Failing>;
  readonly #refused: Map<string, Failing>;
  #awaySince: number | null;
  #heardAt: number;
  #reported: ServiceOutage["reason"] | null;

  constructor(
    state: RunState,
    options: { readonly now: () => number; readonly giveUpAfterMs: number },
    before: WatchMemo | null = null,
  ) {
    this.#now = options.now;
    this.#giveUpAfterMs = options.giveUpAfterMs;
    this.#reported = state.outage?.reason ?? null;
    this.#failing = new Map(before?.failing);
    this.#refused = new Map(before?.refused);
    this.#awaySince = before?.awaySince ?? null;
    this.#heardAt = before?.heardAt ?? Number.NEGATIVE_INFINITY;
  }

  memo(): WatchMemo {
    const heardAt = Number.isFinite(this.#heardAt) ? this.#heardAt : null;
    return { failing: [...this.#failing], refused: [...this.#refused], awaySince: this.#awaySince, heardAt };
  }

  /**
   * Counts a failed command. Returns the delay before its next try, and the events to record, which include a pause if
   * the service has been unavailable for too long.
   */
  failed(
    id: string,
    serviceFailure: ServiceFailure,
  ): { readonly delayMs: number; readonly events: readonly RunEvent[] } {
    const now = this.#now();
    const { failures, since } = count(this.#failing, id, now);
    this.#awaySince ??= now;
    const events: RunEvent[] = [];
    const { pause, message, isMedia = false } = serviceFailure;
    const reason = isMedia ? "media" : pause;
    if (this.#reported === null) events.push({ type: "service.unavailable", reason, message });
    this.#reported ??= reason;
    const goneSince = isMedia ? since : Math.max(this.#awaySince, this.#heardAt);
    if (now - goneSince >= this.#giveUpAfterMs) events.push(this.#pause(serviceFailure));
    return { delayMs: outageDelayMs(failures), events };
  }

  answered(id: string): readonly RunEvent[] {
    this.noteContact();
    this.#failing.delete(id);
    return this.#recovered();
  }

  markRecovered(id: string): readonly RunEvent[] {
    return this.#failing.delete(id) ? this.#recovered() : [];
  }

  #recovered(): readonly RunEvent[] {
    if (this.#failing.size > 0) return [];
    this.#awaySince = null;
    const reason = this.#reported;
    this.#reported = null;
    if (reason === null) return [];
    return [{ type: "service.recovered", ...(reason === "media" && { reason }) }];
  }

  noteContact(): void {
    this.#heardAt = this.#now();
  }

  refused(id: string): number | null {
    const now = this.#now();
    const { since, failures } = count(this.#refused, id, now);
    return now - since < DOUBT_MS ? outageDelayMs(failures) : null;
  }

  #pause({ pause: reason, message }: ServiceFailure): RunEvent {
    return {
      type: "run.paused",
      reason,
      message: sentence`${withoutFullStop(message)}. Nothing is lost or paid for twice.`,
    };
  }
}

function count(all: Map<string, Failing>, id: string, now: number): Failing {
  const failing = all.get(id) ?? { since: now, failures: 0 };
  all.set(id, failing);
  failing.failures++;
  return failing;
}

export const WALLET = "balance";
export function watchId(id: string): string {
  return id.startsWith("chat:") ? id.replace(/#\d+$/, "") : id;
}

export const MOST_CODE = 100;
const MODERATED = "MODERATION_FAILED";

interface ForeignError extends Partial<Pick<ServiceError, "param" | "details">> {
  readonly code: string;
  readonly message: string;
  readonly retryable: boolean;
}

export function foreignError(error: ForeignError, of: Flagged["of"] = null): JournalError {
  const { code, retryable } = error;
  const flagged = code === MODERATED ? flaggedBy(error, of) : null;
  const message = flagged === null ? cleanText(error.message) : sentence`${cleanText(error.message)}${saidOf(flagged)}`;
  return { code: cleanText(code, MOST_CODE), message, retryable, ...(flagged !== null && { flagged }) };
}

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

export const FIRST_WAITS_MS: readonly number[] = [1_000, 4_000, 15_000];
const MOST_TRIES = 40;

/**
 * Returns how many milliseconds to wait before trying again to save a provider's result that exists only in memory.
 * Returns null after about ten minutes of retries.
 */
export function holdOnMs(tries: number): number | null {
  return FIRST_WAITS_MS[tries] ?? (tries < MOST_TRIES ? FIRST_WAITS_MS.at(-1)! : null);
}
