import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { basename } from "node:path";
import { UploadError } from "../errors/client-errors.ts";

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

/** Bytes that are looked at to tell the kind. */
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
