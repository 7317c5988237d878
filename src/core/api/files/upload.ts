import { createHash, randomBytes } from "node:crypto";
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { basename } from "node:path";
import { z } from "zod";
import { BoundedMap } from "../bounded-map.ts";
import type { Clock } from "../clock.ts";
import { UploadError } from "../errors.ts";
import type { ApiRequest, CallOptions, HttpContext } from "../http/call.ts";
import { fetchAs } from "../http/endpoints.ts";
import { wire, withDefault } from "../wire.ts";

const uploadHandle = wire({
  /** A presigned URL for job inputs. Use it unchanged, including its query, and keep it secret. */
  url: z.string().min(1),
  contentType: withDefault(z.string(), "application/octet-stream"),
  expiresAt: z.string(),
});
/** An uploaded file. Pass its `url` in job inputs. */
export type UploadHandle = z.output<typeof uploadHandle>;

export type HandleCache = ReturnType<typeof createHandleCache>;

const reserveMs = 5 * 60_000;

export function createHandleCache(clock: Clock) {
  const handles = new BoundedMap<string, UploadHandle>(1_000);
  return {
    get(sha256: string, offsetMs: number): UploadHandle | null {
      const handle = handles.get(sha256);
      const isGood = handle !== undefined && Date.parse(handle.expiresAt) - reserveMs > clock.now() + offsetMs;
      return isGood ? handle : null;
    },
    set: (sha256: string, handle: UploadHandle) => void handles.set(sha256, handle),
  };
}

/** Options for `upload`. */
export interface UploadOptions extends CallOptions {
  /** Maximum size in bytes. A larger file is refused. Default: no limit. */
  readonly maxBytes?: number | undefined;
  /**
   * The required kind of media, detected from the file's bytes. `media` accepts images, video and audio. Default: any
   * file.
   */
  readonly kind?: MediaKind | "media" | undefined;
  /** Whether to reuse the handle from an earlier upload of the same bytes. Default: false. */
  readonly reuse?: boolean | undefined;
  /** Called after each chunk with the bytes sent so far and the total. A retry starts again at 0. */
  readonly onProgress?: ((sentBytes: number, totalBytes: number) => void) | undefined;
}

const slowestBytesPerMs = 250;

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
    const message = `${source.name} is ${source.sizeBytes} bytes, more than the ${options.maxBytes} allowed.`;
    throw new UploadError(message, { reason: "too-large" });
  }
  if (options.kind !== undefined) await checkKind(source, options.kind);
}

function send(context: HttpContext, source: OpenSource, options: UploadOptions): Promise<UploadHandle> {
  const timeoutMs = options.timeoutMs ?? context.timeoutMs + source.sizeBytes / slowestBytesPerMs;
  return fetchAs(context, uploadHandle, multipart(source, options.onProgress), { ...options, timeoutMs });
}

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
    // Repeating an upload costs nothing.
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

/** The file to upload: a path, or bytes with an optional file name. */
export type UploadSource =
  | { readonly path: string }
  | { readonly bytes: Uint8Array; readonly name?: string | undefined };

export interface OpenSource {
  readonly name: string;
  readonly sizeBytes: number;
  /** Yields the file's bytes. Throws UploadError if the file's size has changed. */
  open(): AsyncIterable<Uint8Array>;
}

/** A kind of media. */
export type MediaKind = "image" | "video" | "audio";

export async function openSource(source: UploadSource): Promise<OpenSource> {
  if ("bytes" in source) {
    const { bytes } = source;
    const open = async function* () {
      yield bytes;
    };
    return { name: source.name ?? "blob", sizeBytes: bytes.byteLength, open };
  }
  const { path } = source;
  const found = await stat(path).catch((cause) => {
    throw new UploadError(`${path} cannot be read; check the path.`, { reason: "missing", cause });
  });
  if (!found.isFile()) throw new UploadError(`${path} is not a file.`, { reason: "not-a-file" });
  return { name: basename(path), sizeBytes: found.size, open: () => readWhole(path, found.size) };
}

async function* readWhole(path: string, sizeBytes: number): AsyncGenerator<Uint8Array, void> {
  let readBytes = 0;
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    readBytes += chunk.length;
    if (readBytes > sizeBytes) break;
    yield chunk;
  }
  if (readBytes !== sizeBytes) {
    throw new UploadError(`${path} changed during the upload; upload it again once it is complete.`, {
      reason: "changed",
    });
  }
}

export async function hashSource(source: OpenSource): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of source.open()) hash.update(chunk);
  return hash.digest("hex");
}

/** Number of leading bytes that suffice to detect the kind of media. */
const headBytes = 4_100;

export async function checkKind(source: OpenSource, kind: MediaKind | "media"): Promise<void> {
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const chunk of source.open()) {
    chunks.push(chunk);
    sizeBytes += chunk.byteLength;
    if (sizeBytes >= headBytes) break;
  }
  const { fileTypeFromBuffer } = await import("file-type");
  const found = await fileTypeFromBuffer(Buffer.concat(chunks).subarray(0, headBytes));
  const isMedia = /^(?:image|video|audio)\//.test(found?.mime ?? "");
  if (kind === "media" ? isMedia : found?.mime.startsWith(`${kind}/`)) return;
  // The first bytes do not show whether such a container has only audio.
  if (kind === "audio" && /^video\/(?:mp4|quicktime|webm)$/.test(found?.mime ?? "")) return;
  const what = found === undefined ? "an unknown kind of file" : found.mime;
  throw new UploadError(`${source.name} is ${what}, but ${kind} is required.`, { reason: "wrong-kind" });
}
