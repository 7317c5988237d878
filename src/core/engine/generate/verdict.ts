import type { IncomingHttpHeaders } from "node:http";
import { retryAfterHeaderMs } from "../../api/http/transport.ts";
import type { Flagged, JournalError, RunEvent } from "../../journal/events.ts";
import { attemptOf, type RunState } from "../../journal/state.ts";
import { type CleanText, cleanText, ownText, thrownText } from "../../kit/clean-text.ts";
import { HOUR_MS } from "../../kit/duration.ts";
import { environmentAdvice, isTunnelRefused } from "../../network/index.ts";
import type { ProviderStep } from "../../plan/plan.ts";
import type { ProviderRequest } from "../../run/command.ts";
import { AWAY, generationId, lostAnswer } from "../../run/kinds/provider.ts";
import { done, type EffectResult } from "../service/service-answers.ts";

/**
 * What an error proves about a request to a provider. `nothing made`: the request never left this machine, or the
 * provider refused it at once.
 */
interface ProviderVerdict {
  readonly proves: "nothing made" | "unknown";
  readonly error: JournalError;
}

/** Names of the `@ai-sdk/provider` errors that are thrown before a request is sent. */
const BEFORE_SENDING = new Set([
  "AI_LoadAPIKeyError",
  "AI_LoadSettingError",
  "AI_InvalidArgumentError",
  "AI_InvalidPromptError",
  "AI_NoSuchModelError",
  "AI_NoSuchProviderError",
  "AI_UnsupportedFunctionalityError",
]);

/** Status codes that mean the request was refused before any work was done. */
const REFUSING = new Set([400, 401, 402, 403, 404, 405, 410, 413, 415, 422]);
const BUSY = 429;
const LONGEST_ASKED_MS = HOUR_MS;

/** Codes of errors that occur before a connection exists, so nothing was sent. */
const UNCONNECTED = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
  "UND_ERR_PRX_CONN",
  "UND_ERR_PRX_TLS",
  "CERT_HAS_EXPIRED",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "ERR_TLS_CERT_ALTNAME_INVALID",
]);

const MOST_CAUSES = 8;
const MOST_BODY = 64 * 1024;

const KEY_AGAIN_MS = 15_000;

interface Asked {
  readonly call: Call;
  readonly now: number;
}

export function submittedEvent({ step, attempt, key, model }: ProviderRequest, { provider }: ProviderStep) {
  const jobId = generationId(key);
  return { type: "job.submitted", step, attempt, jobId, model, replayed: false, provider } as const;
}

interface Sent {
  readonly state: RunState;
  readonly now: () => number;
}

export function failedRequest(
  command: ProviderRequest,
  plan: ProviderStep,
  { error, call }: { readonly error: unknown; readonly call: Call },
  context: Sent,
): EffectResult {
  const { step, attempt, mayExist } = command;
  const verdict = providerVerdict(error, { call, now: context.now() });
  if (verdict.proves === "nothing made" && !mayExist) {
    return done({ type: "job.submit.refused", step, attempt, error: verdict.error });
  }
  return unknownOutcome(command, plan, saidBy(error), context);
}

/**
 * Handles a request whose outcome is unknown. Repeats the request later if its idempotency key makes that safe;
 * otherwise records it as unanswered.
 */
export function unknownOutcome(
  command: ProviderRequest,
  plan: ProviderStep,
  why: CleanText,
  { state }: Pick<Sent, "state">,
): EffectResult {
  const { step, attempt: n, mayExist } = command;
  if (plan.promise === "keyed") {
    const noted: readonly RunEvent[] = mayExist ? [] : [{ type: "job.submit.unknown", step, attempt: n, message: why }];
    return { end: "retryLater", inMs: KEY_AGAIN_MS, events: noted };
  }
  return done(...lostAnswer(plan, attemptOf(state, command), { why }));
}

export function unsentRequest({ step, attempt, mayExist }: ProviderRequest, why: EffectResult): EffectResult {
  if (mayExist) return why;
  return { ...why, events: [{ type: "job.submit.withdrawn", step, attempt, reason: "code" }, ...why.events] };
}

/**
 * Decides from an error whether the provider may have started the work. Only a call's first request starts work; later
 * requests, such as polls, are sent once the work has started.
 */
function providerVerdict(error: unknown, { call, now }: Asked): ProviderVerdict {
  const chain = causesOf(error);
  const answer = chain.find((cause) => typeof cause.statusCode === "number");
  const status = (answer?.statusCode as number | undefined) ?? null;
  const isFirst = isFirstRequest(chain, call);
  const isUnconnected = (chain.some(({ code }) => UNCONNECTED.has(String(code))) || isTunnelRefused(error)) && isFirst;
  const isUnsent = status === null && BEFORE_SENDING.has(String(chain[0]?.name)) && !hasAnswer(chain);
  const isBusy = status === BUSY && isFirst;
  const isRefused = status !== null && REFUSING.has(status) && isFirst;
  const code = status === null ? (isUnconnected ? AWAY : codeOf(chain)) : isBusy ? AWAY : `HTTP_${status}`;
  const retryAt = isBusy ? askedToWait(chain, now) : {};
  const isRetryable = isUnconnected || isBusy;
  const described = { code: cleanText(code, 100), message: saidBy(error), retryable: isRetryable, ...retryAt };
  return {
    proves: isUnconnected || isUnsent || isBusy || isRefused ? "nothing made" : "unknown",
    error: isRefused ? asModerated(described, error, "input") : described,
  };
}

