import { createCanvas } from "@napi-rs/canvas";
import { inputError, type RenderRequest } from "../contract.ts";
import { readBrief } from "../draw/brief.ts";
import { coverOf } from "../draw/brush.ts";
import { loadPicture } from "../probe/probe-image.ts";
import { hashOf } from "../random.ts";
import { customShotsMs, type Size, storyboardOf, videoSize } from "../size.ts";
import { composeMusic } from "../sound/music.ts";
import { enlargeVideo } from "./enlarge.ts";
import { createFrameEncoder } from "./h264.ts";
import { muxMovie } from "./mux.ts";
import { createShot } from "./shot.ts";

const FPS = 24;
const DEFAULT_MS = 5000;
const MAX_MS = 60_000;

/** A video that begins on the start frame, ends on the end frame, and lasts `duration_ms` or, with shots of set lengths, their sum. */
export async function renderVideo(request: RenderRequest, onProgress: (fraction: number) => void): Promise<Uint8Array> {
  const { input, media } = request;
  const source = media.source_video?.[0] ?? media.videos?.[0];
  if (source) return enlargeVideo(request, source, onProgress);
  const size = videoSize(input, media.start_image?.[0] ?? media.images?.[0]);
  const durationMs = durationOf(input);
  const seed = hashOf(request.seed, request.index);
  const pictures = () => encodeFrames(request, size, durationMs, seed, onProgress);
  const words = storyboardOf(input, 1000)
    .map((scene) => scene.prompt)
    .join(". ");
  const sound = input.generate_audio === false ? null : composeMusic(words, seed, durationMs / 1000);
  return muxMovie({ fps: FPS, durationSeconds: durationMs / 1000, pictures, sound });
}

async function encodeFrames(
  request: RenderRequest,
  size: Size,
  durationMs: number,
  seed: number,
  onProgress: (fraction: number) => void,
) {
  const { input, media } = request;
  const total = Math.max(1, Math.ceil((durationMs * FPS) / 1000 - 1e-6));
  const scenes = storyboardOf(input, total);
  const start = await stillOf(request, ["start_image", "images"], size);
  const end = media.end_image?.[0] ? await stillOf(request, ["end_image"], size) : null;
  const encoder = createFrameEncoder(size, FPS);
  const context = createCanvas(size.width, size.height).getContext("2d");
  try {
    let done = 0;
    for (const [i, scene] of scenes.entries()) {
      const isLast = i === scenes.length - 1;
      const brief = readBrief(scene.prompt, request.seed, request.index);
      const seconds = scene.frames / FPS;
      const shot = createShot({ size, brief, seed, seconds, start: i === 0 ? start : null, end: isLast ? end : null });
      for (let frame = 0; frame < scene.frames; frame++) {
        shot(context, scene.frames === 1 ? 1 : frame / (scene.frames - 1));
        await encoder.add(context.canvas.data());
        done++;
        if (done % 6 === 0) onProgress((done / total) * 0.95);
      }
    }
    return await encoder.finish();
  } finally {
    encoder.dispose();
  }
}

async function stillOf({ media }: RenderRequest, fields: readonly string[], size: Size) {
  for (const field of fields) {
    const file = media[field]?.[0];
    if (file) return coverOf(await loadPicture(file, field), size);
  }
  return null;
}

function durationOf(input: Readonly<Record<string, unknown>>): number {
  const shotsMs = customShotsMs(input);
  const requested = shotsMs ?? input.duration_ms;
  if (requested === undefined || requested === null) return DEFAULT_MS;
  if (typeof requested !== "number" || !(requested > 0) || requested > MAX_MS)
    throw inputError(shotsMs === null ? "duration_ms" : "multi_prompt", `must be between 1 and ${MAX_MS}`);
  return requested;
}
