import { createCanvas } from "@napi-rs/canvas";
import { EncodedPacketSink, type InputVideoTrack } from "mediabunny";
import { inputError, type MediaFile, type RenderRequest } from "../contract.ts";
import { readBrief } from "../draw/brief.ts";
import { coverOf } from "../draw/brush.ts";
import { withoutCaption } from "../draw/image.ts";
import { frameRateOf } from "../probe/probe-file.ts";
import { loadPicture } from "../probe/probe-image.ts";
import { hashOf } from "../random.ts";
import { customShotsMs, DEFAULT_MS, type Size, storyboardOf, videoSize } from "../size.ts";
import { loadSound, openInput } from "../sound/decode.ts";
import { composeMusic } from "../sound/music.ts";
import { encodePictures, openDecoder } from "./h264.ts";
import { muxMovie, readCodedSound } from "./mux.ts";
import { createShot } from "./shot.ts";

const FPS = 24;
const MAX_MS = 60_000;

export async function renderVideo(request: RenderRequest): Promise<Uint8Array> {
  const { input, media } = request;
  const source = media.source_video?.[0] ?? media.videos?.[0];
  if (source) return enlargeVideo(request, source);
  const size = videoSize(input, media.start_image?.[0] ?? media.images?.[0]);
  const durationMs = durationOf(input);
  const seed = hashOf(request.seed, request.index);
  const total = Math.max(1, Math.ceil((durationMs * FPS) / 1000 - 1e-6));
  const pictures = await encodePictures(size, FPS, framesOf(request, size, total, seed));
  const words = storyboardOf(input, 1000)
    .map((scene) => scene.prompt)
    .join(". ");
  const sound = input.generate_audio === false ? null : composeMusic(words, seed, durationMs / 1000);
  return muxMovie({ fps: FPS, durationSeconds: durationMs / 1000, pictures, sound });
}

async function* framesOf(request: RenderRequest, size: Size, total: number, seed: number): AsyncGenerator<Uint8Array> {
  const { input, media } = request;
  const scenes = storyboardOf(input, total);
  const start = await stillOf(request, ["start_image", "images"], size);
  const isCaptioned = (media.start_image?.[0] ?? media.images?.[0])?.isCaptioned === true;
  const bare = start !== null && isCaptioned ? withoutCaption(start) : null;
  const end = media.end_image?.[0] ? await stillOf(request, ["end_image"], size) : null;
  const context = createCanvas(size.width, size.height).getContext("2d");
  for (const [i, scene] of scenes.entries()) {
    const isLast = i === scenes.length - 1;
    const brief = readBrief(scene.prompt, request.seed, request.index);
    const seconds = scene.frames / FPS;
    const opening = i === 0 ? { start, bare } : { start: null, bare: null };
    const shot = createShot({ size, brief, seed, seconds, ...opening, end: isLast ? end : null });
    for (let frame = 0; frame < scene.frames; frame++) {
      shot(context, scene.frames === 1 ? 1 : frame / (scene.frames - 1));
      yield context.canvas.data();
    }
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
    throw inputError(shotsMs === null ? "duration_ms" : "multi_prompt", `must be between 1 and ${MAX_MS} ms`);
  return requested;
}

const MAX_LONG_SIDE = 3840;
const FIELD = "source_video";

/** Enlarges a video, and keeps its sound, timing and frame rate. If the codec is not supported, all frames are gray. */
async function enlargeVideo({ input: { scale } }: RenderRequest, file: MediaFile): Promise<Uint8Array> {
  using input = openInput(file.path);
  const track = await input.getPrimaryVideoTrack();
  if (!track) throw inputError(FIELD, "the video has no frames");
  const fps = await frameRateOf(track);
  const to = enlarged(track, typeof scale === "number" ? scale : 2);
  const paint = await painterOf(track, to);
  async function* pictures() {
    let count = 0;
    for await (const { data } of new EncodedPacketSink(track!).packets()) {
      const rgba = paint(data);
      count += 1;
      if (rgba === null) throw inputError(FIELD, `frame ${count} of the video cannot be decoded`);
      yield rgba;
    }
  }
  const encoded = await encodePictures(to, fps, pictures());
  const durationSeconds = Math.max(await track.computeDuration(), encoded.frames.length / fps);
  const hasSound = (await input.getPrimaryAudioTrack()) !== null;
  const sound = hasSound ? ((await readCodedSound(file.path)) ?? (await loadSound(file, FIELD))) : null;
  return muxMovie({ fps, durationSeconds, pictures: encoded, sound });
}

function enlarged({ codedWidth, codedHeight }: InputVideoTrack, scale: number): Size {
  const factor = Math.min(scale, MAX_LONG_SIDE / Math.max(codedWidth, codedHeight));
  const even = (side: number) => Math.max(2, Math.round((side * factor) / 2) * 2);
  return { width: even(codedWidth), height: even(codedHeight) };
}

/** Returns a function that decodes and enlarges a frame. That function returns null if the frame is damaged. */
async function painterOf(track: InputVideoTrack, to: Size): Promise<(picture: Uint8Array) => Uint8Array | null> {
  const { codedWidth: width, codedHeight: height, codec } = track;
  const description = (await track.getDecoderConfig())?.description;
  const isKnown = codec === "avc" && description instanceof Uint8Array;
  const decode = isKnown ? openDecoder(description, { width, height }) : null;
  if (decode === null) {
    const grey = new Uint8Array(to.width * to.height * 4).fill(128);
    return () => grey;
  }
  const small = createCanvas(width, height).getContext("2d");
  const large = createCanvas(to.width, to.height).getContext("2d");
  const image = small.createImageData(width, height);
  large.imageSmoothingQuality = "high";
  return (bytes) => {
    const picture = decode(bytes);
    if (picture === null) return null;
    image.data.set(picture);
    small.putImageData(image, 0, 0);
    large.drawImage(small.canvas, 0, 0, to.width, to.height);
    return large.canvas.data();
  };
}