/** Describes an error without secrets. A provider's message may repeat the API key that it rejects. */
export function saidBy(error: unknown): CleanText {
  const text = thrownText(error);
  const chain = causesOf(error);
  const url = chain.find(({ url }) => typeof url === "string" && URL.canParse(url))?.url as string | undefined;
  const advice = (url !== undefined && environmentAdvice(error, url)) || [];
  return cleanText([text, ...chain.flatMap(detailsOf), advice].flat().join(": "), 1_000);
}

/** Returns the details in a response body. fal's package leaves them out of the error's message. */
function detailsOf({ responseBody, data }: Cause): readonly string[] {
  if (typeof responseBody !== "string" || responseBody.length > MOST_BODY || data !== undefined) return [];
  try {
    const { detail } = JSON.parse(responseBody) as { readonly detail?: unknown };
    if (typeof detail === "string") return [detail];
    if (!Array.isArray(detail)) return [];
    return detail.flatMap((entry: unknown) => (isCause(entry) && typeof entry.msg === "string" ? entry.msg : []));
  } catch {
    return [];
  }
}

function askedToWait(chain: readonly Cause[], now: number): { readonly retryAt?: number } {
  const headers = chain.find((cause) => isCause(cause.responseHeaders))?.responseHeaders ?? {};
  const askedMs = retryAfterHeaderMs(headers as IncomingHttpHeaders, now);
  return askedMs === null ? {} : { retryAt: now + Math.min(askedMs, LONGEST_ASKED_MS) };
}

type Cause = { readonly [field: string]: unknown };

function isCause(value: unknown): value is Cause {
  return typeof value === "object" && value !== null;
}

function causesOf(error: unknown): readonly Cause[] {
  const found: Cause[] = [];
  for (let cause = error; found.length < MOST_CAUSES; cause = (cause as Cause).cause) {
    if (!isCause(cause)) break;
    found.push(cause);
  }
  return found;
}

function isFirstRequest(chain: readonly Cause[], call: Call): boolean {
  const withRequest = chain.find((cause) => "requestBodyValues" in cause);
  return asksForWork(withRequest?.requestBodyValues, call);
}

function hasAnswer(chain: readonly Cause[]): boolean {
  return chain.some((cause) => "response" in cause || "responseBody" in cause || "text" in cause);
}

function codeOf([first]: readonly Cause[]): string {
  const { code, name } = first ?? {};
  if (typeof code === "string" && code !== "") return code;
  return typeof name === "string" && name !== "Error" && name !== "" ? ownText(name) : "PROVIDER_ERROR";
}

type Fields = { readonly [field: string]: unknown };

export interface Call {
  readonly options: Fields;
  /** True if the call only starts work, without polling or downloading. */
  readonly isStart: boolean;
}

const PROMPT_FIELDS = new Set(["prompt", "text", "input"]);
/**
 * Minimum length of a long prompt. A long prompt that contains a space is recognized in any field of a request, other
 * prompts only in `PROMPT_FIELDS`.
 */
const LONG_PROMPT_CHARACTERS = 20;
const MEDIUM_CHARACTERS = 64;

/** Returns true if a request body asks the provider to start work: it contains the call's prompt or media. */
function asksForWork(body: unknown, { options, isStart }: Call): boolean {
  if (typeof body !== "object" || body === null || Object.keys(body).length === 0) return false;
  const { prompt, text } = options;
  const words = prompt ?? text;
  if (typeof words === "string" && words !== "") {
    const isLong = words.length >= LONG_PROMPT_CHARACTERS && /\s/.test(words.trim());
    return says(body, (text, field) => (isLong ? text.includes(words) : text === words && PROMPT_FIELDS.has(field)));
  }
  if (isStart) return true;
  const media = mediaIn(options);
  return media.length > 0 && says(body, (text) => media.some((medium) => text.includes(medium)));
}

function says(value: unknown, is: (text: string, field: string) => boolean, field = ""): boolean {
  if (typeof value === "string") return is(value, field);
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return false;
  return Object.entries(value).some(([name, inner]) => says(inner, is, Array.isArray(value) ? field : name));
}

function mediaIn(value: unknown): readonly string[] {
  if (typeof value !== "object" || value === null) return [];
  if (value instanceof Uint8Array) {
    const base64 = Buffer.from(value.subarray(0, MEDIUM_CHARACTERS)).toString("base64").slice(0, MEDIUM_CHARACTERS);
    return base64.length < MEDIUM_CHARACTERS ? [] : [base64];
  }
  return Object.values(value).flatMap(mediaIn);
}

/** Codes for a refusal by moderation: the `code` of OpenAI's image errors, or the `type` of fal's errors. */
const CODES: ReadonlySet<unknown> = new Set(["moderation_blocked", "content_policy_violation"]);
/** Matches Replicate's moderation code at the end of an error message. */
const IN_TEXT = /\(E005\)(?: \([\w-]+\))?\.?$/m;

/**
 * Converts an error to a moderation refusal if the provider's error code indicates one. `of` is what was refused; null
 * if this is uncertain.
 */
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
