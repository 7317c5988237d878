import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { own } from "../../kit/lookup.ts";
import { isUnknownRiffSize } from "../../kit/media-headers.ts";

function wholePng(file: Bytes): Whole {
  return walk(8, (at) => {
    const head = file.read(at, 8);
    if (head.length < 8) return lacking("the IEND chunk at its end");
    const end = at + 12 + head.readUInt32BE(0);
    const name = head.toString("latin1", 4, 8);
    if (end > file.size) return lacking(`part of its ${name} chunk`);
    return name === "IEND" ? WHOLE : end;
  });
}

/** Checks a JPEG image. Ignores anything after its end, because phones may append a second image. */
function wholeJpeg(file: Bytes): Whole {
  return walk(2, (at) => {
    const head = file.read(at, 4);
    if (head.length < 2) return lacking("the marker at its end");
    const marker = head[1]!;
    if (head[0] !== 0xff || marker === 0xff || marker === 0) return nextMarker(file, at + 1);
    if (marker === 0xd9) return WHOLE;
    if (marker === 0x01 || (marker >= 0xd0 && marker <= 0xd8)) return at + 2;
    return head.length < 4 ? file.size : at + 2 + head.readUInt16BE(2);
  });
}

function nextMarker(file: Bytes, from: number): number {
  for (let at = from; at < file.size; ) {
    const piece = file.read(at, 65_536);
    const found = piece.indexOf(0xff);
    if (found >= 0) return at + found;
    at += piece.length;
  }
  return file.size;
}

function wholeGif(file: Bytes): Whole {
  const colors = (flags: number | undefined) => (flags !== undefined && flags & 0x80 ? 3 * 2 ** ((flags & 7) + 1) : 0);
  const cut = lacking("the trailer at its end");
  return walk(13 + colors(file.read(10, 1)[0]), (at) => {
    const block = file.read(at, 10);
    switch (block[0]) {
      case undefined:
        return cut;
      case 0x3b:
        return WHOLE;
      case 0x21:
        return afterSubBlocks(file, at + 2);
      case 0x2c:
        return block.length < 10 ? cut : afterSubBlocks(file, at + 11 + colors(block[9]));
      default:
        return UNJUDGED;
    }
  });
}

function afterSubBlocks(file: Bytes, from: number): number {
  for (let at = from; ; ) {
    const size = file.read(at, 1)[0] ?? 0;
    if (at >= file.size) return file.size;
    at += size + 1;
    if (size === 0) return at;
  }
}

function wholeWebp(file: Bytes): Whole {
  const head = file.read(0, 8);
  if (head.length < 8) return lacking("its header");
  // Writers disagree on whether the last chunk's padding is counted.
  return head.readUInt32LE(4) + 7 > file.size ? lacking("part of its image") : WHOLE;
}

/** Number of bytes that may be missing at the end of a WAV file. They hold at most about a millisecond of audio. */
const WAV_TOLERANCE_BYTES = 64;

function wholeWav(file: Bytes): Whole {
  return walk(12, (at) => {
    const head = file.read(at, 8);
    if (head.length < 8) return lacking("its audio");
    const size = head.readUInt32LE(4);
    if (head.toString("latin1", 0, 4) !== "data") return at + 8 + size + (size % 2);
    if (isUnknownRiffSize(size, file.size - at - 8)) return UNJUDGED;
    return at + 8 + size > file.size + WAV_TOLERANCE_BYTES ? lacking("part of its audio") : WHOLE;
  });
}

const ESSENTIAL = new Set(["ftyp", "styp", "moov", "moof", "meta", "mdat", "sidx"]);

const wholeFilm = (file: Bytes) => wholeBoxes(file, "moov");
const wholeAvif = (file: Bytes) => wholeBoxes(file, "meta");

/** Checks whether an ISO media file, such as an MP4, is complete. Ignores truncated padding and trailing data. */
function wholeBoxes(file: Bytes, index: "moov" | "meta"): Whole {
  const seen = new Set<string>();
  const atEnd = () => {
    if (!seen.has(index)) return lacking(`its ${index} box`);
    // A small image may be inside its meta box.
    const isInside = index === "meta" && file.read(0, 65_536).includes("idat", 0, "latin1");
    return seen.has("mdat") || isInside ? WHOLE : lacking("its mdat box");
  };
  return walk(0, (at) => {
    const head = file.read(at, 16);
    const name = head.toString("latin1", 4, 8);
    if (head.length < 8 || !/^[\x20-\x7e\xa9]{4}$/.test(name)) return atEnd();
    const size = boxSize(head, file.size - at);
    const isCut = at + size > file.size;
    if (isCut && ESSENTIAL.has(name)) return lacking(`part of its ${name} box`);
    if (!isCut) seen.add(name);
    return isCut || size < 8 || at + size === file.size ? atEnd() : at + size;
  });
}

function boxSize(head: Buffer, remaining: number): number {
  const size = head.readUInt32BE(0);
  if (size === 0) return remaining;
  if (size !== 1) return size;
  return head.length < 16 ? Number.POSITIVE_INFINITY : Number(head.readBigUInt64BE(8));
}

const SEGMENT = 0x18538067;
const CLUSTER = 0x1f43b675;
/** Ids of the elements that must not be truncated: header, segment, info, tracks, cluster, block and block group. */
const ESSENTIAL_IDS = new Set([0x1a45dfa3, SEGMENT, 0x1549a966, 0x1654ae6b, CLUSTER, 0xa3, 0xa0]);

