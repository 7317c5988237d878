import { randomBytes } from "node:crypto";
import type { Clock } from "../clock.ts";
import { UploadError } from "../errors/client-errors.ts";
import type { ApiRequest, CallOptions, HttpContext } from "../http/call.ts";
import { fetchAs } from "../http/endpoint.ts";
import { type UploadHandle, uploadHandle } from "../wire/account.ts";
import {
  checkKind,
  hashSource,
  type MediaKind,
  type OpenSource,
  openSource,
  type UploadSource,
} from "./upload-source.ts";

/** Upload handles by the hash of their bytes, for as long as the service takes them. */
export interface HandleCache {
  get(sha256: string, offsetMs: number): UploadHandle | null;
  set(sha256: string, handle: UploadHandle): void;
}

/** A handle this close to its end is not given out again: the submit it is for may have to wait its turn. */
const reserveMs = 5 * 60_000;
const capacity = 1_000;

export function createHandleCache(clock: Clock): HandleCache {
  const handles = new Map<string, UploadHandle>();
  return {
    get(sha256, offsetMs) {
      const handle = handles.get(sha256);
      if (handle === undefined) return null;
      if (Date.parse(handle.expiresAt) - reserveMs > clock.now() + offsetMs) return handle;
      handles.delete(sha256);
      return null;
    },
    set(sha256, handle) {
      handles.set(sha256, handle);
      if (handles.size > capacity) handles.delete(handles.keys().next().value ?? "");
    },
  };
}

export interface UploadOptions extends CallOptions {
  /** Refuse larger files before anything is sent, in bytes. Default: no limit. */
  readonly maxBytes?: number | undefined;
  /** Refuse files of another kind before anything is sent, judged by their bytes; `media` is any of the three. Default: any file. */
  readonly kind?: MediaKind | "media" | undefined;
  /** Give an earlier handle of the same bytes again, until shortly before it expires. Default false. */
  readonly reuse?: boolean | undefined;
  /** Told after each piece how many bytes were handed to the network, and how many there are; again from 0 when sent again. */
  readonly onProgress?: ((sentBytes: number, totalBytes: number) => void) | undefined;
}

/** Time for an upload to be answered, on top of the client's: a slow line at about 250 kB a second. */
const slowestBytesPerMs = 250;

/** Uploads a file in pieces; free, also on an empty wallet. The handle's `url` goes into an input as it is. */
export async function upload(
  context: HttpContext,
  handles: HandleCache,
  source: UploadSource,
  options: UploadOptions = {},
): Promise<UploadHandle> {
  const opened = await openSource(source);
  await check(opened, options);
  if (!options.reuse) return send(context, opened, options);
  const sha256 = await hashSource(opened);
  const known = handles.get(sha256, context.pacer.clockOffsetMs());
  if (known !== null) return known;
  const handle = await send(context, opened, options);
  handles.set(sha256, handle);
  return handle;
}

async function check(source: OpenSource, options: UploadOptions): Promise<void> {
  if (source.sizeBytes === 0)
    throw new UploadError(`${source.name} is empty; there is nothing to upload.`, { reason: "empty" });
  if (options.maxBytes !== undefined && source.sizeBytes > options.maxBytes) {
    const message = `${source.name} has ${source.sizeBytes} bytes, more than the ${options.maxBytes} allowed.`;
    throw new UploadError(message, { reason: "too-large" });
  }
  if (options.kind !== undefined) await checkKind(source, options.kind);
}

function send(context: HttpContext, source: OpenSource, options: UploadOptions): Promise<UploadHandle> {
  const timeoutMs = options.timeoutMs ?? context.timeoutMs + source.sizeBytes / slowestBytesPerMs;
  return fetchAs(context, uploadHandle, multipart(source, options.onProgress), { ...options, timeoutMs });
}

/** A multipart body with the one part `file`, its length known beforehand. */
function multipart(source: OpenSource, onProgress: UploadOptions["onProgress"]): ApiRequest {
  const boundary = `showrunner-${randomBytes(16).toString("hex")}`;
  const name = source.name.replace(/[\r\n"\\]/g, "_");
  const head = Buffer.from(
    `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="${name}"\r\ncontent-type: application/octet-stream\r\n\r\n`,
  );
  const tail = Buffer.from(`\r\n--${boundary}--\r\n`);
  return {
    method: "POST",
    path: "/files",
    requestClass: "upload",
    // An upload whose answer was lost leaves an unreferenced file; sending it again costs nothing.
    repeat: "always",
    priority: 5,
    stream: {
      headers: {
        "content-type": `multipart/form-data; boundary=${boundary}`,
        "content-length": String(head.length + source.sizeBytes + tail.length),
      },
      open: async function* () {
        yield head;
        let sentBytes = 0;
        for await (const piece of source.open()) {
          yield piece;
          sentBytes += piece.byteLength;
          onProgress?.(sentBytes, source.sizeBytes);
        }
        yield tail;
      },
    },
  };
}
