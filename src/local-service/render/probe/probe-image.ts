import { loadImage } from "@napi-rs/canvas";
import type { ProbeResult } from "../contract.ts";
import { announcedSize, cutShort } from "./image-header.ts";

/** An image may be at most this many pixels a side, and a quarter of its square in all, before it is decoded. */
const MAX_SIDE = 16_384;
const MAX_PIXELS = 64_000_000;

export const IMAGE_TYPES: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/webp", "image/gif"]);

/** Decodes the image after its announced size was found bearable. */
export async function probeImage(bytes: Uint8Array, contentType: string): Promise<ProbeResult> {
  const size = announcedSize(bytes, contentType);
  if (size === null || size.width === 0 || size.height === 0) return no("its header announces no size");
  if (Math.max(size.width, size.height) > MAX_SIDE || size.width * size.height > MAX_PIXELS) {
    return no(`${size.width} × ${size.height} is too large (at most ${MAX_SIDE} a side and ${MAX_PIXELS} pixels)`);
  }
  const fault = cutShort(bytes, contentType, size);
  if (fault !== null) return no(fault);
  try {
    const { width, height } = await loadImage(Buffer.from(bytes));
    if (width === 0 || height === 0) return no("it decodes to nothing");
    return { ok: true, kind: "image", contentType, width, height, durationMs: null, fps: null };
  } catch (error) {
    return no(error instanceof Error ? error.message : String(error));
  }
}

const no = (reason: string): ProbeResult => ({ ok: false, reason: `this image cannot be decoded: ${reason}` });
