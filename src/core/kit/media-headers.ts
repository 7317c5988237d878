export interface WavHeader {
  readonly dataAt: number;
  readonly dataBytes: number;
  readonly formatAt: number;
  /** True if the data's size was unknown when the header was written; the data then extends to the end of the file. */
  readonly isOpen: boolean;
  readonly byteRate: number;
}

/** Any size from this value up means "unknown". Some programs write 0 or 2,000,000,000 instead. */
const LARGEST = 0x7fff_ff00;
const BILLION = 1_000_000_000;

/** True if a size in a RIFF header means "unknown". `held` is the number of bytes present. */
export function isUnknownRiffSize(size: number, held: number): boolean {
  if (size === 0) return held > 0;
  return size > held && (size >= LARGEST || (size >= BILLION && held < size / 10));
}

/** Reads a WAV header; null for other files, or if `begin` is too short to find the data. */
export function readWavHeader(begin: Buffer, fileBytes: number): WavHeader | null {
  if (begin.toString("latin1", 0, 4) !== "RIFF" || begin.toString("latin1", 8, 12) !== "WAVE") return null;
  let [formatAt, byteRate] = [0, 0];
  for (let at = 12; at + 8 <= begin.length; ) {
    const type = begin.toString("latin1", at, at + 4);
    const size = begin.readUInt32LE(at + 4);
    if (type === "fmt " && at + 24 <= begin.length) [formatAt, byteRate] = [at + 8, begin.readUInt32LE(at + 16)];
    if (type === "data") {
      const held = Math.max(0, fileBytes - at - 8);
      const isOpen = isUnknownRiffSize(size, held);
      return { dataAt: at + 8, dataBytes: isOpen ? held : Math.min(size, held), isOpen, formatAt, byteRate };
    }
    at += 8 + size + (size % 2);
  }
  return null;
}

export function closedWavBegin(begin: Buffer, { dataAt, dataBytes }: WavHeader): Buffer {
  const closed = Buffer.from(begin.subarray(0, dataAt));
  closed.writeUInt32LE(Math.min(0xffff_ffff, dataAt - 8 + dataBytes), 4);
  closed.writeUInt32LE(Math.min(0xffff_ffff, dataBytes), dataAt - 4);
  return closed;
}

/** How to rotate or flip an image for display, numbered as in EXIF. 1 is upright. */
export type Orientation = 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8;

/** Reads the EXIF orientation of a JPEG, PNG, WebP or TIFF; 1 if none is set. The beginning of the file is enough. */
export function exifOrientation(bytes: Buffer): Orientation {
  const exif = exifIn(bytes);
  return exif === null ? 1 : orientationIn(exif);
}

const text = (bytes: Buffer, at: number, length: number) => bytes.toString("latin1", at, at + length);

function exifIn(bytes: Buffer): Buffer | null {
  if (text(bytes, 0, 2) === "\xff\xd8") return jpegExif(bytes);
  if (/^(?:II\*\0|MM\0\*)/.test(text(bytes, 0, 4))) return bytes;
  if (text(bytes, 0, 4) === "\x89PNG") return chunk(bytes, { from: 8, type: "eXIf", typeAt: 4, sizeAt: 0, around: 12 });
  if (text(bytes, 0, 4) !== "RIFF" || text(bytes, 8, 4) !== "WEBP") return null;
  const found = chunk(bytes, { from: 12, type: "EXIF", typeAt: 0, sizeAt: 4, around: 8 });
  return found !== null && text(found, 0, 6) === "Exif\0\0" ? found.subarray(6) : found;
}

function jpegExif(bytes: Buffer): Buffer | null {
  for (let at = 2; at + 10 <= bytes.length && bytes[at] === 0xff && bytes[at + 1] !== 0xda; ) {
    const size = bytes.readUInt16BE(at + 2);
    if (bytes[at + 1] === 0xe1 && text(bytes, at + 4, 6) === "Exif\0\0") return bytes.subarray(at + 10, at + 2 + size);
    at += 2 + size;
  }
  return null;
}

interface Chunks {
  readonly from: number;
  readonly type: string;
  readonly typeAt: number;
  readonly sizeAt: number;
  readonly around: number;
}

function chunk(bytes: Buffer, { from, type, typeAt, sizeAt, around }: Chunks): Buffer | null {
  for (let at = from; at + 8 <= bytes.length; ) {
    const size = sizeAt === 0 ? bytes.readUInt32BE(at) : bytes.readUInt32LE(at + sizeAt);
    if (text(bytes, at + typeAt, 4) === type) return bytes.subarray(at + 8, at + 8 + size);
    at += around + size + (sizeAt === 0 ? 0 : size % 2);
  }
  return null;
}

const ORIENTATION = 0x112;

function orientationIn(exif: Buffer): Orientation {
  const isLittle = text(exif, 0, 2) === "II";
  if (exif.length < 14 || (!isLittle && text(exif, 0, 2) !== "MM")) return 1;
  const u16 = (at: number) => (at + 2 > exif.length ? 0 : isLittle ? exif.readUInt16LE(at) : exif.readUInt16BE(at));
  const first = isLittle ? exif.readUInt32LE(4) : exif.readUInt32BE(4);
  for (let index = 0; index < u16(first); index++) {
    const at = first + 2 + 12 * index;
    const value = u16(at + 8);
    if (u16(at) === ORIENTATION) return value >= 1 && value <= 8 ? (value as Orientation) : 1;
  }
  return 1;
}
