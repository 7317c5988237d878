import { on } from "node:events";
import { Worker } from "node:worker_threads";
import { BufferSource, EncodedPacketSink, Input, MP4 } from "mediabunny";
import type { Size } from "../size.ts";
import type { EncoderSettings } from "./encoder-thread.ts";

/**
 * Turns RGBA into planar YUV 4:2:0, BT.709 with limited range, as players expect of HD video. Chroma is the mean of four
 * pixels. Integer arithmetic in one pass, a pixel a load (little-endian); `width` and `height` are even.
 */
export function rgbaToYuv(rgba: Uint8Array | Uint8ClampedArray, width: number, height: number, yuv: Uint8Array): void {
  const pixels = new Uint32Array(rgba.buffer, rgba.byteOffset, width * height);
  let u = width * height;
  let v = u + (u >> 2);
  for (let row = 0; row < height; row += 2) {
    let top = row * width;
    let bottom = top + width;
    for (const end = bottom; top < end; top += 2, bottom += 2) {
      const a = pixels[top] as number;
      const b = pixels[top + 1] as number;
      const c = pixels[bottom] as number;
      const d = pixels[bottom + 1] as number;
      yuv[top] = luma(a);
      yuv[top + 1] = luma(b);
      yuv[bottom] = luma(c);
      yuv[bottom + 1] = luma(d);
      const redAndBlue = (a & 0xff00ff) + (b & 0xff00ff) + (c & 0xff00ff) + (d & 0xff00ff);
      const red = redAndBlue & 0xffff;
      const green = ((a >> 8) & 255) + ((b >> 8) & 255) + ((c >> 8) & 255) + ((d >> 8) & 255);
      const blue = redAndBlue >>> 16;
      yuv[u++] = (-6596 * red - 22189 * green + 28784 * blue + 33685504) >> 18;
      yuv[v++] = (28784 * red - 26145 * green - 2639 * blue + 33685504) >> 18;
    }
  }
}

const luma = (pixel: number) =>
  (11966 * (pixel & 255) + 40254 * ((pixel >> 8) & 255) + 4064 * ((pixel >> 16) & 255) + 1081344) >> 16;

/** The inverse, for inspecting a decoded frame; `stride` is the luma row length, which may exceed `width`. */
export function yuvToRgba(
  yuv: Uint8Array,
  stride: number,
  rows: number,
  width: number,
  height: number,
): Uint8ClampedArray {
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
      rgba[at] = luma + 1.79274 * v;
      rgba[at + 1] = luma - 0.21325 * u - 0.53291 * v;
      rgba[at + 2] = luma + 2.1124 * u;
      rgba[at + 3] = 255;
    }
  }
  return rgba;
}

const CODED_KEY_PICTURE = 5;

/** One coded picture: NAL units, each with a four-byte length prefix. */
export interface EncodedFrame {
  readonly bytes: Uint8Array;
  readonly isKey: boolean;
}

/** Coded pictures in display order with what a decoder must know first. */
export interface EncodedPictures {
  readonly config: VideoDecoderConfig;
  readonly frames: readonly EncodedFrame[];
}

/** Takes RGBA pictures one after the other. */
export interface FrameEncoder {
  /** Resolves when the next picture may be drawn, while this one is encoded. */
  add(rgba: Uint8Array | Uint8ClampedArray): Promise<void>;
  /** Ends the stream and returns it. */
  finish(): Promise<EncodedPictures>;
  /** Ends the encoder's thread; harmless after `finish`. */
  dispose(): void;
}

/** Fine enough for smooth gradients; coarser for very large frames, where the steps are not seen. */
const quantizerFor = ({ width, height }: Size) => (width * height > 2_500_000 ? 24 : 20);

/** A baseline-profile H.264 encoder set for speed, with a key frame every two seconds, in a thread of its own. */
export function createFrameEncoder(size: Size, fps: number, quantizationParameter = quantizerFor(size)): FrameEncoder {
  const { width, height } = size;
  const workerData: EncoderSettings = {
    width,
    height,
    frameRate: fps,
    quantizationParameter,
    groupOfPictures: fps * 2,
  };
  const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
  const thread = new Worker(new URL(`./encoder-thread.${extension}`, import.meta.url), { workerData });
  const replies = on(thread, "message", { close: ["exit"] });
  const buffers = [0, 1].map(() => new Uint8Array(new SharedArrayBuffer((width * height * 3) / 2))) as [
    Uint8Array,
    Uint8Array,
  ];
  let sent = 0;
  let answered = 0;

  async function reply(): Promise<Uint8Array | null> {
    const { value, done } = await replies.next();
    if (done) throw new Error("the encoder's thread has ended");
    answered += 1;
    return value[0];
  }

  return {
    async add(rgba) {
      // Waiting also gives the event loop a turn, in which the canvas's copies of earlier frames are freed.
      while (sent - answered >= buffers.length) await reply();
      const yuv = buffers[sent % 2 === 0 ? 0 : 1];
      rgbaToYuv(rgba, width, height, yuv);
      thread.postMessage(yuv);
      sent += 1;
    },
    async finish() {
      thread.postMessage(null);
      let file = await reply();
      while (file === null) file = await reply();
      await thread.terminate();
      return readPictures(file, size);
    },
    dispose: () => void thread.terminate(),
  };
}

/** Extracts the pictures from the encoder's own container, whose times and key-frame marks are not used. */
async function readPictures(file: Uint8Array, size: Size): Promise<EncodedPictures> {
  using input = new Input({ source: new BufferSource(file), formats: [MP4] });
  const track = await input.getPrimaryVideoTrack();
  const found = await track?.getDecoderConfig();
  if (!track || !found) throw new Error("the encoder made no pictures");
  const frames: EncodedFrame[] = [];
  for await (const { data } of new EncodedPacketSink(track).packets()) {
    frames.push({ bytes: data, isKey: nalTypes(data).includes(CODED_KEY_PICTURE) });
  }
  const colorSpace = { primaries: "bt709", transfer: "bt709", matrix: "bt709", fullRange: false } as const;
  return { frames, config: { ...found, codedWidth: size.width, codedHeight: size.height, colorSpace } };
}

/** The types of the NAL units of one coded picture. */
export function nalTypes(picture: Uint8Array): number[] {
  return nalUnits(picture).map((unit) => (unit[0] ?? 0) & 31);
}

/** The NAL units of one length-prefixed picture; stops at the first invalid length. */
export function nalUnits(picture: Uint8Array): Uint8Array[] {
  const view = new DataView(picture.buffer, picture.byteOffset, picture.byteLength);
  const units: Uint8Array[] = [];
  for (let at = 0; at + 4 < picture.length; ) {
    const size = view.getUint32(at);
    if (size === 0 || at + 4 + size > picture.length) break;
    units.push(picture.subarray(at + 4, at + 4 + size));
    at += 4 + size;
  }
  return units;
}
