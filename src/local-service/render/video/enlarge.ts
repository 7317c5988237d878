import { readFile } from "node:fs/promises";
import { createCanvas } from "@napi-rs/canvas";
import { BufferSource, EncodedPacketSink, Input, MP4, QTFF } from "mediabunny";
import type { MediaFile, RenderRequest } from "../contract.ts";
import { canDecode, openDecoder, type PictureDecoder } from "../probe/decode-h264.ts";
import { inputError } from "../render-error.ts";
import type { Size } from "../size.ts";
import { readCodedSound } from "../sound/packets.ts";
import { createFrameEncoder } from "./h264.ts";
import { muxMovie } from "./mux.ts";
import { yuvToRgba } from "./yuv.ts";

const MAX_LONG_SIDE = 3840;
const FIELD = "source_video";

/** The given film, `scale` times as large (long side at most 3840), with its own sound, times and frame rate. */
export async function enlargeVideo(
  request: RenderRequest,
  file: MediaFile,
  onProgress: (fraction: number) => void,
): Promise<Uint8Array> {
  const bytes = await readFile(file.path);
  using input = new Input({ source: new BufferSource(bytes), formats: [MP4, QTFF] });
  const track = await input.getPrimaryVideoTrack();
  const config = await track?.getDecoderConfig();
  const description = config?.description;
  if (!track || !config || !(description instanceof Uint8Array) || !canDecode(description)) {
    throw inputError(FIELD, "only H.264 baseline films can be read here");
  }
  const from = { width: config.codedWidth ?? 0, height: config.codedHeight ?? 0 };
  const stats = await track.computePacketStats();
  const fps = Math.max(1, Math.round(stats.averagePacketRate));
  const to = enlarged(from, typeof request.input.scale === "number" ? request.input.scale : 2);
  const draw = painter(openDecoder(description), from, to);
  const encoder = await createFrameEncoder(to, fps);
  try {
    let done = 0;
    for await (const packet of new EncodedPacketSink(track).packets()) {
      const rgba = draw(packet.data);
      if (rgba === null) throw inputError(FIELD, `its picture ${done + 1} cannot be decoded`);
      encoder.add(rgba);
      onProgress((++done / stats.packetCount) * 0.95);
    }
    const durationSeconds = await track.computeDuration();
    return await muxMovie({
      fps,
      durationSeconds,
      pictures: await encoder.finish(),
      sound: await readCodedSound(bytes),
    });
  } finally {
    encoder.dispose();
  }
}

function enlarged({ width, height }: Size, scale: number): Size {
  const factor = Math.min(scale, MAX_LONG_SIDE / Math.max(width, height));
  const even = (side: number) => Math.max(2, Math.round((side * factor) / 2) * 2);
  return { width: even(width), height: even(height) };
}

function painter(decoder: PictureDecoder, from: Size, to: Size): (picture: Uint8Array) => Uint8Array | null {
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
