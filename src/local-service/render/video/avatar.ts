import { createCanvas, type Image } from "@napi-rs/canvas";
import { inputError, type RenderRequest } from "../contract.ts";
import { type Color, type Context, coverOf, darker, oval, type Rgb, rgb, slab } from "../draw/brush.ts";
import { type FaceGeometry, faceGeometry } from "../draw/figures.ts";
import { loadPicture } from "../probe/probe-image.ts";
import { type Size, videoSize } from "../size.ts";
import { loadSound } from "../sound/decode.ts";
import { durationMsOf, joinSounds, type Sound, toMono } from "../sound/sound.ts";
import { encodePictures } from "./h264.ts";
import { type CodedSound, muxMovie, readCodedSound } from "./mux.ts";
import { drawLayer, mirroredLayer } from "./shot.ts";

/** Returns a loudness from 0 to 1 for each frame. The values rise fast and fall slowly. */
export function loudnessPerFrame(sound: Sound, fps: number, frames: number): Float32Array {
  const mono = toMono(sound);
  const levels = new Float32Array(frames);
  for (let frame = 0; frame < frames; frame++) {
    const start = Math.floor((frame * sound.rate) / fps);
    const end = Math.min(mono.length, Math.floor(((frame + 1) * sound.rate) / fps));
    let energy = 0;
    for (let i = start; i < end; i++) energy += (mono[i] ?? 0) ** 2;
    levels[frame] = Math.sqrt(energy / Math.max(1, end - start));
  }
  return smoothed(levels);
}

/** Estimates loudness from the size of the encoded packets, which are smaller for quiet sound. */
export function effortPerFrame(sound: CodedSound, fps: number, frames: number): Float32Array {
  const sizes = sound.packets.map((packet) => packet.byteLength);
  const least = Math.min(...sizes);
  const levels = new Float32Array(frames);
  for (const { byteLength, timestamp } of sound.packets) {
    const frame = Math.floor(timestamp * fps);
    if (frame >= 0 && frame < frames) levels[frame] = Math.max(levels[frame] ?? 0, byteLength - least);
  }
  return smoothed(levels.map((level) => level / 1000));
}

function smoothed(levels: Float32Array): Float32Array {
  const loud = [...levels].sort((a, b) => a - b)[Math.floor(levels.length * 0.92)] || 1;
  let held = 0;
  return levels.map((level) => {
    const target = level < 0.002 ? 0 : Math.min(1, level / loud);
    held += (target - held) * (target > held ? 0.85 : 0.5);
    return held < 0.03 ? 0 : held;
  });
}

const FPS = 24;
const MAX_MS = 300_000;

/** Renders a video of a talking face. It is as long as the sound, unless `duration_ms` is set. */
export async function renderAvatar(request: RenderRequest): Promise<Uint8Array> {
  const { input, media } = request;
  const field = media.start_image?.[0] ? "start_image" : "images";
  const file = media[field]?.[0];
  if (file === undefined) throw inputError("start_image", "an avatar requires an image of a face");
  const sound = await soundOf(request);
  const durationMs =
    typeof input.duration_ms === "number" && input.duration_ms > 0
      ? input.duration_ms
      : Math.round("packets" in sound ? sound.durationMs : durationMsOf(sound));
  if (durationMs > MAX_MS) throw inputError("audio", `is longer than ${MAX_MS / 1000} seconds`);
  const size = videoSize(input, file);
  const talk = createTalker(await loadPicture(file, field), size, String(input.prompt ?? ""), durationMs / 1000);
  const frames = Math.max(1, Math.ceil((durationMs * FPS) / 1000 - 1e-6));
  const loudness = "packets" in sound ? effortPerFrame(sound, FPS, frames) : loudnessPerFrame(sound, FPS, frames);
  const context = createCanvas(size.width, size.height).getContext("2d");
  function* pictures() {
    for (let frame = 0; frame < frames; frame++) {
      talk(context, frame / FPS, loudness[frame] ?? 0);
      yield context.canvas.data();
    }
  }
  const encoded = await encodePictures(size, FPS, pictures());
  return muxMovie({ fps: FPS, durationSeconds: durationMs / 1000, pictures: encoded, sound });
}

async function soundOf({ media }: RenderRequest): Promise<Sound | CodedSound> {
  const files = ["audio", "audios"].flatMap((field) => (media[field] ?? []).map((file) => ({ field, file })));
  const [only] = files;
  if (only && files.length === 1 && /\/(mp4|x-m4a|quicktime)$/.test(only.file.contentType)) {
    const coded = await readCodedSound(only.file.path).catch(() => null);
    if (coded !== null) return coded;
  }
  const sounds: Sound[] = [];
  for (const { field, file } of files) sounds.push(await loadSound(file, field));
  const [first, ...rest] = sounds;
  if (first === undefined) throw inputError("audio", "an avatar requires audio");
  return joinSounds(first, rest);
}

interface Face extends Pick<FaceGeometry, "mouth" | "eyes"> {
  readonly lips: Color;
  readonly skin: Color;
}

const distance = (a: Rgb, b: Rgb) => Math.abs(a[0] - b[0]) + Math.abs(a[1] - b[1]) + Math.abs(a[2] - b[2]);
const redness = ([red, green, blue]: Rgb) => red - (green + blue) / 2;

