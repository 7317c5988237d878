import { createHash, randomBytes } from "node:crypto";
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { basename } from "node:path";
import { z } from "zod";
import { BoundedMap } from "../bounded-map.ts";
import type { Clock } from "../clock.ts";
import { UploadError } from "../errors/client-errors.ts";
import type { ApiRequest, CallOptions, HttpContext } from "../http/call.ts";
import { fetchAs } from "../http/endpoints.ts";
import { wire, withDefault } from "../wire.ts";

const uploadHandle = wire({
  /** The handle: give it back as it is, query included. Presigned, so a secret. */
  url: z.string().min(1),
  contentType: withDefault(z.string(), "application/octet-stream"),
  expiresAt: z.string(),
});
export type UploadHandle = z.output<typeof uploadHandle>;

/** Upload handles by the hash of their bytes, for as long as the service takes them. */
export type HandleCache = ReturnType<typeof createHandleCache>;

/** A handle this close to its end is not given out again: the submit it is for may have to wait its turn. */
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

export interface UploadOptions extends CallOptions {
  /** Refuse larger files before anything is sent, in bytes. Default: no limit. */
  readonly maxBytes?: number | undefined;
  /** Refuse files of another kind before anything is sent, judged by their bytes; `media` is any of the three. Default: any file. */
  readonly kind?: MediaKind | "media" | undefined;
  /** Give an earlier handle of the same bytes again, until shortly before it expires. Default false. */
  readonly reuse?: boolean | undefined;
  /** Called after each piece with how many bytes were handed to the network, and how many there are; again from 0 when sent again. */
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

/** Where the bytes of an upload come from. `name` only shows in messages. */
export type UploadSource =
  | { readonly path: string }
  | { readonly bytes: Uint8Array; readonly name?: string | undefined };

/** A source whose size is known and whose bytes can be read again and again. */
export interface OpenSource {
  readonly name: string;
  readonly sizeBytes: number;
  /** Throws UploadError when the bytes are no longer as many as they were. */
  open(): AsyncIterable<Uint8Array>;
}

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
    throw new UploadError(`${path} changed while it was uploaded; upload it again when it is complete.`, {
      reason: "changed",
    });
  }
}

/** Lowercase hex SHA-256 of the bytes. */
export async function hashSource(source: OpenSource): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of source.open()) hash.update(chunk);
  return hash.digest("hex");
}

/** Bytes that tell the kind. */
const headBytes = 4_100;

/** Refuses bytes that are not of the required kind, by content and not by name. */
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
  // Its first bytes do not say whether such a container holds sound alone.
  if (kind === "audio" && /^video\/(?:mp4|quicktime|webm)$/.test(found?.mime ?? "")) return;
  const what = found === undefined ? "of no known media type" : found.mime;
  throw new UploadError(`${source.name} is ${what}, but ${kind} is required here.`, { reason: "wrong-kind" });
}
