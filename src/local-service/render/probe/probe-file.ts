import { readFile } from "node:fs/promises";
import type { ProbeResult } from "../contract.ts";
import { locateSamples, type WavLayout } from "../sound/wav.ts";
import { type Format, sniff, type WindowedFile, withFile } from "./formats.ts";
import { announcedSize } from "./image-header.ts";

const MAX_BYTES = 512 * 1024 * 1024;
/** Size limit of an image, which is decoded from memory. The catalog's models accept far smaller ones. */
const MAX_IMAGE_BYTES = 64 * 1024 * 1024;
const HEAD_BYTES = 4096;
/** Bytes to read for an image's size, which follows colour profiles and other metadata. */
const IMAGE_HEAD_BYTES = 65_536;

/**
 * Probes the bytes, never the name, in bounded memory. Run it in a worker thread: it decodes. Each decoder is loaded on
 * first use, since one alone weighs more than most files.
 */
export async function probeFile(path: string): Promise<ProbeResult> {
  return withFile(path, async (file) => {
    if (file.size === 0) return { ok: false, reason: "the file is empty" };
    const format = await sniff(await head(file, HEAD_BYTES));
    if ("reason" in format) return { ok: false, reason: format.reason };
    const result = await readWhole(file, format);
    return result.ok ? result : { ...result, announced: await announced(file, format) };
  });
}

/** What a file's first bytes declare, without decoding. Null when the format is not accepted. */
export async function probeHead(path: string) {
  return withFile(path, async (file) => {
    const format = await sniff(await head(file, HEAD_BYTES));
    return "reason" in format ? null : announced(file, format);
  });
}

async function announced(file: WindowedFile, { kind, contentType }: Format) {
  const size = kind === "image" ? announcedSize(await head(file, IMAGE_HEAD_BYTES), contentType) : null;
  return { kind, contentType, width: size?.width ?? null, height: size?.height ?? null, durationMs: null };
}

async function readWhole(file: WindowedFile, format: Format): Promise<ProbeResult> {
  if (file.size > MAX_BYTES) return { ok: false, reason: `the file is larger than ${MAX_BYTES} bytes` };
  switch (format.reader) {
    case "image":
      return readImage(file, format.contentType);
    case "iso":
    case "webm":
      return (await import("./probe-movie.ts")).probeMovie(file, format);
    default:
      return probeSound(file, format);
  }
}

async function readImage(file: WindowedFile, type: string): Promise<ProbeResult> {
  if (file.size > MAX_IMAGE_BYTES) return { ok: false, reason: `an image may have at most ${MAX_IMAGE_BYTES} bytes` };
  const { headerFault, probeImage } = await import("./probe-image.ts");
  const reason = headerFault(await head(file, IMAGE_HEAD_BYTES), type);
  return reason === null ? probeImage(await readFile(file.path), type) : { ok: false, reason };
}

async function head(file: WindowedFile, size: number): Promise<Uint8Array> {
  const view = await file.read({ at: 0, size });
  return new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
}

/** Measures a WAV by its headers and size, since any sample bytes are valid; decodes other formats slice by slice. */
async function probeSound(file: WindowedFile, { reader, contentType }: Format): Promise<ProbeResult> {
  switch (reader) {
    case "wav": {
      const layout = await layoutOf(file);
      return layout.ok ? soundOf(contentType, layout.length, layout.format.rate) : no(layout.reason);
    }
    case "mp3":
    case "flac":
    case "ogg": {
      const { readSound } = await import("../sound/decode.ts");
      const unpacked = await readSound(file, reader, () => undefined);
      return unpacked.ok ? soundOf(contentType, unpacked.samples, unpacked.rate) : no(unpacked.reason);
    }
    default:
      return no(`${contentType} is no file of sound`);
  }
}

async function layoutOf(file: WindowedFile): Promise<WavLayout> {
  const walk = locateSamples(file.size);
  let step = walk.next();
  while (!step.done) step = walk.next(await file.read(step.value));
  return step.value;
}

function soundOf(contentType: string, samples: number, rate: number): ProbeResult {
  const durationMs = Math.round((samples / rate) * 1000);
  return { ok: true, kind: "audio", contentType, width: null, height: null, durationMs, fps: null };
}

const no = (reason: string): ProbeResult => ({ ok: false, reason: `this sound cannot be decoded: ${reason}` });
