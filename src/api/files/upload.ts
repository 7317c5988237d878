import { randomBytes } from "node:crypto";
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { basename } from "node:path";
import { UploadError } from "../errors/upload-error.ts";
import type { ApiRequest, CallOptions, HttpContext } from "../http/call.ts";
import { fetchAs } from "../http/endpoint.ts";
import { type UploadHandle, uploadHandle } from "../wire/account.ts";

/** Where the bytes of an upload come from. */
export type UploadSource =
  | { readonly path: string }
  | { readonly bytes: Uint8Array; readonly name?: string | undefined };

export interface UploadOptions extends CallOptions {
  /** Refuse larger files before anything is sent, in bytes. Default: no limit. */
  readonly maxBytes?: number | undefined;
}

interface OpenSource {
  readonly name: string;
  readonly sizeBytes: number;
  open(): AsyncIterable<Uint8Array>;
}

/** Time for an upload to be answered, on top of the client's: a slow line at about 250 kB a second. */
const slowestBytesPerMs = 250;

/** Uploads a file in pieces; free, also on an empty wallet. The handle's `url` goes into an input as it is. */
export async function upload(
  context: HttpContext,
  source: UploadSource,
  options: UploadOptions = {},
): Promise<UploadHandle> {
  const opened = await openSource(source);
  if (opened.sizeBytes === 0)
    throw new UploadError(`${opened.name} is empty; there is nothing to upload.`, { reason: "empty" });
  if (opened.sizeBytes > (options.maxBytes ?? Number.POSITIVE_INFINITY)) {
    throw new UploadError(`${opened.name} has ${opened.sizeBytes} bytes, more than the ${options.maxBytes} allowed.`, {
      reason: "too-large",
    });
  }
  const timeoutMs = options.timeoutMs ?? context.timeoutMs + opened.sizeBytes / slowestBytesPerMs;
  return fetchAs(context, uploadHandle, multipart(opened), { ...options, timeoutMs });
}

async function openSource(source: UploadSource): Promise<OpenSource> {
  if ("bytes" in source) {
    const { bytes } = source;
    return {
      name: source.name ?? "blob",
      sizeBytes: bytes.byteLength,
      open: async function* () {
        yield bytes;
      },
    };
  }
  const found = await stat(source.path).catch((cause) => {
    throw new UploadError(`${source.path} cannot be read; check the path.`, { reason: "missing", cause });
  });
  if (!found.isFile()) throw new UploadError(`${source.path} is not a file.`, { reason: "not-a-file" });
  return { name: basename(source.path), sizeBytes: found.size, open: () => createReadStream(source.path) };
}

/** A multipart body with the one part `file`, its length known beforehand. */
function multipart(source: OpenSource): ApiRequest {
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
    // An upload whose answer was lost leaves a file that nobody names; sending it again costs nothing.
    repeat: "always",
    priority: 5,
    stream: {
      headers: {
        "content-type": `multipart/form-data; boundary=${boundary}`,
        "content-length": String(head.length + source.sizeBytes + tail.length),
      },
      open: async function* () {
        yield head;
        yield* source.open();
        yield tail;
      },
    },
  };
}
