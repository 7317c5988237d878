import { readFile } from "node:fs/promises";
import { fileTypeFromBuffer } from "file-type";
import type { ProbeResult } from "../contract.ts";
import { type WindowedFile, withFile } from "./windowed-file.ts";

const MAX_BYTES = 512 * 1024 * 1024;
/** An image is decoded from memory. The catalog's models take far smaller ones. */
const MAX_IMAGE_BYTES = 64 * 1024 * 1024;
const HEAD_BYTES = 4096;

const IMAGE_TYPES: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/webp", "image/gif"]);
const MOVIE_TYPES: ReadonlySet<string> = new Set([
  "video/mp4",
  "video/quicktime",
  "audio/mp4",
  "audio/x-m4a",
  "video/x-m4v",
]);

/**
 * Looks at the bytes, never at the name, and keeps few of them in memory. Work for a worker thread: it decodes. Each
 * decoder is loaded when a file first asks for it, since one alone weighs more than most files.
 */
export async function probeFile(path: string): Promise<ProbeResult> {
  return withFile(path, async (file) => {
    if (file.size === 0) return { ok: false, reason: "the file is empty" };
    if (file.size > MAX_BYTES) return { ok: false, reason: `the file is larger than ${MAX_BYTES} bytes` };
    const type = (await fileTypeFromBuffer(await head(file)).catch(() => undefined))?.mime;
    if (type === undefined) return { ok: false, reason: "the bytes are of no known media format" };
    if (IMAGE_TYPES.has(type)) return lookAtImage(file, type);
    if (MOVIE_TYPES.has(type)) return (await import("./probe-movie.ts")).probeMovie(file, type);
    if (type.startsWith("audio/")) return (await import("./probe-sound.ts")).probeSound(file, type);
    return { ok: false, reason: `${type} is not supported (PNG, JPEG, WebP, GIF, MP4, WAV or MP3)` };
  });
}

async function lookAtImage(file: WindowedFile, type: string): Promise<ProbeResult> {
  if (file.size > MAX_IMAGE_BYTES) return { ok: false, reason: `an image may have at most ${MAX_IMAGE_BYTES} bytes` };
  const { headerFault, probeImage } = await import("./probe-image.ts");
  const reason = headerFault(bytesOf(await file.read({ at: 0, size: 65_536 })), type);
  return reason === null ? probeImage(await readFile(file.path), type) : { ok: false, reason };
}

const head = async (file: WindowedFile) => bytesOf(await file.read({ at: 0, size: HEAD_BYTES }));
const bytesOf = (view: DataView) => new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
