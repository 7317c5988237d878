import type { IncomingHttpHeaders } from "node:http";
import type { Dispatcher } from "undici";
import { redactUrl } from "../../kit/clean-text.ts";
import { HOUR_MS } from "../../kit/duration.ts";
import {
  codingsOf,
  decodedBody,
  ForbiddenAddressError,
  judgeBeforeProxy,
  MOST_REDIRECTS,
  redirectTarget,
  UNCODED,
  undici,
} from "../../network/index.ts";
import { sleep, startDeadline } from "../clock.ts";
import type { JobsApi } from "../endpoints/jobs.ts";
import { DownloadError } from "../errors.ts";
import type { HttpContext } from "../http/call.ts";
import { headerNumber, headerText, retryAfterHeaderMs } from "../http/transport.ts";
import { checkTimeout, downloadLimit } from "../options.ts";
import type { Priority } from "../pace/fair-queue.ts";
import { backoffMs } from "../retry.ts";
import { openPart, type PartFile } from "./part-file.ts";

/** The output to download: its URL, or its job and index. With a job, the client renews an expired URL. */
export type DownloadSource =
  | string
  | {
      readonly jobId: string;
      readonly outputIndex: number;
      /** The output's asset id. It identifies the output even if the order of the outputs changes. */
      readonly assetId?: string | null | undefined;
      /** The output's URL, if you already have it. */
      readonly url?: string | null | undefined;
      /** When `url` was read, in epoch milliseconds. Default: now. */
      readonly readAt?: number | undefined;
    };

/** How long a download URL is used before the client renews it. The service's URLs are valid for an hour. */
const URL_LIFE_MS = HOUR_MS - 60_000;

/** A finished download. */
export interface Downloaded {
  readonly path: string;
  /** Lowercase hex SHA-256 of the bytes written. */
  readonly sha256: string;
  readonly sizeBytes: number;
  readonly contentType: string | null;
}

/** The download gives up after this many consecutive requests without new data. */
const maxFruitless = 6;
const maxRenewals = 3;
const defaultMaxMs = 6 * HOUR_MS;

/** Downloads an output to `toPath`, which never contains a partial file. */
export async function download(
  context: HttpContext,
  jobs: JobsApi,
  source: DownloadSource,
  toPath: string,
  options: DownloadOptions = {},
): Promise<Downloaded> {
  checkTimeout(options.idleMs, "idleMs");
  checkTimeout(options.maxMs, "maxMs");
  const ref = typeof source === "string" ? null : source;
  const { clock } = context;
  let url = typeof source === "string" ? source : (source.url ?? null);
  let readAt = ref?.readAt ?? clock.now();
  let renewals = 0;
  const until = clock.now() + (options.maxMs ?? defaultMaxMs);
  const part = await openPart(toPath);
  try {
    for (let fruitless = 1; ; ) {
      const before = part.sizeBytes;
      if (ref !== null && (url === null || clock.now() - readAt >= URL_LIFE_MS)) {
        readAt = clock.now();
        url = await freshUrl(context, jobs, ref, options);
      }
      const piece = await fetchPiece(context, url!, part, { ...options, until });
      if (piece.kind === "whole") {
        const { sha256, sizeBytes } = await part.commit();
        return { path: toPath, sha256, sizeBytes, contentType: piece.contentType };
      }
      if (piece.kind === "lapsed") {
        if (ref === null || renewals++ >= maxRenewals) throw failed(url!, piece, ref !== null);
        url = null;
        continue;
      }
      if (piece.kind !== "broken") throw failed(url!, piece);
      fruitless = part.sizeBytes > before ? 1 : fruitless + 1;
      if (fruitless > maxFruitless)
        throw incomplete(
          url!,
          `disconnected ${maxFruitless} times in a row without sending any more data`,
          piece.cause,
        );
      if (clock.now() >= until)
        throw incomplete(url!, "did not finish within the time limit for downloads", piece.cause);
      await sleep(clock, backoffMs(context.retry, fruitless, piece.retryAfterMs, context.random()), options.signal);
    }
  } finally {
    await part.discard();
  }
}

async function freshUrl(
  context: HttpContext,
  jobs: JobsApi,
  ref: Exclude<DownloadSource, string>,
  options: DownloadOptions,
): Promise<string> {
  const job = await jobs.job(ref.jobId, { signal: options.signal, priority: options.priority });
  const listed = job.outputs[ref.outputIndex];
  const isOther = ref.assetId != null && listed?.assetId !== null && listed?.assetId !== ref.assetId;
  const found = isOther ? job.outputs.find(({ assetId }) => assetId === ref.assetId) : listed;
  if (found?.url) return new URL(found.url, context.base.origin).href;
  const what =
    found === undefined
      ? `has no output ${ref.outputIndex}`
      : `has no URL for output ${ref.outputIndex} (${found.status})`;
  throw new DownloadError(`Job ${ref.jobId} ${what}, so there is nothing to download.`, {
    reason: found?.status === "EXPIRED" ? "expired" : "no-url",
  });
}

