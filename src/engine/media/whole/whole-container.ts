import { type Bytes, lacking, UNJUDGED, WHOLE, type Whole, walk } from "./bytes.ts";

/** Headers of WAV count some bytes too many now and then: a millisecond of sound. */
const WAV_TOLERANCE_BYTES = 64;
/** From here on a size says that it was not known when the header was written. */
const UNKNOWN_WAV_SIZE = 0x7fff_ff00;

export function wholeWav(file: Bytes): Whole {
  return walk(12, (at) => {
    const head = file.read(at, 8);
    if (head.length < 8) return lacking("its sound");
    const size = head.readUInt32LE(4);
    if (head.toString("latin1", 0, 4) !== "data") return at + 8 + size + (size % 2);
    if (size >= UNKNOWN_WAV_SIZE || size === 0) return UNJUDGED;
    return at + 8 + size > file.size + WAV_TOLERANCE_BYTES ? lacking("a part of its sound") : WHOLE;
  });
}

/** Boxes without which there is nothing to show or play. */
const ESSENTIAL = new Set(["ftyp", "styp", "moov", "moof", "meta", "mdat", "sidx"]);

export const wholeFilm = (file: Bytes) => wholeBoxes(file, "moov");
export const wholeAvif = (file: Bytes) => wholeBoxes(file, "meta");

/** ISO media. What follows its boxes and is none, or is padding that is cut short, takes nothing away. */
function wholeBoxes(file: Bytes, index: "moov" | "meta"): Whole {
  const seen = new Set<string>();
  const atEnd = () => {
    if (!seen.has(index)) return lacking(`its ${index} box`);
    // A small picture may lie in its meta box.
    const isInside = index === "meta" && file.read(0, 65_536).includes("idat", 0, "latin1");
    return seen.has("mdat") || isInside ? WHOLE : lacking("its mdat box");
  };
  return walk(0, (at) => {
    const head = file.read(at, 16);
    const name = head.toString("latin1", 4, 8);
    if (head.length < 8 || !/^[\x20-\x7e\xa9]{4}$/.test(name)) return atEnd();
    const size = boxSize(head, file.size - at);
    const isCut = at + size > file.size;
    if (isCut && ESSENTIAL.has(name)) return lacking(`a part of its ${name} box`);
    if (!isCut) seen.add(name);
    return isCut || size < 8 || at + size === file.size ? atEnd() : at + size;
  });
}

function boxSize(head: Buffer, left: number): number {
  const size = head.readUInt32BE(0);
  if (size === 0) return left;
  if (size !== 1) return size;
  return head.length < 16 ? Number.POSITIVE_INFINITY : Number(head.readBigUInt64BE(8));
}

const SEGMENT = 0x18538067;
const CLUSTER = 0x1f43b675;
/** Header, segment, info, tracks, cluster, block and group of blocks. */
const ESSENTIAL_IDS = new Set([0x1a45dfa3, SEGMENT, 0x1549a966, 0x1654ae6b, CLUSTER, 0xa3, 0xa0]);

/** Matroska and WebM. The parts of a live recording, whose sizes were not known, are walked through. */
export function wholeEbml(file: Bytes): Whole {
  return walk(0, (at) => {
    if (at === file.size) return WHOLE;
    const element = elementAt(file, at);
    if (element === null) return file.size - at < 12 ? lacking("a part of its last element") : UNJUDGED;
    const { id, start, size } = element;
    if (size === null) return id === SEGMENT || id === CLUSTER ? start : UNJUDGED;
    if (start + size > file.size) return ESSENTIAL_IDS.has(id) ? lacking("a part of its last element") : UNJUDGED;
    // A segment that says where it ends has ended; what follows is no part of it.
    return id === SEGMENT ? WHOLE : start + size;
  });
}

/** `size` null: not known when it was written. */
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
