import { on } from "node:events";
import { createRequire } from "node:module";
import { Worker } from "node:worker_threads";
import type { H264Decoder } from "h264decoder";
import { BufferSource, Input, MP4 } from "mediabunny";
import { nalUnits } from "../probe/probe-file.ts";
import type { Size } from "../size.ts";
import { packetsOf } from "../sound/decode.ts";
import type { EncoderSettings } from "./encoder-thread.ts";

const KEY_PICTURE = 5;

export interface EncodedPictures {
  readonly config: VideoDecoderConfig;
  /** Encoded frames. Their bytes are NAL units, each with a four-byte length prefix. */
  readonly frames: readonly { readonly bytes: Uint8Array; readonly isKey: boolean }[];
}

export async function encodePictures(
  size: Size,
  fps: number,
  pictures: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
): Promise<EncodedPictures> {
  // A value of 20 is fine enough for smooth gradients. Very large frames can be coarser, because their steps are not
  // visible.
  const quantizationParameter = size.width * size.height > 2_500_000 ? 24 : 20;
  const workerData: EncoderSettings = { ...size, frameRate: fps, quantizationParameter, groupOfPictures: fps * 2 };
  const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
  const thread = new Worker(new URL(`./encoder-thread.${extension}`, import.meta.url), { workerData });
  const replies = on(thread, "message", { close: ["exit"] });
  const buffers = [0, 1].map(() => new Uint8Array(new SharedArrayBuffer((size.width * size.height * 3) / 2)));
  let sent = 0;
  let answered = 0;

  async function reply(): Promise<Uint8Array | null> {
    const { value, done } = await replies.next();
    if (done) throw new Error("the video encoder stopped unexpectedly");
    answered += 1;
    return value[0];
  }

  try {
    for await (const rgba of pictures) {
      // Waits for a free buffer. The wait also lets the event loop free the canvas's copies of earlier frames.
      while (sent - answered >= buffers.length) await reply();
      const buffer = buffers[sent % buffers.length]!;
      writeYuv(buffer, rgba, size);
      thread.postMessage(buffer);
      sent += 1;
    }
    thread.postMessage(null);
    let file = await reply();
    while (file === null) file = await reply();
    return await readPictures(file, size);
  } finally {
    void thread.terminate();
  }
}

async function readPictures(file: Uint8Array, size: Size): Promise<EncodedPictures> {
  using input = new Input({ source: new BufferSource(file), formats: [MP4] });
  const track = await input.getPrimaryVideoTrack();
  const found = await track?.getDecoderConfig();
  if (!track || !found) throw new Error("the video encoder produced no frames");
  const packets = await packetsOf(track);
  const frames = packets.map(({ data: bytes }) => {
    return { bytes, isKey: nalUnits(bytes).units.some((unit) => ((unit[0] ?? 0) & 31) === KEY_PICTURE) };
  });
  const colorSpace = { primaries: "smpte170m", transfer: "smpte170m", matrix: "smpte170m", fullRange: false } as const;
  return { frames, config: { ...found, codedWidth: size.width, codedHeight: size.height, colorSpace } };
}

const PICTURE_READY = 1;
const FAILED = new Set([3, 4, 5]);
const MAX_UNIT_BYTES = 1024 * 1024;
const START = Buffer.from([0, 0, 0, 1]);

/** Decodes a frame. Pass the frames in order. Returns null for a frame that cannot be decoded. */
export type PictureDecoder = (picture: Uint8Array) => Uint8ClampedArray | null;

/** Creates a decoder from an avcC record. Returns null if its profile is not baseline. */
export function openDecoder(description: Uint8Array, size: Size): PictureDecoder | null {
  if (description[1] !== 66) return null;
  const { H264Decoder: Decoder } = createRequire(import.meta.url)("h264decoder") as {
    H264Decoder: new () => H264Decoder;
  };
  const decoder = new Decoder();
  const feed = (unit: Uint8Array) => decoder.decode(Buffer.concat([START, unit]));
  for (const set of parameterSets(description)) feed(set);
  return (picture) => {
    let ready = false;
    for (const unit of nalUnits(picture).units) {
      if (unit.length + START.length > MAX_UNIT_BYTES) return null;
      const status = feed(unit);
      if (FAILED.has(status)) return null;
      ready ||= status === PICTURE_READY;
    }
    return ready ? toRgba(decoder.pic, decoder.width, decoder.height, size) : null;
  };
}

function parameterSets(description: Uint8Array): Uint8Array[] {
  const view = new DataView(description.buffer, description.byteOffset, description.byteLength);
  const sets: Uint8Array[] = [];
  let at = 5;
  for (const mask of [0x1f, 0xff]) {
    const count = view.getUint8(at++) & mask;
    for (let i = 0; i < count; i++) {
      const size = view.getUint16(at);
      sets.push(description.subarray(at + 2, at + 2 + size));
      at += 2 + size;
    }
  }
  return sets;
}

/** Converts RGBA to planar YUV 4:2:0 (BT.601, limited range). Width and height must be even. */
function writeYuv(yuv: Uint8Array, rgba: Uint8Array, { width, height }: Size): void {
  let uAt = width * height;
  let vAt = uAt + (uAt >> 2);
  for (let y = 0; y < height; y += 2) {
    for (let x = 0; x < width; x += 2) {
      let [red, green, blue] = [0, 0, 0];
      for (let i = 0; i < 4; i++) {
        const at = (y + (i >> 1)) * width + x + (i & 1);
        const r = rgba[at * 4]!;
        const g = rgba[at * 4 + 1]!;
        const b = rgba[at * 4 + 2]!;
        yuv[at] = 16 + ((66 * r + 129 * g + 25 * b + 128) >> 8);
        red += r;
        green += g;
        blue += b;
      }
      yuv[uAt++] = 128 + ((112 * blue - 74 * green - 38 * red + 512) >> 10);
      yuv[vAt++] = 128 + ((112 * red - 94 * green - 18 * blue + 512) >> 10);
    }
  }
}

/** Converts planar YUV 4:2:0 (BT.601, limited range) to RGBA. Rows are padded to `stride`. */
function toRgba(yuv: Uint8Array, stride: number, rows: number, { width, height }: Size): Uint8ClampedArray {
  const rgba = new Uint8ClampedArray(width * height * 4);
  const uBase = stride * rows;
  const vBase = uBase + (uBase >> 2);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const luma = 1.16438 * ((yuv[y * stride + x] ?? 16) - 16);
      const chroma = (y >> 1) * (stride >> 1) + (x >> 1);
      const u = (yuv[uBase + chroma] ?? 128) - 128;
      const v = (yuv[vBase + chroma] ?? 128) - 128;
      const at = (y * width + x) * 4;
      rgba[at] = luma + 1.59603 * v;
      rgba[at + 1] = luma - 0.39176 * u - 0.81297 * v;
      rgba[at + 2] = luma + 2.01723 * u;
      rgba[at + 3] = 255;
    }
  }
  return rgba;
}
