import { HOUR_MS } from "../../core/kit/duration.ts";
import { greyMp4, plainWav, pngChunk } from "../../core/kit/placeholder-media.ts";

export interface Placeholder {
  readonly contentType: string;
  readonly width: number | null;
  readonly height: number | null;
  readonly durationMs: number | null;
  /** Hex digits that are embedded so that the bytes of two placeholders differ. */
  readonly mark: string;
}

const DEFAULT_PX = 64;
const DEFAULT_MS = 1_000;
const MOST_PX = 4_096;
const MOST_SOUND_MS = 600_000;

export async function writePlaceholder(placeholder: Placeholder): Promise<Uint8Array> {
  const { contentType, durationMs, mark } = placeholder;
  const lengthMs = Math.max(durationMs ?? DEFAULT_MS, 40);
  if (contentType.startsWith("audio/")) {
    const amplitude = 1_000 + (Number.parseInt(mark.slice(0, 3), 16) || 0);
    return plainWav(Math.min(lengthMs, MOST_SOUND_MS), amplitude);
  }
  const [width, height] = [side(placeholder.width), side(placeholder.height)];
  if (contentType.startsWith("video/"))
    return withMark(greyMp4(Math.min(lengthMs, HOUR_MS), { width, height }, 1), "video/mp4", mark);
  const { createCanvas } = await import("@napi-rs/canvas");
  const canvas = createCanvas(width, height);
  const context = canvas.getContext("2d");
  context.fillStyle = `#${mark.slice(0, 6)}`;
  context.fillRect(0, 0, width, height);
  if (contentType === "image/jpeg") return canvas.encode("jpeg", 60);
  return contentType === "image/webp" ? canvas.encode("webp", 60) : canvas.encode("png");
}

const side = (px: number | null) => Math.min(Math.max(Math.round(px ?? DEFAULT_PX), 2), MOST_PX);

export function withMark(bytes: Uint8Array, contentType: string | null, mark: string): Uint8Array {
  const text = Buffer.from(mark, "latin1");
  const size = Buffer.alloc(4);
  switch (contentType) {
    case "image/png": {
      const chunk = pngChunk("tEXt", Buffer.concat([Buffer.from("Comment\0"), text]));
      const end = bytes.length - 12;
      return Buffer.concat([bytes.subarray(0, end), chunk, bytes.subarray(end)]);
    }
    case "video/mp4":
      size.writeUInt32BE(text.length + 8);
      return Buffer.concat([bytes, size, Buffer.from("free"), text]);
    default: {
      // Appends a chunk to the RIFF file, and updates the size in the file's header.
      size.writeUInt32LE(text.length);
      const marked = Buffer.concat([bytes, Buffer.from("mark"), size, text]);
      marked.writeUInt32LE(marked.length - 8, 4);
      return marked;
    }
  }
}
