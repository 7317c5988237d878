import { createCanvas } from "@napi-rs/canvas";
import { EncodedPacketSink, type InputVideoTrack } from "mediabunny";
import { inputError, type MediaFile, type RenderRequest } from "../contract.ts";
import { frameRateOf } from "../probe/probe-file.ts";
import type { Size } from "../size.ts";
import { loadSound, openInput } from "../sound/decode.ts";
import { createFrameEncoder, openDecoder } from "./h264.ts";
import { muxMovie, readCodedSound } from "./mux.ts";

const MAX_LONG_SIDE = 3840;
const FIELD = "source_video";

/**
 * The given film, `scale` times as large (long side at most 3840), with its own sound, times and frame rate. Where no
 * decoder here supports its pictures, each one is plain grey.
 */
export async function enlargeVideo(
  { input: { scale } }: RenderRequest,
  file: MediaFile,
  onProgress: (fraction: number) => void,
): Promise<Uint8Array> {
  using input = openInput(file.path);
  const track = await input.getPrimaryVideoTrack();
  if (!track) throw inputError(FIELD, "it has no pictures");
  const { packetCount } = await track.computePacketStats();
  const fps = await frameRateOf(track);
  const to = enlarged(track, typeof scale === "number" ? scale : 2);
  const paint = await painterOf(track, to);
  const encoder = createFrameEncoder(to, fps);
  try {
    let done = 0;
    for await (const packet of new EncodedPacketSink(track).packets()) {
      const rgba = paint(packet.data);
      if (rgba === null) throw inputError(FIELD, `its picture ${done + 1} cannot be decoded`);
      await encoder.add(rgba);
      onProgress((++done / packetCount) * 0.95);
    }
    const durationSeconds = Math.max(await track.computeDuration(), done / fps);
    const hasSound = (await input.getPrimaryAudioTrack()) !== null;
    // Copied as coded where MP4 allows that, otherwise decoded.
    const sound = hasSound ? ((await readCodedSound(file.path)) ?? (await loadSound(file, FIELD))) : null;
    return await muxMovie({ fps, durationSeconds, pictures: encoder.finish, sound });
  } finally {
    encoder.dispose();
  }
}

function enlarged({ codedWidth, codedHeight }: InputVideoTrack, scale: number): Size {
  const factor = Math.min(scale, MAX_LONG_SIDE / Math.max(codedWidth, codedHeight));
  const even = (side: number) => Math.max(2, Math.round((side * factor) / 2) * 2);
  return { width: even(codedWidth), height: even(codedHeight) };
}

/** Draws the track's pictures at another size; null for a damaged one. */
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