function wholeEbml(file: Bytes): Whole {
  return walk(0, (at) => {
    if (at === file.size) return WHOLE;
    const element = elementAt(file, at);
    if (element === null) return file.size - at < 12 ? lacking("part of its last element") : UNJUDGED;
    const { id, start, size } = element;
    if (size === null) return id === SEGMENT || id === CLUSTER ? start : UNJUDGED;
    if (start + size > file.size) return ESSENTIAL_IDS.has(id) ? lacking("part of its last element") : UNJUDGED;
    // A segment with a known size has ended; ignore what follows it.
    return id === SEGMENT ? WHOLE : start + size;
  });
}

/** Returns an element's header; null if it is incomplete or invalid. `size` is null if the writer did not state it. */
function elementAt(file: Bytes, at: number) {
  const head = file.read(at, 12);
  const lengthAt = (byte: number) => (byte < head.length ? Math.clz32(head[byte]!) - 23 : 9);
  const idLength = lengthAt(0);
  const sizeLength = lengthAt(idLength);
  const length = idLength + sizeLength;
  if (idLength > 4 || sizeLength > 8 || length > head.length) return null;
  const id = head.readUIntBE(0, idLength);
  let size = head[idLength]! & (0xff >> sizeLength);
  for (const byte of head.subarray(idLength + 1, length)) size = size * 256 + byte;
  return { id, start: at + length, size: size >= 2 ** (7 * sizeLength) - 1 ? null : size };
}

const FORMATS: Readonly<Record<string, (file: Bytes) => Whole>> = {
  "image/png": wholePng,
  "image/apng": wholePng,
  "image/jpeg": wholeJpeg,
  "image/gif": wholeGif,
  "image/webp": wholeWebp,
  "image/avif": wholeAvif,
  "image/heic": wholeAvif,
  "video/mp4": wholeFilm,
  "video/x-m4v": wholeFilm,
  "video/quicktime": wholeFilm,
  "audio/mp4": wholeFilm,
  "audio/x-m4a": wholeFilm,
  "video/webm": wholeEbml,
  "audio/webm": wholeEbml,
  "video/matroska": wholeEbml,
  "audio/wav": wholeWav,
  "audio/vnd.wave": wholeWav,
  "audio/mpeg": wholeMp3,
  "audio/aac": wholeAac,
  "audio/flac": wholeFlac,
  "audio/ogg": wholeOgg,
  "video/ogg": wholeOgg,
};

export function missingEnd(path: string, contentType: string): string | null {
  const whole = own(FORMATS, contentType.split(";")[0]!);
  if (whole === undefined) return null;
  using file = new Bytes(path);
  return whole(file).lacks;
}

const PARTIAL = lacking("part of its last frame");

function wholeOgg(file: Bytes): Whole {
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

function wholeMp3(file: Bytes): Whole {
  return wholeFrames(file, mp3Frame, statedMp3End);
}

function wholeAac(file: Bytes): Whole {
  return wholeFrames(file, adtsFrame, () => 0);
}

export function soundFramesIn(file: Bytes): "audio/mpeg" | "audio/aac" | undefined {
  if (firstFrame(file, mp3Frame) !== null) return "audio/mpeg";
  return firstFrame(file, adtsFrame) === null ? undefined : "audio/aac";
}

const LATEST_START = 65_536;

interface Frame {
  readonly size: number;
  readonly sort: string;
}

/** Checks that the last frame is complete and that the file is as long as its header states. */
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

/** Tolerance in bytes: the size in a Xing header may leave out the frame that contains the header. */
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

function wholeFlac(file: Bytes): Whole {
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

const WINDOW_BYTES = 65_536;

/** Reads a file through a moving window. Use it only on a worker thread, because the reads are synchronous. */
export class Bytes implements Disposable {
  readonly size: number;
  readonly #file: number;
  readonly #buffer = Buffer.alloc(WINDOW_BYTES);
  #window = { at: 0, size: 0 };

  constructor(path: string) {
    this.#file = openSync(path, "r");
    this.size = fstatSync(this.#file).size;
  }

  /** Reads up to `length` bytes, but at most 64 KiB. The returned buffer is valid only until the next call. */
  read(at: number, length: number): Buffer {
    const end = Math.min(at + Math.min(length, WINDOW_BYTES), this.size);
    if (at >= end) return Buffer.alloc(0);
    if (at < this.#window.at || end > this.#window.at + this.#window.size) {
      this.#window = { at, size: readSync(this.#file, this.#buffer, 0, WINDOW_BYTES, at) };
    }
    const from = at - this.#window.at;
    return this.#buffer.subarray(from, Math.min(from + end - at, this.#window.size));
  }

  head(length: number): Buffer {
    const bytes = Buffer.alloc(Math.min(length, this.size));
    return bytes.subarray(0, readSync(this.#file, bytes, 0, bytes.length, 0));
  }

  [Symbol.dispose](): void {
    closeSync(this.#file);
  }
}

/** Checks a file part by part. `next` returns where the next part begins, or the result of the check. */
function walk(from: number, next: (at: number) => number | Whole): Whole {
  for (let at = from; ; ) {
    const then = next(at);
    if (typeof then !== "number") return then;
    if (!(then > at)) return UNJUDGED;
    at = then;
  }
}

interface Whole {
  readonly lacks: string | null;
}

const WHOLE: Whole = { lacks: null };
/** The result for a file whose end cannot be checked. */
const UNJUDGED: Whole = { lacks: null };

function lacking(what: string): Whole {
  return { lacks: what };
}