/** Finds the face in an image. Returns null for images that this service did not draw. */
function findFace(picture: Image, frame: Size): Face | null {
  const whole = createCanvas(picture.width, picture.height).getContext("2d");
  whole.drawImage(picture, 0, 0);
  const at = (x: number, y: number): Rgb => {
    const [red = 0, green = 0, blue = 0] = whole.getImageData(Math.round(x), Math.round(y), 1, 1).data;
    return [red, green, blue];
  };
  const { x, y, radius: r, mouth, eyes } = faceGeometry(picture);
  const lips = at(mouth.x, mouth.y + mouth.halfWidth * 0.3);
  const skin = at(x - r * 0.12, y + r * 0.1);
  const forehead = at(x, y - r * 0.5);
  const white = at(x - eyes.apart - r * 0.135, eyes.y);
  const isOurs = distance(skin, forehead) < 24 && Math.min(...white) > 195 && redness(lips) > redness(skin) + 8;
  if (!isOurs) return null;
  const scale = Math.max(frame.width / picture.width, frame.height / picture.height);
  const inFrame = (height: number) => frame.height / 2 + (height - picture.height / 2) * scale;
  return {
    mouth: { x: frame.width / 2, y: inFrame(mouth.y), halfWidth: mouth.halfWidth * scale },
    eyes: { y: inFrame(eyes.y), apart: eyes.apart * scale, radius: eyes.radius * scale },
    lips: rgb(...lips),
    skin: rgb(...skin),
  };
}

type Talker = (context: Context, seconds: number, loudness: number) => void;

/** Animates the face in an image. If no face is found, animates a level meter instead. */
function createTalker(picture: Image, size: Size, prompt: string, durationSeconds: number): Talker {
  const face = findFace(picture, size);
  const base = mirroredLayer(coverOf(picture, size));
  const over = createCanvas(size.width, size.height).getContext("2d");
  const stage = { canvas: over.canvas, left: 0, top: 0, size };
  const nods = /\bnods?\b/i.test(prompt) && durationSeconds > 2;
  return (context, seconds, loudness) => {
    const view = {
      scale: 1 + 0.012 * (1 - Math.cos(seconds * 0.7)) + 0.004 * loudness,
      x: 0.004 * Math.sin(seconds * 1.1),
      y: 0.003 * Math.sin(seconds * 1.7) - (nods ? nod(seconds - durationSeconds + 1.3) : 0),
    };
    over.clearRect(0, 0, size.width, size.height);
    if (face === null) drawLevel(over, size, loudness, seconds);
    else {
      if (loudness > 0.04) drawOpenMouth(over, face, loudness);
      if (isBlinking(seconds)) drawLids(over, face);
    }
    drawLayer(context, base, view);
    // Uses the same camera view as the face, so that the mouth stays in place.
    drawLayer(context, stage, view);
  };
}

const nod = (seconds: number) => (seconds > 0 && seconds < 0.9 ? 0.012 * Math.sin((seconds / 0.9) * Math.PI) ** 2 : 0);

function drawOpenMouth(context: Context, { mouth: { x, y, halfWidth: w }, lips, skin }: Face, loudness: number): void {
  const open = w * (0.08 + 0.4 * loudness);
  const wide = w * (0.94 - 0.14 * loudness);
  const middle = y + w * 0.12 + open * 0.2;
  oval(context, x, y - w * 0.02, w * 1.28, w * 0.58, skin);
  oval(context, x, middle, wide, open + w * 0.17, lips);
  context.save();
  oval(context, x, middle, wide * 0.84, open, "#3b0f16");
  context.clip();
  oval(context, x, middle + open * 0.95, wide * 0.55, open * 0.6, "#c4515c");
  const teeth = w * 0.05 + Math.min(w * 0.24, open * 0.55);
  slab(context, x - wide * 0.6, middle - open - w * 0.05, wide * 1.2, teeth, w * 0.08, "#fbf7f0");
  context.restore();
}

const isBlinking = (seconds: number) => seconds > 0.5 && (seconds + 0.6) % 3.1 < 0.14;

function drawLids(context: Context, { mouth: { x }, eyes: { y, apart, radius }, skin }: Face): void {
  context.lineCap = "round";
  for (const side of [-1, 1]) {
    oval(context, x + side * apart, y, radius * 1.5, radius * 1.08, skin);
    context.strokeStyle = darker(skin, 0.5);
    context.lineWidth = radius * 0.3;
    context.beginPath();
    context.ellipse(x + side * apart, y, radius * 1.35, radius * 0.7, 0, 0.15 * Math.PI, 0.85 * Math.PI);
    context.stroke();
  }
}

const BARS = 21;

function drawLevel(context: Context, { width, height }: Size, loudness: number, seconds: number): void {
  const unit = Math.min(width, height);
  const step = unit * 0.024;
  // The meter is invisible on the first frame, which must be the unchanged image.
  context.globalAlpha = Math.min(1, seconds * 4);
  context.shadowColor = "rgba(0, 0, 0, 0.45)";
  context.shadowBlur = unit * 0.02;
  for (let i = 0; i < BARS; i++) {
    const aside = i - (BARS - 1) / 2;
    const sway = 0.6 + 0.4 * Math.sin(seconds * 9 + i * 1.7);
    const tall = unit * (0.008 + 0.16 * loudness * sway * Math.cos((aside / BARS) * Math.PI));
    const [left, top] = [width / 2 + (aside - 0.28) * step, height * 0.84 - tall / 2];
    slab(context, left, top, step * 0.56, tall, step * 0.28, "rgba(255, 255, 255, 0.9)");
  }
  context.shadowBlur = 0;
  context.globalAlpha = 1;
}
