import { isUnknownRiffSize } from "../../kit/media-headers.ts";
import {
  type Box,
  type Format,
  MOST_XMP_BYTES,
  type Scan,
  type Source,
  type Splice,
  UnmarkableError,
  walk,
  xmpText,
} from "../source.ts";

const HAS_XMP = 0x04;
const HAS_ALPHA = 0x10;

/** Returns the changes that set the XMP flag in a WebP's `VP8X` header, which is added if missing. */
async function extended(source: Source, first: Box): Promise<readonly Splice[]> {
  if (first.type === "VP8X") {
    const flags = (await source.read(first.dataAt, 1)).readUInt8(0);
    return [{ at: first.dataAt, remove: 1, insert: Buffer.from([flags | HAS_XMP]) }];
  }
  return [{ at: first.at, remove: 0, insert: header(await pictureOf(source, first)) }];
}

interface Picture {
  readonly widthPx: number;
  readonly heightPx: number;
  readonly hasAlpha: boolean;
}

async function pictureOf(source: Source, { type, dataAt }: Box): Promise<Picture> {
  const head = await source.read(dataAt, 10);
  if (type === "VP8 ") {
    const size = { widthPx: head.readUInt16LE(6) & 0x3fff, heightPx: head.readUInt16LE(8) & 0x3fff };
    if (head.readUIntBE(3, 3) === 0x9d012a && size.widthPx > 0 && size.heightPx > 0)
      return { ...size, hasAlpha: false };
  }
  if (type === "VP8L" && head[0] === 0x2f) {
    const bits = head.readUInt32LE(1);
    const size = { widthPx: (bits & 0x3fff) + 1, heightPx: ((bits >>> 14) & 0x3fff) + 1 };
    return { ...size, hasAlpha: ((bits >>> 28) & 1) === 1 };
  }
  throw new UnmarkableError("its image cannot be read");
}

function header({ widthPx, heightPx, hasAlpha }: Picture): Buffer {
  const chunk = Buffer.from("VP8X\0\0\0\0\0\0\0\0\0\0\0\0\0\0", "latin1");
  chunk.writeUInt32LE(10, 4);
  chunk.writeUInt8(HAS_XMP | (hasAlpha ? HAS_ALPHA : 0), 8);
  chunk.writeUIntLE(widthPx - 1, 12, 3);
  chunk.writeUIntLE(heightPx - 1, 15, 3);
  return chunk;
}

const isRiff = (form: string) => (head: Buffer) =>
  head.toString("latin1", 0, 4) === "RIFF" && head.toString("latin1", 8, 12) === form;

/** Handles WAV. XMP is in the chunk `_PMX`, C2PA in `C2PA`. */
export const wav: Format = {
  contentType: "audio/wav",
  isIt: isRiff("WAVE"),
  scan: (source) => scan(source, "_PMX", async () => []),
};

/** Handles WebP. XMP is in the chunk `XMP `, C2PA in `C2PA`. */
export const webp: Format = {
  contentType: "image/webp",
  isIt: isRiff("WEBP"),
  scan: (source) => scan(source, "XMP ", extended),
};

async function scan(
  source: Source,
  xmpType: string,
  announce: (source: Source, first: Box) => Promise<readonly Splice[]>,
): Promise<Scan> {
  const size = (await source.read(4, 4)).readUInt32LE(0);
  const isUnknown = isUnknownRiffSize(size, source.sizeBytes - 8);
  const end = isUnknown ? source.sizeBytes : size + 8;
  if (end > source.sizeBytes) throw new UnmarkableError("it is truncated");
  const chunks = await walk(12, end, (at) => chunkAt(source, at, end));
  const [first] = chunks;
  if (first === undefined) throw new UnmarkableError("it is empty");
  const old = chunks.find(({ type }) => type === xmpType) ?? null;
  const unbounded = chunks.find((chunk) => chunk.isUnbounded);
  const announced = await announce(source, first);
  return {
    xmp: old === null ? null : xmpText(await packetOf(source, old)),
    isSigned: chunks.some(({ type }) => type === "C2PA"),
    withXmp: (packet) => {
      // Readers find nothing after a chunk of unknown length, so XMP goes before it. Otherwise, XMP goes to the end.
      const pad = unbounded === undefined && end % 2 === 1 ? 1 : 0;
      const insert = Buffer.concat([Buffer.alloc(pad), chunk(xmpType, Buffer.from(packet))]);
      const added: readonly Splice[] = [
        ...(old === null ? [] : [{ at: old.at, remove: old.end - old.at, insert: Buffer.alloc(0) }]),
        ...announced,
        { at: unbounded?.at ?? end, remove: 0, insert },
      ];
      return [...(isUnknown ? [] : [newSize(size, added)]), ...added];
    },
  };
}

interface Chunk extends Box {
  readonly isUnbounded: boolean;
}

async function chunkAt(source: Source, at: number, end: number): Promise<Chunk> {
  if (at + 8 > end) throw new UnmarkableError(`it is damaged at byte ${at}`);
  const head = await source.read(at, 8);
  const length = head.readUInt32LE(4);
  const type = head.toString("latin1", 0, 4);
  const isUnbounded = type === "data" && isUnknownRiffSize(length, end - at - 8);
  const dataEnd = isUnbounded ? end : at + 8 + length;
  // Some writers omit the last chunk's padding.
  const padded = dataEnd === end ? end : dataEnd + (dataEnd % 2);
  return { type, at, dataAt: at + 8, dataEnd, end: padded, isUnbounded };
}

function packetOf(source: Source, { dataAt, dataEnd }: Box): Promise<Buffer> {
  if (dataEnd - dataAt > MOST_XMP_BYTES) throw new UnmarkableError("its XMP metadata is larger than 1 MB");
  return source.read(dataAt, dataEnd - dataAt);
}

function newSize(size: number, added: readonly Splice[]): Splice {
  const now = added.reduce((sum, { remove, insert }) => sum + insert.length - remove, size);
  if (now >= 2 ** 32 - 1) throw new UnmarkableError("with the mark, it would exceed 4 GB, the maximum for its format");
  const insert = Buffer.alloc(4);
  insert.writeUInt32LE(now, 0);
  return { at: 4, remove: 4, insert };
}

function chunk(type: string, data: Buffer): Buffer {
  const head = Buffer.from(`${type}\0\0\0\0`, "latin1");
  head.writeUInt32LE(data.length, 4);
  return Buffer.concat([head, data, Buffer.alloc(data.length % 2)]);
}
