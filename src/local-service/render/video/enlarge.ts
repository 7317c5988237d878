import { readFile } from "node:fs/promises";
import { createCanvas } from "@napi-rs/canvas";
import { BufferSource, EncodedPacketSink, Input, type InputVideoTrack, MP4, QTFF, WEBM } from "mediabunny";
import { inputError, type MediaFile, type RenderRequest } from "../contract.ts";
import { canDecode, frameRateOf, openDecoder, type PictureDecoder } from "../probe/pictures.ts";
import type { Size } from "../size.ts";
import { decodeSoundFile } from "../sound/decode.ts";
import type { Sound } from "../sound/sound.ts";
import { createFrameEncoder, yuvToRgba } from "./h264.ts";
import { type CodedSound, muxMovie, readCodedSound } from "./mux.ts";

const MAX_LONG_SIDE = 3840;
const FIELD = "source_video";

/**
 * The given film, `scale` times as large (long side at most 3840), with its own sound, times and frame rate. Where no
 * decoder here supports its pictures, each one is plain grey.
 */
export async function enlargeVideo(
  request: RenderRequest,
  file: MediaFile,
  onProgress: (fraction: number) => void,
): Promise<Uint8Array> {
  const bytes = await readFile(file.path);
  using input = new Input({ source: new BufferSource(bytes), formats: [MP4, QTFF, WEBM] });
  const track = await input.getPrimaryVideoTrack();
  if (!track) throw inputError(FIELD, "it has no pictures");
  const stats = await track.computePacketStats();
  const fps = await frameRateOf(track);
  const { draw, from } = await painterOf(track);
  const to = enlarged(from, typeof request.input.scale === "number" ? request.input.scale : 2);
  const paint = draw(to);
  const encoder = createFrameEncoder(to, fps);
  try {
    let done = 0;
    for await (const packet of new EncodedPacketSink(track).packets()) {
      const rgba = paint(packet.data);
      if (rgba === null) throw inputError(FIELD, `its picture ${done + 1} cannot be decoded`);
      await encoder.add(rgba);
      onProgress((++done / stats.packetCount) * 0.95);
    }
    const durationSeconds = Math.max(await track.computeDuration(), done / fps);
    const sound = await soundOf(input, bytes, file.path);
    return await muxMovie({ fps, durationSeconds, pictures: encoder.finish, sound });
  } finally {
    encoder.dispose();
  }
}

/** Its sound, copied as coded where MP4 allows that, otherwise decoded. */
async function soundOf(input: Input, bytes: Uint8Array, path: string): Promise<Sound | CodedSound | null> {
  if ((await input.getPrimaryAudioTrack()) === null) return null;
  const coded = await readCodedSound(bytes).catch(() => null);
  if (coded !== null) return coded;
  const decoded = await decodeSoundFile(path);
  if (!decoded.ok) throw inputError(FIELD, `its sound cannot be decoded: ${decoded.reason}`);
  return decoded.sound;
}

/** Draws the track's pictures at another size; null for a damaged one. */
type Paint = (picture: Uint8Array) => Uint8Array | null;

async function painterOf(track: InputVideoTrack): Promise<{ from: Size; draw: (to: Size) => Paint }> {
  const config = await track.getDecoderConfig();
  const description = config?.description;
  if (config && description instanceof Uint8Array && track.codec === "avc" && canDecode(description)) {
    const from = { width: config.codedWidth ?? 0, height: config.codedHeight ?? 0 };
    return { from, draw: (to) => painter(openDecoder(description), from, to) };
  }
  return { from: { width: track.displayWidth, height: track.displayHeight }, draw: greyPainter };
}

function greyPainter({ width, height }: Size): Paint {
  const grey = new Uint8Array(width * height * 4).fill(128);
  return () => grey;
}

function enlarged({ width, height }: Size, scale: number): Size {
  const factor = Math.min(scale, MAX_LONG_SIDE / Math.max(width, height));
  const even = (side: number) => Math.max(2, Math.round((side * factor) / 2) * 2);
  return { width: even(width), height: even(height) };
}

function painter(decoder: PictureDecoder, from: Size, to: Size): Paint {
  const small = createCanvas(from.width, from.height);
  const large = createCanvas(to.width, to.height);
  const image = small.getContext("2d").createImageData(from.width, from.height);
  const context = large.getContext("2d");
  context.imageSmoothingQuality = "high";
  return (bytes) => {
    const picture = decoder.decode(bytes);
    if (picture === null) return null;
    image.data.set(yuvToRgba(picture.yuv, picture.stride, picture.rows, from.width, from.height));
    small.getContext("2d").putImageData(image, 0, 0);
    context.drawImage(small, 0, 0, to.width, to.height);
    return large.data();
  };
}
