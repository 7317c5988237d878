import { readFile } from "node:fs/promises";
import { workerData } from "node:worker_threads";
import { crc32 } from "node:zlib";
import { type Image, loadImage } from "@napi-rs/canvas";
import { imageSize } from "image-size";
import { inputError, type MediaFile } from "../contract.ts";
import { type DecodeGate, passGate } from "../pool.ts";
import type { Size } from "../size.ts";
import { endsOf, type FileEnds, type Format, missingEnd, sniff } from "./formats.ts";

/** Decodes an image. If the thread is closing, never resolves. */
export function decodeImage(bytes: Uint8Array): Promise<Image> {
  const gate = workerData as DecodeGate | null;
  return gate === null ? loadImage(bytes) : passGate(gate, () => loadImage(bytes));
}

export function announcedSize(head: Uint8Array): Size | null {
  try {
    const { width, height } = imageSize(head);
    return { width, height };
  } catch {
    return null;
  }
}

const MAX_BYTES = 64 * 1024 * 1024;
const MAX_SIDE = 16_384;
const MAX_PIXELS = 64_000_000;

export async function measureImage(file: FileEnds, format: Format): Promise<Size> {
  const { width, height } = await decodeFile(file, format);
  return { width, height };
}

async function decodeFile({ path, sizeBytes, head }: FileEnds, { contentType }: Format): Promise<Image> {
  const size = announcedSize(head);
  if (size === null || size.width * size.height === 0) throw new Error("the header does not state the image size");
  if (Math.max(size.width, size.height) > MAX_SIDE || size.width * size.height > MAX_PIXELS) {
    const limits = `at most ${MAX_SIDE} pixels per side and ${MAX_PIXELS} in total`;
    throw new Error(`${size.width} × ${size.height} is too large (${limits})`);
  }
  if (sizeBytes > MAX_BYTES) throw new Error(`an image can be at most ${MAX_BYTES} bytes`);
  const bytes = await readFile(path);
  if (contentType === "image/png") assertChecksums(bytes);
  const image = await decodeImage(bytes);
  if (image.width * image.height === 0) throw new Error("the decoded image is empty");
  return image;
}

/** Checks a PNG's checksums, because the decoder accepts a damaged PNG and decodes only a part of it. @throws Error */
function assertChecksums(bytes: Buffer): void {
  for (let at = 8; at + 12 <= bytes.length; ) {
    const end = at + 8 + bytes.readUInt32BE(at);
    if (end + 4 > bytes.length) break;
    const chunk = bytes.subarray(at + 4, end);
    if (crc32(chunk) !== bytes.readUInt32BE(end)) throw new Error("a checksum does not match the data");
    if (chunk.toString("latin1", 0, 4) === "IEND") return;
    at = end + 4;
  }
  throw new Error("it is truncated");
}

export async function loadPicture({ path }: MediaFile, field: string): Promise<Image> {
  const file = await endsOf(path);
  try {
    const format = await sniff(file);
    const missing = missingEnd(file, format);
    if (missing !== null) throw new Error(missing);
    return await decodeFile(file, format);
  } catch (error) {
    throw inputError(field, `this image cannot be decoded: ${error instanceof Error ? error.message : error}`);
  }
}
