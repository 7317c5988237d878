import { crc32, deflateSync } from "node:zlib";
import type { MediaKind } from "../define/media.ts";

/** Always the same, so made once. */
let picture: Uint8Array | null = null;

/**
 * A tiny valid file of a kind, to price a job whose media do not exist yet: a grey picture, or silence of the expected
 * length. Null for video, which no few lines can make.
 */
export function placeholder(kind: MediaKind, expected: { readonly durationMs: number }): Uint8Array | null {
  switch (kind) {
    case "image":
      picture ??= greyPng(512, 512);
      return picture;
    case "audio":
      return silentWav(expected.durationMs);
    case "video":
      return null;
    default:
      return kind satisfies never;
  }
}

function greyPng(width: number, height: number): Uint8Array {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 0], 8); // 8 bits a sample, greyscale
  const rows = Buffer.alloc((width + 1) * height, 0x80);
  for (let y = 0; y < height; y++) rows[y * (width + 1)] = 0; // filter: none
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  const chunks = [chunk("IHDR", header), chunk("IDAT", deflateSync(rows)), chunk("IEND", Buffer.alloc(0))];
  return Buffer.concat([signature, ...chunks]);
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const frame = Buffer.alloc(8);
  frame.writeUInt32BE(data.length, 0);
  frame.writeUInt32BE(crc32(body), 4);
  return Buffer.concat([frame.subarray(0, 4), body, frame.subarray(4)]);
}

function silentWav(durationMs: number): Uint8Array {
  const rate = 8000;
  const size = Math.round((durationMs / 1000) * rate) * 2;
  const header = Buffer.alloc(44);
  header.write("RIFF", 0, "latin1");
  header.writeUInt32LE(36 + size, 4);
  header.write("WAVEfmt ", 8, "latin1");
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20); // PCM
  header.writeUInt16LE(1, 22); // mono
  header.writeUInt32LE(rate, 24);
  header.writeUInt32LE(rate * 2, 28);
  header.writeUInt16LE(2, 32);
  header.writeUInt16LE(16, 34);
  header.write("data", 36, "latin1");
  header.writeUInt32LE(size, 40);
  return Buffer.concat([header, Buffer.alloc(size)]);
}
