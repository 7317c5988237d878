import { workerData } from "node:worker_threads";
import { type Image, loadImage } from "@napi-rs/canvas";
import type { ProbeResult } from "../contract.ts";
import { type DecodeGate, passGate } from "../decode-gate.ts";
import type { Size } from "../size.ts";
import { announcedSize, cutShort } from "./image-header.ts";

/** Decodes an image; in a pool thread, only while the thread is not closing. */
export function decodeImage(bytes: Uint8Array): Promise<Image> {
  const gate = workerData as DecodeGate | null;
  return gate === null ? loadImage(bytes) : passGate(gate, () => loadImage(bytes));
}

/** Limits before decoding, in pixels per side and in total. */
const MAX_SIDE = 16_384;
const MAX_PIXELS = 64_000_000;

/** Why the declared size exceeds the limits; null when it does not. */
export function headerFault(head: Uint8Array, contentType: string): string | null {
  const size = announcedSize(head, contentType);
  if (size === null) return null;
  const fault = sizeFault(size);
  return fault === null ? null : why(fault);
}

/** Decodes the image after its declared size was accepted. */
export async function probeImage(bytes: Uint8Array, contentType: string): Promise<ProbeResult> {
  const size = announcedSize(bytes, contentType);
  if (size === null) return no("its header announces no size");
  const tooMuch = sizeFault(size);
  if (tooMuch !== null) return no(tooMuch);
  const fault = cutShort(bytes, contentType, size);
  if (fault !== null) return no(fault);
  try {
    const { width, height } = await decodeImage(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
    if (width === 0 || height === 0) return no("it decodes to nothing");
    return { ok: true, kind: "image", contentType, width, height, durationMs: null, fps: null };
  } catch (error) {
    return no(error instanceof Error ? error.message : String(error));
  }
}

function sizeFault({ width, height }: Size): string | null {
  if (width === 0 || height === 0) return "its header announces no size";
  if (Math.max(width, height) <= MAX_SIDE && width * height <= MAX_PIXELS) return null;
  return `${width} × ${height} is too large (at most ${MAX_SIDE} a side and ${MAX_PIXELS} pixels)`;
}

const why = (fault: string) => `this image cannot be decoded: ${fault}`;
const no = (fault: string): ProbeResult => ({ ok: false, reason: why(fault) });
