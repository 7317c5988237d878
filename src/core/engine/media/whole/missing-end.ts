import { own } from "../../../kit/lookup.ts";
import { isUnknownRiffSize } from "../../../kit/media-headers.ts";
import { Bytes, lacking, UNJUDGED, WHOLE, type Whole, walk } from "./bytes.ts";
import { wholeAac, wholeFlac, wholeMp3, wholeOgg } from "./whole-frames.ts";

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

/** Ignores anything after the end of the image, because phones may append a second one. */
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
  return head.readUInt32LE(4) + 7 > file.size ? lacking("part of its picture") : WHOLE;
}

/** Tolerance for WAV headers that state too many bytes; about a millisecond of audio at most. */
const WAV_TOLERANCE_BYTES = 64;

function wholeWav(file: Bytes): Whole {
  return walk(12, (at) => {
    const head = file.read(at, 8);
    if (head.length < 8) return lacking("its sound");
    const size = head.readUInt32LE(4);
    if (head.toString("latin1", 0, 4) !== "data") return at + 8 + size + (size % 2);
    if (isUnknownRiffSize(size, file.size - at - 8)) return UNJUDGED;
    return at + 8 + size > file.size + WAV_TOLERANCE_BYTES ? lacking("part of its sound") : WHOLE;
  });
}

const ESSENTIAL = new Set(["ftyp", "styp", "moov", "moof", "meta", "mdat", "sidx"]);

const wholeFilm = (file: Bytes) => wholeBoxes(file, "moov");
const wholeAvif = (file: Bytes) => wholeBoxes(file, "meta");

/** Checks ISO media, such as MP4, without regard to truncated padding or trailing data. */
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
/** Ids of the elements whose end must not be missing: header, segment, info, tracks, cluster, block and block group. */
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

/** Null if the element is incomplete. `size` is null if the writer did not state it. */
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
