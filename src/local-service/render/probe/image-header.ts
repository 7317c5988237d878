import { crc32, inflateSync } from "node:zlib";
import type { Size } from "../size.ts";

/** The size in an image's header, or null when it cannot be read. */
export function announcedSize(bytes: Uint8Array, contentType: string): Size | null {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  try {
    if (contentType === "image/png") return { width: view.getUint32(16), height: view.getUint32(20) };
    if (contentType === "image/gif") return { width: view.getUint16(6, true), height: view.getUint16(8, true) };
    if (contentType === "image/webp") return webpSize(view);
    if (contentType === "image/jpeg") return jpegSize(view);
    if (contentType === "image/avif") return avifSize(view);
    return null;
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/** Why the file is truncated, or null; decoders fill missing data with grey without an error. */
export function cutShort(bytes: Uint8Array, contentType: string, size: Size): string | null {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (contentType === "image/png") return pngFault(view, size);
  if (contentType === "image/webp") {
    return view.getUint32(4, true) + 8 > bytes.length ? "it is cut short" : null;
  }
  if (contentType === "image/gif") return gifFault(view);
  // The AVIF decoder reports missing data itself.
  if (contentType !== "image/jpeg") return null;
  const end = Buffer.from(bytes).lastIndexOf(Buffer.from([0xff, 0xd9]));
  return end < Math.max(0, bytes.length - 4096) ? "it is cut short" : null;
}

/** Walks the blocks to the trailer: the decoder ignores blocks that it cannot read. */
function gifFault(view: DataView): string | null {
  const colorTable = (at: number) => (view.getUint8(at) & 0x80 ? 3 * 2 ** ((view.getUint8(at) & 7) + 1) : 0);
  const afterSubBlocks = (from: number) => {
    let at = from;
    for (let size = view.getUint8(at); size > 0; size = view.getUint8(at)) at += size + 1;
    return at + 1;
  };
  try {
    for (let at = 13 + colorTable(10); ; ) {
      const block = view.getUint8(at);
      if (block === 0x3b) return null;
      if (block === 0x21) at = afterSubBlocks(at + 2);
      else if (block === 0x2c) at = afterSubBlocks(at + 11 + colorTable(at + 9));
      else return "one of its blocks is of no known kind";
    }
  } catch (error) {
    if (error instanceof RangeError) return "it is cut short";
    throw error;
  }
}

function pngFault(view: DataView, announced: Size): string | null {
  const data: Uint8Array[] = [];
  for (let at = 8; at + 12 <= view.byteLength; ) {
    const size = view.getUint32(at);
    if (at + 12 + size > view.byteLength) return "it is cut short";
    const chunk = new Uint8Array(view.buffer, view.byteOffset + at + 4, size + 4);
    if (crc32(chunk) !== view.getUint32(at + 8 + size)) return "a checksum does not match its bytes";
    const name = Buffer.from(chunk.subarray(0, 4)).toString("latin1");
    if (name === "IDAT") data.push(chunk.subarray(4));
    if (name === "IEND") return pixelFault(data, announced);
    at += 12 + size;
  }
  return "it is cut short";
}

function pixelFault(data: readonly Uint8Array[], { width, height }: Size): string | null {
  try {
    inflateSync(Buffer.concat(data), { maxOutputLength: (width * 8 + 16) * (height + 16) });
    return null;
  } catch {
    return "its pixels cannot be unpacked";
  }
}

function webpSize(view: DataView): Size | null {
  const form = view.getUint32(12);
  const VP8X = 0x56503858;
  const VP8L = 0x5650384c;
  const VP8 = 0x56503820;
  if (form === VP8X) {
    const side = (at: number) => 1 + (view.getUint16(at, true) | (view.getUint8(at + 2) << 16));
    return { width: side(24), height: side(27) };
  }
  if (form === VP8L) {
    const packed = view.getUint32(21, true);
    return { width: 1 + (packed & 0x3fff), height: 1 + ((packed >> 14) & 0x3fff) };
  }
  if (form === VP8) return { width: view.getUint16(26, true) & 0x3fff, height: view.getUint16(28, true) & 0x3fff };
  return null;
}

/** The largest of the sizes in its properties, which list tiles, thumbnail and the composed picture. */
function avifSize(view: DataView): Size | null {
  const bytes = Buffer.from(view.buffer, view.byteOffset, Math.min(view.byteLength, 65_536));
  let largest: Size | null = null;
  for (let at = bytes.indexOf("ispe"); at >= 0; at = bytes.indexOf("ispe", at + 4)) {
    const size = { width: view.getUint32(at + 8), height: view.getUint32(at + 12) };
    if (largest === null || size.width * size.height > largest.width * largest.height) largest = size;
  }
  return largest;
}

function jpegSize(view: DataView): Size | null {
  for (let at = 2; at + 9 < view.byteLength; ) {
    if (view.getUint8(at) !== 0xff) return null;
    const marker = view.getUint8(at + 1);
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return { width: view.getUint16(at + 7), height: view.getUint16(at + 5) };
    at += marker === 0xff ? 1 : 2 + view.getUint16(at + 2);
  }
  return null;
}
