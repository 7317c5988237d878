import { inspect } from "node:util";
import { isKeyOfV2, isUsableKey, keyIdOf, likelyAddress } from "../kit/deployments.ts";
import { secretsOfProcess } from "../kit/known-secrets.ts";
import { type Clock, systemClock } from "./clock.ts";
import { OptionError } from "./errors.ts";
import type { PaceOptions } from "./pace/pacer.ts";
import { createRedactor, type Logger, type Redactor, redactingLogger, silentLogger } from "./redactor.ts";
import { type RetryOptions, type RetryPolicy, retryPolicy } from "./retry.ts";

/** The interface of undici's dispatchers, such as `Agent`, declared without undici's types. */
export interface HttpDispatcher {
  dispatch(options: never, handler: never): boolean;
  compose(...interceptors: never[]): unknown;
}

/** Options for `createClient`. */
export interface ClientOptions {
  /** Base URL of the service's v3 API, with or without a trailing slash. */
  readonly baseUrl: string;
  /**
   * A key (`<key_id>:<secret>` or `sk_hedra_…`) or an ephemeral token. If null, no credential is sent. In browsers, use
   * only tokens.
   */
  readonly apiKey: string | null;
  /** Scheme of the Authorization header. Tokens need `bearer`. Default: `bearer`. */
  readonly credentialForm?: "bearer" | "key" | undefined;
  /** The brand in the service's header names, `X-<Brand>-…`. Default: detected from the headers. */
  readonly brand?: string | undefined;
  /**
   * The undici dispatcher for all requests, such as a proxy agent. The client never closes it. Default: the client's
   * own agents.
   */
  readonly dispatcher?: HttpDispatcher | undefined;
  /** Milliseconds to wait for the complete response to one request. Default: 60,000. */
  readonly timeoutMs?: number | undefined;
  /** Maximum sizes of downloads, by content type. */
  readonly downloadLimits?: DownloadLimits | undefined;
  /** How often and for how long a failed call is retried. */
  readonly retry?: RetryOptions | undefined;
  /** Limits on concurrent requests and on requests per second. */
  readonly pace?: PaceOptions | undefined;
  /** The clock to use. Default: the machine's clock. */
  readonly clock?: Clock | undefined;
  /** Returns random numbers for jitter. Default: `Math.random`. */
  readonly random?: (() => number) | undefined;
  /** Receives log messages, without secrets. Default: no logging. */
  readonly logger?: Logger | undefined;
}

export interface Settings {
  readonly base: BaseUrl;
  readonly authorization: string | null;
  readonly redactor: Redactor;
  readonly keyId: string;
  readonly hint: (status: number) => Hint | null;
  readonly brand: string | null;
  readonly timeoutMs: number;
  readonly downloadLimits: DownloadLimits;
  readonly retry: RetryPolicy;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
}

export function settingsOf(options: ClientOptions): Settings {
  const apiKey = options.apiKey?.trim() ?? "";
  const base = parseBaseUrl(options.baseUrl);
  if (options.apiKey !== null && !isUsableKey(apiKey)) {
    throw new OptionError("apiKey must be <key_id>:<secret> or a token, without spaces or line breaks.", {
      option: "apiKey",
    });
  }
  const keyId = keyIdOf(apiKey);
  if (keyId !== null && "document" in globalThis) {
    throw new OptionError(
      "a key must not be used in a browser; create a token on a server with tokens.create and use it as apiKey.",
    );
  }
  const form = options.credentialForm ?? "bearer";
  if (form !== "bearer" && form !== "key") {
    throw new OptionError('credentialForm must be "bearer" or "key".');
  }
  checkLimits(options);
  if (form === "key" && keyId === null) {
    throw new OptionError(
      'credentialForm "key" needs a key, such as <key_id>:<secret>, as apiKey; a token is sent as "bearer".',
    );
  }
  const redactor = createRedactor(apiKey);
  secretsOfProcess.learn(apiKey);
  return {
    redactor,
    base,
    authorization: options.apiKey === null ? null : `${form === "key" ? "Key" : "Bearer"} ${apiKey}`,
    keyId: keyId ?? (options.apiKey === null ? "none" : "token"),
    hint: (status) => (status === 401 ? keyHint(apiKey) : status === 404 ? addressHint(base) : null),
    brand: options.brand ?? null,
    timeoutMs: options.timeoutMs ?? 60_000,
    downloadLimits: options.downloadLimits ?? {},
    retry: retryPolicy(options.retry),
    clock: options.clock ?? systemClock,
    random: options.random ?? Math.random,
    logger: options.logger ? redactingLogger(options.logger, redactor) : silentLogger,
  };
}