function failed(url: string, piece: Exclude<Piece, { kind: "whole" | "broken" }>, isRenewed = false): DownloadError {
  const name = redactUrl(url);
  switch (piece.kind) {
    case "lapsed": {
      const advice = isRenewed ? "" : " Pass the job and output instead, so that the client can request a new URL.";
      const message = `${name} returned ${piece.status}: the URL has expired or the file was deleted.${advice}`;
      return new DownloadError(message, { reason: "expired", status: piece.status });
    }
    case "refused": {
      const message = `${name} returned ${piece.status}; retrying will not help.`;
      return new DownloadError(message, { reason: "refused", status: piece.status });
    }
    case "astray":
      return new DownloadError(`${name} redirects more than ${MOST_REDIRECTS} times.`, { reason: "refused" });
    case "forbidden":
      return new DownloadError(`${name} was not fetched: ${piece.cause.message}.`, {
        reason: "forbidden-address",
        cause: piece.cause,
      });
    case "too-large":
      return new DownloadError(`${name} exceeds the download limit of ${piece.maxBytes} bytes.`, {
        reason: "too-large",
      });
  }
}

function incomplete(url: string, what: string, cause: unknown): DownloadError {
  return new DownloadError(`${redactUrl(url)} ${what}.`, { reason: "incomplete", cause });
}

/** Options for `download`. */
export interface DownloadOptions {
  /** Aborts the download. */
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds without data after which the connection is considered dead. Default: 30,000. */
  readonly idleMs?: number | undefined;
  /** Requests with a higher priority are sent first. */
  readonly priority?: Priority | undefined;
  /** Maximum size in bytes. Default: the client's `downloadLimits`. */
  readonly maxBytes?: number | undefined;
  /** Maximum duration of the whole download in milliseconds. Default: 6 hours. */
  readonly maxMs?: number | undefined;
  /** Called after each chunk with the bytes received so far and the total. The total is null if unknown. */
  readonly onProgress?: ((receivedBytes: number, totalBytes: number | null) => void) | undefined;
}

export type Piece =
  | { readonly kind: "whole"; readonly contentType: string | null }
  /** The server responded with 401, 403, 404 or 410: the URL no longer works. */
  | { readonly kind: "lapsed"; readonly status: number }
  | { readonly kind: "refused"; readonly status: number }
  | { readonly kind: "astray" }
  | { readonly kind: "too-large"; readonly maxBytes: number }
  | { readonly kind: "forbidden"; readonly cause: ForbiddenAddressError }
  | { readonly kind: "broken"; readonly cause: unknown; readonly retryAfterMs: number | null };

function validatorOf(headers: IncomingHttpHeaders): string | null {
  const etag = headerText(headers, "etag");
  return etag !== null && !etag.startsWith("W/") ? etag : headerText(headers, "last-modified");
}

