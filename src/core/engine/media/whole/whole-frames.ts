import { type Bytes, lacking, UNJUDGED, WHOLE, type Whole, walk } from "./bytes.ts";

const PARTIAL = lacking("part of its last frame");

export function wholeOgg(file: Bytes): Whole {
  return walk(0, (at) => {
    const head = file.read(at, 27 + 255);
    if (head.length === 0) return WHOLE;
    if (head.toString("latin1", 0, 4) !== "OggS") return UNJUDGED;
    const count = head[26] ?? 0;
    const size = 27 + count + head.subarray(27, 27 + count).reduce((sum, lacing) => sum + lacing, 0);
    return head.length < Math.min(27 + count, size) || at + size > file.size
      ? lacking("part of its last page")
      : at + size;
  });
}

export const wholeMp3 = (file: Bytes) => wholeFrames(file, mp3Frame, statedMp3End);
export const wholeAac = (file: Bytes) => wholeFrames(file, adtsFrame, () => 0);

export function soundFramesIn(file: Bytes): "audio/mpeg" | "audio/aac" | undefined {
  if (firstFrame(file, mp3Frame) !== null) return "audio/mpeg";
  return firstFrame(file, adtsFrame) === null ? undefined : "audio/aac";
}

const LATEST_START = 65_536;

interface Frame {
  readonly size: number;
  readonly sort: string;
}

/** Frames must continue to the end of the file, or to the end that its header states. */
function wholeFrames(
  file: Bytes,
  frameAt: (head: Buffer) => Frame | null,
  statedEnd: (file: Bytes, at: number) => number,
): Whole {
  const begin = firstFrame(file, frameAt);
  if (begin === null) return UNJUDGED;
  if (statedEnd(file, begin.at) > file.size) return lacking("part of its frames");
  return walk(begin.at, (at) => {
    if (at === file.size) return WHOLE;
    const frame = frameAt(file.read(at, 8));
    if (frame?.sort !== begin.sort) return WHOLE;
    return at + frame.size > file.size ? PARTIAL : at + frame.size;
  });
}

function firstFrame(file: Bytes, frameAt: (head: Buffer) => Frame | null) {
  const tag = file.read(0, 10);
  const isTagged = tag.length === 10 && tag.toString("latin1", 0, 3) === "ID3";
  const from = isTagged ? 10 + tag.subarray(6).reduce((sum, byte) => sum * 128 + (byte & 0x7f), 0) : 0;
  for (let at = from; at < Math.min(file.size, from + LATEST_START); at++) {
    const frame = frameAt(file.read(at, 8));
    const next = frame === null ? null : frameAt(file.read(at + frame.size, 8));
    // Two bytes may look like a header by chance, but hardly twice in a row.
    if (frame !== null && next?.sort === frame.sort) return { at, sort: frame.sort };
  }
  return null;
}

const MP3_RATES = [44_100, 48_000, 32_000];
const MPEG1_KBITS = [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320];
const MPEG2_KBITS = [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160];

function mp3Frame(head: Buffer): Frame | null {
  if (head.length < 4 || head[0] !== 0xff || (head[1]! & 0xe6) !== 0xe2) return null;
  const version = (head[1]! >> 3) & 3;
  const rate = MP3_RATES[(head[2]! >> 2) & 3];
  const kbits = (version === 3 ? MPEG1_KBITS : MPEG2_KBITS)[(head[2]! >> 4) - 1];
  if (version === 1 || rate === undefined || kbits === undefined) return null;
  const hertz = version === 3 ? rate : version === 2 ? rate / 2 : rate / 4;
  const size = Math.floor(((version === 3 ? 144 : 72) * kbits * 1000) / hertz) + ((head[2]! >> 1) & 1);
  return { size, sort: `${version} ${hertz}` };
}

/** Tolerance for writers that do not count the frame with the header itself. */
const XING_TOLERANCE_BYTES = 4_096;

function statedMp3End(file: Bytes, at: number): number {
  const frame = file.read(at, 64);
  const found = Math.max(frame.indexOf("Xing", 0, "latin1"), frame.indexOf("Info", 0, "latin1"));
  if (found < 0 || frame.length < found + 16) return 0;
  const flags = frame.readUInt32BE(found + 4);
  if ((flags & 2) === 0) return 0;
  return at + frame.readUInt32BE(found + (flags & 1 ? 12 : 8)) - XING_TOLERANCE_BYTES;
}

function adtsFrame(head: Buffer): Frame | null {
  if (head.length < 7 || head[0] !== 0xff || (head[1]! & 0xf6) !== 0xf0) return null;
  const size = ((head[3]! & 3) << 11) | (head[4]! << 3) | (head[5]! >> 5);
  return size < 7 ? null : { size, sort: `${head[1]} ${head[2]! & 0xfc}` };
}

export function wholeFlac(file: Bytes): Whole {
  const info = file.read(0, 42);
  if (info.length < 42 || info.toString("latin1", 0, 4) !== "fLaC") return UNJUDGED;
  const samples = (info[21]! & 0x0f) * 2 ** 32 + info.readUInt32BE(22);
  const fixedBlock = info.readUInt16BE(8);
  const from = Math.max(42, file.size - 65_536);
  const last = Buffer.from(file.read(from, 65_536));
  for (let at = last.length - 6; samples > 0 && at >= 0; at--) {
    const end = flacFrameEnd(last.subarray(at, at + 16), fixedBlock);
    // Bytes that look like a header by chance may state samples that do not exist.
    if (end !== null && end <= samples) return end < samples ? lacking("part of its frames") : WHOLE;
  }
  return samples > 0 && from === 42 ? lacking("its frames") : UNJUDGED;
}

/** Returns the number of the sample after a frame; null if `head` is not a frame header. */
function flacFrameEnd(head: Buffer, fixedBlock: number): number | null {
  if (head.length < 6 || head[0] !== 0xff || (head[1]! & 0xfe) !== 0xf8) return null;
  const [blockCode, rateCode] = [head[2]! >> 4, head[2]! & 15];
  const extra = Math.clz32(~(head[4]! << 24));
  const number = codedNumber(head.subarray(4, 4 + Math.max(1, extra)));
  const sizeAt = 4 + Math.max(1, extra);
  const crcAt =
    sizeAt + (blockCode === 6 ? 1 : blockCode === 7 ? 2 : 0) + (rateCode === 12 ? 1 : rateCode > 12 ? 2 : 0);
  if (number === null || blockCode === 0 || rateCode === 15 || crcAt >= head.length) return null;
  if (crc8(head.subarray(0, crcAt)) !== head[crcAt]) return null;
  const block = blockSize(blockCode, head, sizeAt);
  return (head[1]! & 1) === 1 ? number + block : number * fixedBlock + block;
}

function codedNumber(bytes: Buffer): number | null {
  const [first = 0, ...rest] = bytes;
  if (bytes.length === 1) return first < 0x80 ? first : null;
  if (rest.some((byte) => byte >> 6 !== 2)) return null;
  return rest.reduce((sum, byte) => sum * 64 + (byte & 0x3f), first & (0x7f >> bytes.length));
}

function blockSize(code: number, head: Buffer, at: number): number {
  if (code === 1) return 192;
  if (code < 6) return 576 * 2 ** (code - 2);
  if (code === 6) return head[at]! + 1;
  return code === 7 ? head.readUInt16BE(at) + 1 : 256 * 2 ** (code - 8);
}

function crc8(bytes: Buffer): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc << 1) ^ (crc & 0x80 ? 0x107 : 0);
  }
  return crc;
}