function checkLimits({ timeoutMs, retry, pace, downloadLimits }: ClientOptions): void {
  checkTimeout(timeoutMs);
  checkNumber("retry.maxAttempts", retry?.maxAttempts, 1);
  for (const name of ["baseDelayMs", "maxDelayMs", "maxElapsedMs"] as const)
    checkNumber(`retry.${name}`, retry?.[name], 0);
  checkNumber("pace.maxInFlight", pace?.maxInFlight, 1);
  checkNumber("pace.maxPerSecond", pace?.maxPerSecond, 1);
  checkRate("pace.limit", pace?.limit);
  for (const [name, bucket] of Object.entries(pace?.buckets ?? {}))
    checkRate(`pace.buckets.${name}.limit`, bucket?.limit);
  for (const [name, most] of Object.entries(downloadLimits ?? {})) checkNumber(`downloadLimits.${name}`, most, 0);
}

/** Throws if a time limit is invalid. Infinity means no limit. */
export function checkTimeout(timeoutMs: unknown, name = "timeoutMs"): void {
  if (timeoutMs === undefined || (typeof timeoutMs === "number" && timeoutMs > 0)) return;
  throw new OptionError(`${name} must be a number of milliseconds greater than 0; got ${inspect(timeoutMs)}.`);
}

function checkRate(name: string, limit: NonNullable<PaceOptions["limit"]> | undefined): void {
  if (limit === undefined) return;
  if (typeof limit !== "object" || limit === null) {
    throw new OptionError(`${name} must be a rate such as { requests: 60, perMs: 60_000 }; got ${inspect(limit)}.`);
  }
  checkNumber(`${name}.requests`, limit.requests ?? Number.NaN, 1);
  checkNumber(`${name}.perMs`, limit.perMs ?? Number.NaN, 1);
}

function checkNumber(name: string, value: unknown, least: number): void {
  if (value === undefined || (typeof value === "number" && value >= least)) return;
  throw new OptionError(`${name} must be a number of at least ${least}; got ${inspect(value)}.`);
}

export interface Hint {
  readonly note: string;
  readonly next: string;
}

function keyHint(apiKey: string): Hint | null {
  if (!isKeyOfV2(apiKey)) return null;
  const note = "The key, sk_…, looks like a key for the previous API (v2), which v3 does not accept.";
  return { note, next: "create a v3 key in the service's console; it has the form <key_id>:<secret>" };
}

function addressHint({ href }: BaseUrl): Hint | null {
  const likely = likelyAddress(href);
  if (likely === null) return null;
  const note = `The service's address, ${href}, does not end with an API version.`;
  return { note, next: `check whether the address should be ${likely}` };
}

/** Maximum size of a download in bytes, for each kind of media. */
export interface DownloadLimits {
  /** Maximum for images. Default: 512 MiB. */
  readonly image?: number | undefined;
  /** Maximum for audio. Default: 2 GiB. */
  readonly audio?: number | undefined;
  /** Maximum for video. Default: 8 GiB. */
  readonly video?: number | undefined;
  /** Maximum for all other content types. Default: 8 GiB. */
  readonly other?: number | undefined;
}

const MIB = 1024 ** 2;
const DEFAULTS = { image: 512 * MIB, audio: 2048 * MIB, video: 8192 * MIB, other: 8192 * MIB } as const;

export function downloadLimit(limits: DownloadLimits, contentType: string | null): number {
  const kind = (["image", "audio", "video"] as const).find((candidate) =>
    contentType?.toLowerCase().startsWith(`${candidate}/`),
  );
  return limits[kind ?? "other"] ?? DEFAULTS[kind ?? "other"];
}

export interface BaseUrl {
  readonly href: string;
  readonly origin: string;
}

export function parseBaseUrl(input: string): BaseUrl {
  let url: URL;
  try {
    url = new URL(input);
  } catch (cause) {
    throw new OptionError(`baseUrl is not a URL. Use the service's v3 address, such as https://host/v3.`, {
      option: "baseUrl",
      cause,
    });
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw new OptionError(`baseUrl must start with http:// or https://; got ${url.protocol}//.`, { option: "baseUrl" });
  }
  if (url.username || url.password || url.search || url.hash) {
    throw new OptionError("baseUrl must not contain a user name, a query or a fragment; pass the key as apiKey.", {
      option: "baseUrl",
    });
  }
  const path = url.pathname.replace(/\/+$/, "");
  if (/(^|\/)v2(\/|$)/i.test(path)) {
    throw new OptionError(
      `baseUrl ${url.origin}${path} belongs to the previous API (v2). Use the v3 address; see docs/client.md.`,
      { option: "baseUrl" },
    );
  }
  return { href: `${url.origin}${path}`, origin: url.origin };
}

/** Resolves a path or URL that the service returned; null if it leads to another origin. */
export function resolveServicePath(base: BaseUrl, path: string): string | null {
  if (!URL.canParse(path, base.origin)) return null;
  const url = new URL(path, base.origin);
  return url.origin === base.origin ? url.href : null;
}

export function segment(value: string): string {
  if (value === "" || value === "." || value === "..") {
    throw new OptionError(`"${value}" cannot be part of a request path; use the id that the service issued.`);
  }
  return encodeURIComponent(value);
}
