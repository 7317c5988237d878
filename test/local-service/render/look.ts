import { readFile } from "node:fs/promises";
import { createCanvas, loadImage } from "@napi-rs/canvas";
import { BufferSource, EncodedPacketSink, Input, MP4 } from "mediabunny";
import { openDecoder } from "../../../src/local-service/render/video/h264.ts";

/** Pixels as RGBA. */
export interface Picture {
  readonly width: number;
  readonly height: number;
  readonly rgba: Uint8ClampedArray;
}

/** A part of a picture, in fractions of its sides. */
export interface Region {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

/** Reads a picture, scaled to cover a frame of this size. */
export async function readPicture(path: string, width: number, height: number): Promise<Picture> {
  const image = await loadImage(await readFile(path));
  const context = createCanvas(width, height).getContext("2d");
  const scale = Math.max(width / image.width, height / image.height);
  const [w, h] = [width / scale, height / scale];
  context.drawImage(image, (image.width - w) / 2, (image.height - h) / 2, w, h, 0, 0, width, height);
  return { width, height, rgba: context.getImageData(0, 0, width, height).data };
}

/** Decodes the frames of an MP4 at the given positions; negative positions count from the end. */
export async function readFrames<const P extends readonly number[]>(
  path: string,
  positions: P,
): Promise<{ [At in keyof P]: Picture }> {
  using input = new Input({ source: new BufferSource(await readFile(path)), formats: [MP4] });
  const track = await input.getPrimaryVideoTrack();
  const config = await track?.getDecoderConfig();
  if (!track || !(config?.description instanceof Uint8Array)) throw new Error(`${path} has no H.264 track`);
  const [width, height] = [config.codedWidth ?? 0, config.codedHeight ?? 0];
  const { packetCount } = await track.computePacketStats();
  const wanted = positions.map((position) => (position < 0 ? packetCount + position : position));
  const decode = openDecoder(config.description, { width, height });
  const found = new Map<number, Picture>();
  let at = 0;
  for await (const packet of new EncodedPacketSink(track).packets()) {
    const rgba = decode?.(packet.data);
    if (!rgba) throw new Error(`frame ${at} of ${path} cannot be decoded`);
    if (wanted.includes(at)) found.set(at, { width, height, rgba });
    at++;
  }
  return wanted.map((position) => {
    const picture = found.get(position);
    if (picture === undefined) throw new Error(`${path} has no frame ${position}`);
    return picture;
  }) as { [At in keyof P]: Picture };
}

/** Mean difference of the colour channels, 0 (same) to 255, in the region or everywhere. */
export function difference(a: Picture, b: Picture, region: Region = { left: 0, top: 0, right: 1, bottom: 1 }): number {
  let sum = 0;
  let count = 0;
  for (let y = Math.floor(region.top * a.height); y < region.bottom * a.height; y++) {
    for (let x = Math.floor(region.left * a.width); x < region.right * a.width; x++) {
      for (let channel = 0; channel < 3; channel++) {
        const i = (y * a.width + x) * 4 + channel;
        sum += Math.abs((a.rgba[i] ?? 0) - (b.rgba[i] ?? 0));
        count++;
      }
    }
  }
  return sum / count;
}

/** The tracks of an MP4 with their lengths in milliseconds. */
export async function readTracks(path: string): Promise<{ type: string; codec: string | null; ms: number }[]> {
  using input = new Input({ source: new BufferSource(await readFile(path)), formats: [MP4] });
  const tracks = await input.getTracks();
  return Promise.all(
    tracks.map(async (track) => ({
      type: track.type,
      codec: track.codec,
      ms: Math.round((await track.computeDuration()) * 1000),
    })),
  );
}

/** Whiteness of the whitest pixel in a region, from 0 to 255. */
export function whitest({ width, height, rgba }: Picture, { left, top, right, bottom }: Region): number {
  let most = 0;
  for (let y = Math.floor(top * height); y < bottom * height; y++) {
    for (let x = Math.floor(left * width); x < right * width; x++) {
      const at = (y * width + x) * 4;
      most = Math.max(most, Math.min(rgba[at]!, rgba[at + 1]!, rgba[at + 2]!));
    }
  }
  return most;
}
