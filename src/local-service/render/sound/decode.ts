import { readFile } from "node:fs/promises";
import { fileTypeFromBuffer } from "file-type";
import { MPEGDecoder } from "mpg123-decoder";
import { joined, type Sound } from "./sound.ts";
import { decodeWav } from "./wav.ts";

const MAX_BYTES = 100 * 1024 * 1024;
const MAX_SECONDS = 20 * 60;
const SLICE_BYTES = 1 << 20;
const SAMPLES_PER_FRAME = 1152;

/** Decoded sound, or why it is none. `contentType` is sniffed from the bytes. */
export type DecodedSound =
  | { readonly ok: true; readonly sound: Sound; readonly contentType: "audio/wav" | "audio/mpeg" }
  | { readonly ok: false; readonly contentType: string | null; readonly reason: string };

/** Decodes a WAV or MP3 file wholly. AAC has no free decoder that runs everywhere; it is told apart, not decoded. */
export async function decodeSoundFile(path: string): Promise<DecodedSound> {
  return decodeSound(await readFile(path));
}

export async function decodeSound(bytes: Uint8Array): Promise<DecodedSound> {
  const mime = (await fileTypeFromBuffer(bytes).catch(() => undefined))?.mime ?? null;
  if (bytes.length > MAX_BYTES) return { ok: false, contentType: mime, reason: `it is larger than ${MAX_BYTES} bytes` };
  if (mime === "audio/wav" || mime === "audio/vnd.wave") {
    const result = decodeWav(bytes);
    return result.ok ? { ...result, contentType: "audio/wav" } : { ...result, contentType: "audio/wav" };
  }
  if (mime === "audio/mpeg") return decodeMp3(bytes);
  return { ok: false, contentType: mime, reason: `${mime ?? "an unknown format"} is not WAV or MP3` };
}

async function decodeMp3(bytes: Uint8Array): Promise<DecodedSound> {
  const decoder = new MPEGDecoder();
  try {
    await decoder.ready;
    const parts: Float32Array[][] = [];
    let [rate, samples, faults] = [0, 0, 0];
    for (let at = 0; at < bytes.length; at += SLICE_BYTES) {
      const { channelData, sampleRate, samplesDecoded, errors } = decoder.decode(bytes.subarray(at, at + SLICE_BYTES));
      if (samplesDecoded > 0) parts.push(channelData);
      [rate, samples, faults] = [sampleRate || rate, samples + samplesDecoded, faults + errors.length];
      if (samples > MAX_SECONDS * rate) return badMp3(`it is longer than ${MAX_SECONDS / 60} minutes`);
    }
    const [first, ...rest] = (parts[0] ?? []).map((_, i) =>
      joined(parts.map((part) => part[i] ?? new Float32Array(0))),
    );
    if (samples === 0 || first === undefined) return badMp3("no frame of it can be decoded");
    if (faults * SAMPLES_PER_FRAME > samples * 0.1) return badMp3(`${faults} of its frames are damaged`);
    return { ok: true, contentType: "audio/mpeg", sound: { rate, channels: [first, ...rest] } };
  } catch (error) {
    return badMp3(error instanceof Error ? error.message : String(error));
  } finally {
    decoder.free();
  }
}

const badMp3 = (reason: string): DecodedSound => ({ ok: false, contentType: "audio/mpeg", reason });
