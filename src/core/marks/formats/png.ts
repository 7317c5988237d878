import { inflateSync } from "node:zlib";
import { pngChunk } from "../../kit/placeholder-media.ts";
import {
  type Box,
  type Format,
  MOST_XMP_BYTES,
  type Scan,
  type Source,
  UnmarkableError,
  walk,
  xmpText,
} from "../source.ts";

const SIGNATURE = Buffer.from("89504e470d0a1a0a", "hex");
const KEYWORD = "XML:com.adobe.xmp\0";
/** Start of the chunk's data: keyword, no compression, no language, no translated keyword. */
const XMP_HEAD = Buffer.from(`${KEYWORD}\0\0\0\0`, "latin1");

/** Handles PNG. XMP is in an `iTXt` chunk before the image data, C2PA in `caBX`. */
export const png: Format = {
  contentType: "image/png",
  isIt: (head) => head.subarray(0, 8).equals(SIGNATURE),
  scan,
};

async function scan(source: Source): Promise<Scan> {
  const chunks = await walk(SIGNATURE.length, source.sizeBytes, (at) => chunkAt(source, at));
  const [header] = chunks;
  if (header?.type !== "IHDR") throw new UnmarkableError("its first chunk is not IHDR");
  const old = await xmpChunk(source, chunks);
  return {
    xmp: old === null ? null : await packetOf(source, old),
    isSigned: chunks.some(({ type }) => type === "caBX"),
    withXmp: (packet) => {
      const insert = pngChunk("iTXt", Buffer.concat([XMP_HEAD, Buffer.from(packet)]));
      return [{ at: old?.at ?? header.end, remove: old === null ? 0 : old.end - old.at, insert }];
    },
  };
}

/** Returns the chunk at a position. Null after the last chunk, where unrelated data may follow. */
async function chunkAt(source: Source, at: number): Promise<Box | null> {
  const isOver = at > SIGNATURE.length && (await source.read(at - 8, 4)).toString("latin1") === "IEND";
  if (isOver) return null;
  const head = await source.read(at, 8);
  const dataEnd = at + 8 + head.readUInt32BE(0);
  return { type: head.toString("latin1", 4, 8), at, dataAt: at + 8, dataEnd, end: dataEnd + 4 };
}

async function xmpChunk(source: Source, chunks: readonly Box[]): Promise<Box | null> {
  for (const chunk of chunks) {
    if (chunk.type !== "iTXt" || chunk.dataEnd - chunk.dataAt < XMP_HEAD.length) continue;
    if ((await source.read(chunk.dataAt, KEYWORD.length)).toString("latin1") === KEYWORD) return chunk;
  }
  return null;
}

async function packetOf(source: Source, { dataAt, dataEnd }: Box): Promise<string> {
  if (dataEnd - dataAt > MOST_XMP_BYTES) throw new UnmarkableError("its XMP metadata is larger than 1 MB");
  const data = await source.read(dataAt, dataEnd - dataAt);
  const language = data.indexOf(0, KEYWORD.length + 2);
  const translated = language < 0 ? -1 : data.indexOf(0, language + 1);
  if (translated < 0) throw new UnmarkableError("its XMP cannot be read");
  const text = data.subarray(translated + 1);
  return xmpText(data[KEYWORD.length] === 0 ? text : inflated(text));
}

function inflated(data: Buffer): Buffer {
  try {
    return inflateSync(data, { maxOutputLength: MOST_XMP_BYTES });
  } catch {
    throw new UnmarkableError("its XMP cannot be read");
  }
}
