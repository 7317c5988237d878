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

const HEAD_BYTES = 10;
const OWNER = Buffer.from("XMP\0", "latin1");
/** Maximum size of a tag, in bytes. The format stores the size as a 28-bit number. */
const MOST_TAG_BYTES = 0x0fff_ffff;

/** Handles MP3. XMP is in a `PRIV` frame of an ID3 2.3 or 2.4 tag, C2PA in a `GEOB` frame. */
export const mp3: Format = {
  contentType: "audio/mpeg",
  isIt: (head) => hasTag(head) || isFrame(head),
  scan: async (source) =>
    hasTag(await source.read(0, Math.min(source.sizeBytes, HEAD_BYTES))) ? scanTag(source) : untagged,
};

const hasTag = (head: Buffer) => head.toString("latin1", 0, 3) === "ID3";

function isFrame(head: Buffer): boolean {
  if (head.length < 4) return false;
  const [sync, layer, rate] = head as unknown as readonly [number, number, number];
  return (
    sync === 0xff && (layer & 0xe6) === 0xe2 && (layer & 0x18) !== 0x08 && (rate & 0xf0) < 0xf0 && (rate & 0x0c) < 0x0c
  );
}

const untagged: Scan = {
  xmp: null,
  isSigned: false,
  withXmp: (packet) => {
    const frame = privateFrame(packet, 3);
    const head = Buffer.from("ID3\x03\0\0\0\0\0\0", "latin1");
    writeSynchsafe(head, frame.length, 6);
    return [{ at: 0, remove: 0, insert: Buffer.concat([head, frame]) }];
  },
};

interface Frame extends Box {
  readonly head: Buffer;
  /** True if the frame's data is not compressed, encrypted or otherwise transformed. */
  readonly isPlain: boolean;
}

async function scanTag(source: Source): Promise<Scan> {
  const head = await source.read(0, HEAD_BYTES);
  const version = head[3]!;
  if (version !== 3 && version !== 4) throw new UnmarkableError(`its ID3 tag is version 2.${version}`);
  // Extended headers, footers and unsynchronized tags are too rare to support.
  if ((head[5]! & 0xf0) !== 0) throw new UnmarkableError("its ID3 tag has an unsupported structure");
  const size = readSynchsafe(head, 6);
  const end = HEAD_BYTES + size;
  if (end > source.sizeBytes) throw new UnmarkableError("it is truncated");
  const frames = await walk(HEAD_BYTES, end, (at) => frameAt(source, at, end, version));
  const old = frames.find(({ type, head }) => type === "PRIV" && head.subarray(0, 4).equals(OWNER)) ?? null;
  return {
    xmp: old === null ? null : xmpText(await packetOf(source, old)),
    isSigned: frames.some(
      ({ type, head }) => type === "GEOB" && /application\/(x-)?c2pa/.test(head.toString("latin1")),
    ),
    withXmp: (packet) => {
      const insert = privateFrame(packet, version);
      const remove = old === null ? 0 : old.end - old.at;
      const newSize = Buffer.alloc(4);
      writeSynchsafe(newSize, size + insert.length - remove, 0);
      return [
        { at: 6, remove: 4, insert: newSize },
        { at: old?.at ?? frames.at(-1)?.end ?? HEAD_BYTES, remove, insert },
      ];
    },
  };
}

async function frameAt(source: Source, at: number, end: number, version: number): Promise<Frame | null> {
  if (end - at < HEAD_BYTES) return null;
  const head = await source.read(at, HEAD_BYTES);
  if (head[0] === 0) return null;
  const type = head.toString("latin1", 0, 4);
  if (!/^[A-Z0-9]{4}$/.test(type)) throw new UnmarkableError(`its ID3 tag is damaged at byte ${at}`);
  const dataAt = at + HEAD_BYTES;
  const dataEnd = dataAt + (version === 4 ? readSynchsafe(head, 4) : head.readUInt32BE(4));
  if (dataEnd > end) throw new UnmarkableError(`its ID3 tag is damaged at byte ${at}`);
  const first = await source.read(dataAt, Math.min(dataEnd - dataAt, 64));
  return { type, at, dataAt, dataEnd, end: dataEnd, head: first, isPlain: head[9] === 0 };
}

function packetOf(source: Source, { dataAt, dataEnd, isPlain }: Frame): Promise<Buffer> {
  if (!isPlain) throw new UnmarkableError("its XMP cannot be read");
  if (dataEnd - dataAt > MOST_XMP_BYTES) throw new UnmarkableError("its XMP metadata is larger than 1 MB");
  return source.read(dataAt + OWNER.length, dataEnd - dataAt - OWNER.length);
}

function privateFrame(packet: string, version: number): Buffer {
  const data = Buffer.concat([OWNER, Buffer.from(packet)]);
  const head = Buffer.from("PRIV\0\0\0\0\0\0", "latin1");
  if (version === 4) writeSynchsafe(head, data.length, 4);
  else head.writeUInt32BE(data.length, 4);
  return Buffer.concat([head, data]);
}

function readSynchsafe(bytes: Buffer, at: number): number {
  const four = bytes.subarray(at, at + 4);
  if (four.some((byte) => byte > 0x7f)) throw new UnmarkableError("its ID3 tag is damaged");
  return four.reduce((sum, byte) => sum * 128 + byte, 0);
}

function writeSynchsafe(bytes: Buffer, value: number, at: number): void {
  if (value > MOST_TAG_BYTES) throw new UnmarkableError("its ID3 tag has no room left for a mark");
  for (let index = 0; index < 4; index++) bytes[at + index] = (value >>> (7 * (3 - index))) & 0x7f;
}
