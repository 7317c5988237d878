import { createCanvas } from "@napi-rs/canvas";
import { HOUR_MS } from "../../core/kit/duration.ts";
import { plainWav } from "../../core/kit/placeholder-media.ts";
import { createFrameEncoder } from "./video/h264.ts";
import { muxMovie } from "./video/mux.ts";

/** What an output is like whose bytes are not there. */
export interface Placeholder {
  readonly contentType: string;
  readonly width: number | null;
  readonly height: number | null;
  readonly durationMs: number | null;
  /** Hex digits; different ones give different bytes. */
  readonly mark: string;
}

const DEFAULT_PX = 64;
const DEFAULT_MS = 1_000;
const MOST_PX = 4_096;
const MOST_FILM_MS = HOUR_MS;
const MOST_SOUND_MS = 600_000;
/** Drawn for one film: a recording may name any size and length. */
const MOST_PIXELS = 2 ** 26;

/** Small media of that kind, size and length in one colour: PNG, JPEG or WebP, H.264 in MP4, or PCM in WAV. */
export async function writePlaceholder(placeholder: Placeholder): Promise<Uint8Array> {
  const { contentType, durationMs, mark } = placeholder;
  if (contentType.startsWith("audio/")) {
    const amplitude = 1_000 + (Number.parseInt(mark.slice(0, 3), 16) || 0);
    return plainWav(Math.min(durationMs ?? DEFAULT_MS, MOST_SOUND_MS), amplitude);
  }
  if (contentType.startsWith("video/")) return film(placeholder);
  const canvas = painted(side(placeholder.width), side(placeholder.height), mark);
  if (contentType === "image/jpeg") return canvas.encode("jpeg", 60);
  return contentType === "image/webp" ? canvas.encode("webp", 60) : canvas.encode("png");
}

async function film({ width, height, durationMs, mark }: Placeholder): Promise<Uint8Array> {
  // H.264 has pairs of lines.
  const size = { width: even(side(width)), height: even(side(height)) };
  const seconds = Math.min(durationMs ?? DEFAULT_MS, MOST_FILM_MS) / 1_000;
  const most = Math.max(1, Math.floor(MOST_PIXELS / (size.width * size.height)));
  const frames = Math.min(Math.max(1, Math.ceil(seconds)), most);
  const picture = painted(size.width, size.height, mark).data();
  const encoder = createFrameEncoder(size, 1);
  try {
    for (let frame = 0; frame < frames; frame++) await encoder.add(picture);
    // The last picture is shown until the end.
    return await muxMovie({ fps: 1, durationSeconds: Math.max(seconds, 0.04), pictures: encoder.finish, sound: null });
  } finally {
    encoder.dispose();
  }
}

function painted(width: number, height: number, mark: string) {
  const canvas = createCanvas(width, height);
  const context = canvas.getContext("2d");
  context.fillStyle = `#${mark.slice(0, 6)}`;
  context.fillRect(0, 0, width, height);
  return canvas;
}

const side = (px: number | null) => Math.min(Math.max(Math.round(px ?? DEFAULT_PX), 2), MOST_PX);
const even = (px: number) => px + (px % 2);
