import type { Source } from "../source.ts";
import type { Splice } from "../splice.ts";
import { UnmarkableError } from "../unmarkable.ts";
import type { Box } from "../walk.ts";

const HAS_XMP = 0x04;
const HAS_ALPHA = 0x10;

/** The changes that make a WebP file say in its header that it has XMP; one without that header gets it. */
export async function extended(source: Source, first: Box): Promise<readonly Splice[]> {
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
  throw new UnmarkableError("its picture cannot be read");
}

function header({ widthPx, heightPx, hasAlpha }: Picture): Buffer {
  const chunk = Buffer.from("VP8X\0\0\0\0\0\0\0\0\0\0\0\0\0\0", "latin1");
  chunk.writeUInt32LE(10, 4);
  chunk.writeUInt8(HAS_XMP | (hasAlpha ? HAS_ALPHA : 0), 8);
  chunk.writeUIntLE(widthPx - 1, 12, 3);
  chunk.writeUIntLE(heightPx - 1, 15, 3);
  return chunk;
}