/** Fetches the rest of the file in one request. Rejects only if the caller aborts or the disk fails. */
export async function fetchPiece(
  context: HttpContext,
  url: string,
  part: PartFile,
  options: Pick<DownloadOptions, "signal" | "idleMs" | "maxBytes" | "onProgress"> & { readonly until: number },
): Promise<Piece> {
  const leftMs = Math.max(1, options.until - context.clock.now());
  const deadline = startDeadline(context.clock, Math.min(options.idleMs ?? 30_000, leftMs), options.signal);
  let isCoded = false;
  try {
    const offset = part.sizeBytes;
    const answer = await requested(context, new URL(url), deadline.signal, {
      ...(offset > 0 && { range: `bytes=${offset}-` }),
      ...(offset > 0 && part.validator !== null && { "if-range": part.validator }),
    });
    if (answer === null) return { kind: "astray" };
    const { statusCode: status, body } = answer;
    const headers = context.redactor.headers(answer.headers);
    if (status !== 200 && status !== 206) {
      body.on("error", () => {}).destroy();
      return await unusable(context, status, headers, part);
    }
    const codings = codingsOf(headers);
    isCoded = codings.length > 0;
    // A range counts encoded bytes, but the part file contains decoded ones.
    const plan = isCoded && status === 206 ? null : bodyPlan(status, headers, offset);
    const isOther = status === 206 && part.validator !== null && changed(part.validator, headers);
    if (plan === null || isOther) {
      body.on("error", () => {}).destroy();
      await part.restart();
      const cause = new Error(isOther ? "the file changed" : "the server did not send the requested range");
      return { kind: "broken", cause, retryAfterMs: null };
    }
    const maxBytes = options.maxBytes ?? downloadLimit(context.downloadLimits, headerText(headers, "content-type"));
    if ((plan.totalBytes ?? 0) > maxBytes) {
      body.on("error", () => {}).destroy();
      return { kind: "too-large", maxBytes };
    }
    if (plan.restart) await part.restart();
    if (status === 200) part.validator = validatorOf(headers);
    // Content-Length counts encoded bytes.
    const totalBytes = isCoded ? null : plan.totalBytes;
    for await (const chunk of decodedBody(body, codings) as AsyncIterable<Buffer>) {
      deadline.extend();
      if (context.clock.now() >= options.until) throw new Error("the download was too slow");
      if (part.sizeBytes + chunk.byteLength > maxBytes) return { kind: "too-large", maxBytes };
      await part.append(chunk);
      options.onProgress?.(part.sizeBytes, totalBytes);
    }
    if (totalBytes !== null && part.sizeBytes !== totalBytes) {
      if (part.sizeBytes > totalBytes) await part.restart();
      return {
        kind: "broken",
        cause: new Error(`got ${part.sizeBytes} of ${totalBytes} bytes`),
        retryAfterMs: null,
      };
    }
    return { kind: "whole", contentType: headerText(headers, "content-type") };
  } catch (cause) {
    if (options.signal?.aborted) throw options.signal.reason;
    if (isDiskFailure(cause)) throw cause;
    if (cause instanceof ForbiddenAddressError) return { kind: "forbidden", cause };
    // An encoded body cannot be resumed.
    if (isCoded) await part.restart();
    return { kind: "broken", cause, retryAfterMs: null };
  } finally {
    deadline.release();
  }
}

/**
 * Sends the request without the credential. Follows redirects to allowed addresses. Returns null after too many
 * redirects.
 */
async function requested(
  { transport }: HttpContext,
  url: URL,
  signal: AbortSignal,
  headers: Readonly<Record<string, string>>,
): Promise<Dispatcher.ResponseData | null> {
  let target = url;
  for (let redirects = 0; redirects <= MOST_REDIRECTS; redirects += 1) {
    transport.guard.check(target.href);
    await judgeBeforeProxy(target, transport.guard.lookupNamed);
    const answer = await undici().request(target, {
      dispatcher: transport.downloads,
      headers: { "user-agent": "showrunner", ...UNCODED, ...headers },
      signal,
    });
    const next = redirectTarget(target, answer.statusCode, answer.headers);
    if (next === null) return answer;
    answer.body.on("error", () => {}).destroy();
    target = next;
  }
  return null;
}

/** Returns whether the server sent part of another version of the file. */
function changed(validator: string, headers: IncomingHttpHeaders): boolean {
  const now = validatorOf(headers);
  return now !== null && now !== validator;
}

async function unusable(
  context: HttpContext,
  status: number,
  headers: IncomingHttpHeaders,
  part: PartFile,
): Promise<Piece> {
  if (status === 401 || status === 403 || status === 404 || status === 410) return { kind: "lapsed", status };
  if (status === 416) {
    await part.restart();
    return { kind: "broken", cause: new Error("the server cannot send the requested range"), retryAfterMs: null };
  }
  if (status === 408 || status === 429 || status >= 500) {
    return {
      kind: "broken",
      cause: new Error(`answered ${status}`),
      retryAfterMs: retryAfterHeaderMs(headers, context.clock.now()),
    };
  }
  return { kind: "refused", status };
}

/** Decides how to store a body. Returns null if it is neither the whole file nor the requested range. */
function bodyPlan(
  status: number,
  headers: IncomingHttpHeaders,
  offset: number,
): { readonly restart: boolean; readonly totalBytes: number | null } | null {
  if (status === 200) return { restart: offset > 0, totalBytes: headerNumber(headers, "content-length") };
  const range = /^bytes (\d+)-(\d+)\/(\d+|\*)$/.exec(headerText(headers, "content-range") ?? "");
  if (range === null || Number(range[1]) !== offset) return null;
  return { restart: false, totalBytes: range[3] === "*" ? Number(range[2]) + 1 : Number(range[3]) };
}

function isDiskFailure(cause: unknown): boolean {
  const code = (cause as { readonly code?: unknown } | null)?.code;
  return code === "ENOSPC" || code === "EDQUOT" || code === "EROFS" || code === "EACCES" || code === "EIO";
}
