import { createRequire } from "node:module";
import type { H264MP4Encoder } from "h264-mp4-encoder";
import { BufferSource, EncodedPacketSink, Input, MP4 } from "mediabunny";
import type { Size } from "../size.ts";
import { rgbaToYuv } from "./yuv.ts";

const CODED_KEY_PICTURE = 5;
const FILE = "frames.mp4";

type EncoderModule = { createH264MP4Encoder(): Promise<H264MP4Encoder> };

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
  add(rgba: Uint8Array | Uint8ClampedArray): void;
  /** Ends the stream and returns it; the encoder is freed. */
  finish(): Promise<EncodedPictures>;
  /** Frees the encoder; harmless after `finish`. */
  dispose(): void;
}

/** Fine enough for smooth gradients; coarser for very large frames, where the steps are not seen. */
const quantizerFor = ({ width, height }: Size) => (width * height > 2_500_000 ? 24 : 20);

/** A baseline-profile H.264 encoder set for speed, with a key frame every two seconds. */
export async function createFrameEncoder(
  size: Size,
  fps: number,
  quantizer = quantizerFor(size),
): Promise<FrameEncoder> {
  const { createH264MP4Encoder } = createRequire(import.meta.url)("h264-mp4-encoder") as EncoderModule;
  const encoder = await createH264MP4Encoder();
  encoder.outputFilename = FILE;
  encoder.width = size.width;
  encoder.height = size.height;
  encoder.frameRate = fps;
  encoder.speed = 10;
  encoder.quantizationParameter = quantizer;
  encoder.groupOfPictures = fps * 2;
  encoder.initialize();
  const yuv = new Uint8Array((size.width * size.height * 3) / 2);
  let live = true;
  const dispose = () => {
    if (live) encoder.delete();
    live = false;
  };
  return {
    add(rgba) {
      rgbaToYuv(rgba, size.width, size.height, yuv);
      encoder.addFrameYuv(yuv);
    },
    finish() {
      encoder.finalize();
      const file = encoder.FS.readFile(FILE);
      encoder.FS.unlink(FILE);
      dispose();
      return readPictures(file, size);
    },
    dispose,
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
