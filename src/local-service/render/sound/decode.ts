import { readFile, stat } from "node:fs/promises";
import { fileTypeFromBuffer } from "file-type";
import { joined, type Sound } from "./sound.ts";
import { unpackMp3 } from "./unpack-mp3.ts";
import { decodeWav } from "./wav.ts";

const MAX_BYTES = 100 * 1024 * 1024;
const TOO_LARGE = `it is larger than ${MAX_BYTES} bytes`;
const SLICE_BYTES = 1 << 20;

/** Decoded sound, or why it is none. `contentType` is sniffed from the bytes. */
export type DecodedSound =
  | { readonly ok: true; readonly sound: Sound; readonly contentType: "audio/wav" | "audio/mpeg" }
  | { readonly ok: false; readonly contentType: string | null; readonly reason: string };

/** Decodes a WAV or MP3 file wholly. AAC has no free decoder that runs everywhere; it is told apart, not decoded. */
export async function decodeSoundFile(path: string): Promise<DecodedSound> {
  const { size } = await stat(path);
  if (size > MAX_BYTES) return { ok: false, contentType: null, reason: TOO_LARGE };
  return decodeSound(await readFile(path));
}

export async function decodeSound(bytes: Uint8Array): Promise<DecodedSound> {
  const mime = (await fileTypeFromBuffer(bytes).catch(() => undefined))?.mime ?? null;
  if (bytes.length > MAX_BYTES) return { ok: false, contentType: mime, reason: TOO_LARGE };
  if (mime === "audio/wav" || mime === "audio/vnd.wave") {
    const result = decodeWav(bytes);
    return result.ok ? { ...result, contentType: "audio/wav" } : { ...result, contentType: "audio/wav" };
  }
  if (mime === "audio/mpeg") return decodeMp3(bytes);
  return { ok: false, contentType: mime, reason: `${mime ?? "an unknown format"} is not WAV or MP3` };
}

async function decodeMp3(bytes: Uint8Array): Promise<DecodedSound> {
  const parts: Float32Array[][] = [];
  const measured = await unpackMp3(slicesOf(bytes), (channels) => parts.push([...channels]));
  if (!measured.ok) return { ...measured, contentType: "audio/mpeg" };
  const [first, ...rest] = (parts[0] ?? []).map((_, i) => joined(parts.map((part) => part[i] ?? new Float32Array(0))));
  if (first === undefined) return { ok: false, contentType: "audio/mpeg", reason: "it has no channels" };
  return { ok: true, contentType: "audio/mpeg", sound: { rate: measured.rate, channels: [first, ...rest] } };
}

function* slicesOf(bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += SLICE_BYTES) yield bytes.subarray(at, at + SLICE_BYTES);
}
