import { createRequire } from "node:module";
import type { H264Decoder } from "h264decoder";
import { EncodedPacketSink, type InputVideoTrack } from "mediabunny";
import { nalUnits } from "../video/h264.ts";

/** Frames per second, from the intervals between them: not every container states the duration of the last one. */
export async function frameRateOf(track: InputVideoTrack): Promise<number> {
  const stamps: number[] = [];
  for await (const { timestamp } of new EncodedPacketSink(track).packets(undefined, undefined, {
    metadataOnly: true,
  })) {
    stamps.push(timestamp);
  }
  stamps.sort((a, b) => a - b);
  const seconds = stamps.at(-1)! - stamps[0]!;
  const rate = seconds > 0 ? (stamps.length - 1) / seconds : (await track.computePacketStats()).averagePacketRate;
  return Math.max(1, Math.round(rate));
}

const PICTURE_READY = 1;
const FAILED = new Set([3, 4, 5]);
const MAX_UNIT_BYTES = 1024 * 1024;
const START = [0, 0, 0, 1];

/** A decoded picture in planar YUV 4:2:0; `stride` and `rows` include the codec's padding. Valid until the next call. */
export interface Picture {
  readonly yuv: Uint8Array;
  readonly stride: number;
  readonly rows: number;
}

/** Decodes baseline-profile pictures in order; null where a picture cannot be decoded. */
export interface PictureDecoder {
  decode(picture: Uint8Array): Picture | null;
}

/** Whether the configuration record names a profile that the decoder knows (baseline only). */
export function canDecode(description: Uint8Array): boolean {
  return description[1] === 66;
}

/** Whether every unit of the picture fits into the decoder's buffer; a giant key picture may not. */
export function isDecodableSize(picture: Uint8Array): boolean {
  return nalUnits(picture).every((unit) => unit.length + START.length <= MAX_UNIT_BYTES);
}

/** Opens a decoder with the parameter sets of an avcC record. */
export function openDecoder(description: Uint8Array): PictureDecoder {
  const { H264Decoder: Decoder } = createRequire(import.meta.url)("h264decoder") as {
    H264Decoder: new () => H264Decoder;
  };
  const decoder = new Decoder();
  const feed = (unit: Uint8Array) => decoder.decode(prefixed(unit));
  for (const set of parameterSets(description)) feed(set);
  return {
    decode(picture) {
      let ready = false;
      for (const unit of nalUnits(picture)) {
        if (unit.length + START.length > MAX_UNIT_BYTES) return null;
        const status = feed(unit);
        if (FAILED.has(status)) return null;
        ready ||= status === PICTURE_READY;
      }
      return ready ? { yuv: decoder.pic, stride: decoder.width, rows: decoder.height } : null;
    },
  };
}

function prefixed(unit: Uint8Array): Uint8Array {
  const out = new Uint8Array(START.length + unit.length);
  out.set(START);
  out.set(unit, START.length);
  return out;
}

/** The sequence and picture parameter sets inside an avcC record. */
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
