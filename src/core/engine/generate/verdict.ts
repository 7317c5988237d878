import type { IncomingHttpHeaders } from "node:http";
import { retryAfterHeaderMs } from "../../api/http/headers.ts";
import type { JournalError } from "../../journal/events.ts";
import { type CleanText, cleanText, ownText, thrownText } from "../../kit/clean-text.ts";
import { HOUR_MS } from "../../kit/duration.ts";
import { environmentAdvice, isTunnelRefused } from "../../network/index.ts";
import { AWAY } from "../../run/kinds/generate.ts";
import { asModerated } from "./moderated.ts";

/**
 * What an error of a model proves. `nothing made`: the request never left, or its provider refused it before any work.
 * `unknown`: everything else, above all an answer that did not come.
 */
export interface ProviderVerdict {
  readonly proves: "nothing made" | "unknown";
  readonly error: JournalError;
}

/** Thrown before any request is sent, by the names of `@ai-sdk/provider`. */
const BEFORE_SENDING = new Set([
  "AI_LoadAPIKeyError",
  "AI_LoadSettingError",
  "AI_InvalidArgumentError",
  "AI_InvalidPromptError",
  "AI_NoSuchModelError",
  "AI_NoSuchProviderError",
  "AI_UnsupportedFunctionalityError",
]);

/** Answers that refuse a request as it is. */
const REFUSING = new Set([400, 401, 402, 403, 404, 405, 410, 413, 415, 422]);
const BUSY = 429;
/** A provider that asks for longer is asked after so long all the same, milliseconds. */
const LONGEST_ASKED_MS = HOUR_MS;

/** The connection was never made. */
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

/** Errors within errors are looked at so far. */
const MOST_CAUSES = 8;
/** Longer bodies are no message, characters. */
const MOST_BODY = 64 * 1024;

interface Asked {
  readonly call: Call;
  /** Epoch milliseconds. */
  readonly now: number;
}

/** What an error proves of the request that a model was asked for, first sent by the call that threw it. */
export function providerVerdict(error: unknown, { call, now }: Asked): ProviderVerdict {
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

/** The text of an error, without secrets: providers may quote the key that they refuse. */
export function saidBy(error: unknown): CleanText {
  const text = thrownText(error);
  const chain = causesOf(error);
  const url = chain.find(({ url }) => typeof url === "string" && URL.canParse(url))?.url as string | undefined;
  const advice = (url !== undefined && environmentAdvice(error, url)) || [];
  return cleanText([text, ...chain.flatMap(detailsOf), advice].flat().join(": "), 1_000);
}

/** What is wrong, field by field or in a sentence, where only the body of the answer says so: fal's package does not read it. */
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

/** Some packages wrap the error that has the headers. */
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

/** Whether it is about the request that asks for the work. What names no request at all is about none that we know. */
function isFirstRequest(chain: readonly Cause[], call: Call): boolean {
  const withRequest = chain.find((cause) => "requestBodyValues" in cause);
  return asksForWork(withRequest?.requestBodyValues, call);
}

/** What it is about came with an answer. */
function hasAnswer(chain: readonly Cause[]): boolean {
  return chain.some((cause) => "response" in cause || "responseBody" in cause || "text" in cause);
}

function codeOf([first]: readonly Cause[]): string {
  const { code, name } = first ?? {};
  if (typeof code === "string" && code !== "") return code;
  return typeof name === "string" && name !== "Error" && name !== "" ? ownText(name) : "PROVIDER_ERROR";
}

type Fields = { readonly [field: string]: unknown };

/** What a model was called with. */
export interface Call {
  readonly options: Fields;
  /** It only starts work: whatever it requests comes before that, or is it. Else it may poll and download too. */
  readonly isStart: boolean;
}

/** What packages call the words of a request. */
const WORDS = new Set(["prompt", "text", "input"]);
/** Words so long, of several, are no part of an id, a state or an address, whatever their field is called; characters. */
const LONG_WORDS = 20;
/** So much of a medium as Base64 tells it from anything that names an operation, characters. */
const MEDIUM_CHARACTERS = 64;

/**
 * Whether a body is of the request that asks for the work, or of one before it: it says what only they have to say. Later ones
 * that poll or download have no body, or, as Vertex AI has it, one that names the operation.
 */
function asksForWork(body: unknown, { options, isStart }: Call): boolean {
  if (typeof body !== "object" || body === null || Object.keys(body).length === 0) return false;
  const { prompt, text } = options;
  const words = prompt ?? text;
  if (typeof words === "string" && words !== "") {
    const isLong = words.length >= LONG_WORDS && /\s/.test(words.trim());
    return says(body, (text, field) => (isLong ? text.includes(words) : text === words && WORDS.has(field)));
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

/** The beginning of each medium, as bodies quote it. */
function mediaIn(value: unknown): readonly string[] {
  if (typeof value !== "object" || value === null) return [];
  if (value instanceof Uint8Array) {
    const base64 = Buffer.from(value.subarray(0, MEDIUM_CHARACTERS)).toString("base64").slice(0, MEDIUM_CHARACTERS);
    return base64.length < MEDIUM_CHARACTERS ? [] : [base64];
  }
  return Object.values(value).flatMap(mediaIn);
}
