import { redactUrl } from "../../kit/clean-text.ts";
import { HOUR_MS } from "../../kit/duration.ts";
import { MOST_REDIRECTS } from "../../network/index.ts";
import { sleep } from "../clock.ts";
import type { JobsApi } from "../endpoints/jobs.ts";
import { DownloadError } from "../errors/client-errors.ts";
import type { HttpContext } from "../http/call.ts";
import { checkTimeout } from "../options.ts";
import { backoffMs } from "../retry.ts";
import { type DownloadOptions, fetchPiece, type Piece } from "./fetch-piece.ts";
import { openPart } from "./part-file.ts";

/** The output to download: its URL, or its job and index. With a job, the client renews an expired URL. */
export type DownloadSource =
  | string
  | {
      readonly jobId: string;
      readonly outputIndex: number;
      /** Finds the output even if the order of the outputs changes. */
      readonly assetId?: string | null | undefined;
      /** The URL of the output, if you have already read the job. */
      readonly url?: string | null | undefined;
      /** When `url` was read, in epoch milliseconds. Default: now. */
      readonly readAt?: number | undefined;
    };

/** Download URLs are valid for an hour, and renewed slightly earlier. */
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
        throw incomplete(url!, `broke off ${maxFruitless} times in a row without sending another byte`, piece.cause);
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
