import { open, readFile, stat } from "node:fs/promises";
import { fileTypeFromBuffer } from "file-type";
import type { ProbeResult } from "../contract.ts";
import { decodeSound } from "../sound/decode.ts";
import { durationMsOf } from "../sound/sound.ts";
import { IMAGE_TYPES, probeImage } from "./probe-image.ts";
import { MOVIE_TYPES, probeMovie } from "./probe-movie.ts";

const MAX_BYTES = 512 * 1024 * 1024;
const HEAD_BYTES = 8192;

/** Looks at the bytes, never at the name. Work for a worker thread: it decodes. */
export async function probeFile(path: string): Promise<ProbeResult> {
  const { size } = await stat(path);
  if (size === 0) return { ok: false, reason: "the file is empty" };
  if (size > MAX_BYTES) return { ok: false, reason: `the file is larger than ${MAX_BYTES} bytes` };
  const type = (await fileTypeFromBuffer(await head(path)).catch(() => undefined))?.mime;
  if (type === undefined) return { ok: false, reason: "the bytes are of no known media format" };
  if (IMAGE_TYPES.has(type)) return probeImage(await readFile(path), type);
  if (MOVIE_TYPES.has(type)) return probeMovie(await readFile(path), type);
  if (type.startsWith("audio/")) return probeSound(await readFile(path));
  return { ok: false, reason: `${type} is not supported (PNG, JPEG, WebP, GIF, MP4, WAV or MP3)` };
}

async function probeSound(bytes: Uint8Array): Promise<ProbeResult> {
  const decoded = await decodeSound(bytes);
  if (!decoded.ok) return { ok: false, reason: `this sound cannot be decoded: ${decoded.reason}` };
  const { contentType, sound } = decoded;
  const durationMs = Math.round(durationMsOf(sound));
  return { ok: true, kind: "audio", contentType, width: null, height: null, durationMs, fps: null };
}

async function head(path: string): Promise<Uint8Array> {
  const file = await open(path);
  try {
    const bytes = new Uint8Array(HEAD_BYTES);
    const { bytesRead } = await file.read(bytes, 0, HEAD_BYTES, 0);
    return bytes.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}
