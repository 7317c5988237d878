import { type BaseUrl, parseBaseUrl } from "./base-url.ts";
import { type Clock, systemClock } from "./clock.ts";
import { OptionError } from "./errors/client-errors.ts";
import type { PaceOptions } from "./pace/pacer.ts";
import { createRedactor, type Logger, type Redactor, redactingLogger, silentLogger } from "./redactor.ts";

/** What undici's `ProxyAgent`, `Agent` and other dispatchers are, said without undici's types. */
export interface HttpDispatcher {
  dispatch(options: never, handler: never): boolean;
  compose(...interceptors: never[]): unknown;
}

export interface ClientOptions {
  /** The service's v3 address, with or without a trailing slash. */
  readonly baseUrl: string;
  /** `<key_id>:<secret>`, or an ephemeral token. A browser must only ever hold a token. */
  readonly apiKey: string;
  /** Form of the Authorization header: `Bearer …` or `Key …`. A token needs `bearer`. Default `bearer`. */
  readonly credentialForm?: "bearer" | "key" | undefined;
  /** The deployment's name in its `X-<Brand>-…` headers. Default: taken from the headers found. */
  readonly brand?: string | undefined;
  /** An undici dispatcher to send through, such as a proxy agent. It is not closed with the client. Default: own agents. */
  readonly dispatcher?: HttpDispatcher | undefined;
  /** Milliseconds for one send to be answered whole. Default 60 000. */
  readonly timeoutMs?: number | undefined;
  /** The most bytes that a download may bring, by the kind that its server calls it. */
  readonly downloadLimits?: DownloadLimits | undefined;
  /** How often and how long a call is repeated whose failure passes. */
  readonly retry?: RetryOptions | undefined;
  /** How many requests are sent, and how fast. */
  readonly pace?: PaceOptions | undefined;
  /** Default: the machine's own clock. */
  readonly clock?: Clock | undefined;
  /** A number from 0 to below 1, for jitter. Default `Math.random`. */
  readonly random?: (() => number) | undefined;
  /** Default: silent. Secrets and the queries of presigned URLs never reach it. */
  readonly logger?: Logger | undefined;
}

export interface Settings {
  readonly base: BaseUrl;
  readonly authorization: string;
  /** The only reader of what the service says: headers, bodies and frames pass it first. */
  readonly redactor: Redactor;
  readonly keyId: string;
  readonly brand: string | null;
  readonly timeoutMs: number;
  readonly downloadLimits: DownloadLimits;
  readonly retry: RetryPolicy;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
}

/** The options with every default filled in; throws OptionError for what cannot work. */
export function settingsOf(options: ClientOptions): Settings {
  const apiKey = options.apiKey?.trim() ?? "";
  if (apiKey === "" || /[^\x21-\x7e]/.test(apiKey)) {
    throw new OptionError("apiKey must be <key_id>:<secret> or a token, without spaces or line breaks.");
  }
  const isKey = apiKey.includes(":");
  if (isKey && "document" in globalThis) {
    throw new OptionError(
      "a key must not be used in a browser: mint a token on a server with tokens.create and give that as apiKey.",
    );
  }
  const form = options.credentialForm ?? "bearer";
  if (form === "key" && !isKey) {
    throw new OptionError(
      'credentialForm "key" needs an apiKey of the form <key_id>:<secret>; a token is sent as "bearer".',
    );
  }
  const redactor = createRedactor(apiKey);
  return {
    redactor,
    base: parseBaseUrl(options.baseUrl),
    authorization: `${form === "key" ? "Key" : "Bearer"} ${apiKey}`,
    keyId: isKey ? apiKey.slice(0, apiKey.indexOf(":")) : "token",
    brand: options.brand ?? null,
    timeoutMs: options.timeoutMs ?? 60_000,
    downloadLimits: options.downloadLimits ?? {},
    retry: retryPolicy(options.retry),
    clock: options.clock ?? systemClock,
    random: options.random ?? Math.random,
    logger: options.logger ? redactingLogger(options.logger, redactor) : silentLogger,
  };
}

function retryPolicy(given: RetryOptions = {}): RetryPolicy {
  return {
    maxAttempts: given.maxAttempts ?? defaultRetryPolicy.maxAttempts,
    baseDelayMs: given.baseDelayMs ?? defaultRetryPolicy.baseDelayMs,
    maxDelayMs: given.maxDelayMs ?? defaultRetryPolicy.maxDelayMs,
    maxElapsedMs: given.maxElapsedMs ?? defaultRetryPolicy.maxElapsedMs,
  };
}

/** The most that a download of each kind of media may bring, in bytes. */
export interface DownloadLimits {
  /** Default 512 MiB. */
  readonly image?: number | undefined;
  /** Default 2 GiB. */
  readonly audio?: number | undefined;
  /** Default 8 GiB. */
  readonly video?: number | undefined;
  /** Whatever is none of them: some stores give every file one type. Default 8 GiB. */
  readonly other?: number | undefined;
}

const MIB = 1024 ** 2;
const DEFAULTS = { image: 512 * MIB, audio: 2048 * MIB, video: 8192 * MIB, other: 8192 * MIB } as const;

/** What a download may bring by what its server says that it is. */
export function downloadLimit(limits: DownloadLimits, contentType: string | null): number {
  const kind = (["image", "audio", "video"] as const).find((one) => contentType?.toLowerCase().startsWith(`${one}/`));
  return limits[kind ?? "other"] ?? DEFAULTS[kind ?? "other"];
}

/** Bounds of the retries of one call. */
export interface RetryPolicy {
  /** Sends of one call that may fail before it gives up; answers 429 do not count. Default 6. */
  readonly maxAttempts: number;
  /** First backoff step in milliseconds, doubled each time. Default 500. */
  readonly baseDelayMs: number;
  /** Longest backoff in milliseconds, unless the service asks for longer. Default 30 000. */
  readonly maxDelayMs: number;
  /** Time in milliseconds after which a call starts no further send, waits for 429 included. Default 900 000. */
  readonly maxElapsedMs: number;
}

export type RetryOptions = { readonly [K in keyof RetryPolicy]?: RetryPolicy[K] | undefined };

export const defaultRetryPolicy: RetryPolicy = {
  maxAttempts: 6,
  baseDelayMs: 500,
  maxDelayMs: 30_000,
  maxElapsedMs: 900_000,
};

/**
 * What may be repeated. `always`: asking twice does no harm. `unless-done`: only when the first send certainly did
 * nothing. `never`: not at all.
 */
export type Repeat = "always" | "unless-done" | "never";

/** Full jitter: anywhere between nothing and the doubled step, on top of the service's Retry-After. */
export function backoffMs(policy: RetryPolicy, failures: number, retryAfterMs: number | null, chance: number): number {
  const stepMs = Math.min(policy.maxDelayMs, policy.baseDelayMs * 2 ** Math.min(failures - 1, 30));
  if (retryAfterMs === null) return chance * stepMs;
  return retryAfterMs + chance * Math.min(stepMs, 1_000);
}
