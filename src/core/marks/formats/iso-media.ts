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

const XMP = "be7acfcb97a942e89c71999491e3afac";
const C2PA = "d8fec3d61b0e483c92975828877ec481";
const UUID_BYTES = 16;
const FIRST_BOXES = new Set(["moov", "mdat", "wide", "free", "skip"]);
/** Brands of image formats. They are not handled here, because they store XMP in a different way. */
const PICTURES = new Set(["avif", "avis", "mif1", "msf1", "heic", "heix", "hevc", "hevx", "heim", "heis"]);

/** Handles MP4, M4A and MOV. XMP goes into a `uuid` box at the end, so that no offset in the file changes. */
export const isoMedia: Format = {
  contentType: "video/mp4",
  isIt: (head) => {
    const type = head.toString("latin1", 4, 8);
    return type === "ftyp" ? !PICTURES.has(head.toString("latin1", 8, 12)) : FIRST_BOXES.has(type);
  },
  scan,
};

interface IsoBox extends Box {
  readonly uuid: string | null;
  /** True if the box extends to the end of the file instead of having a size. */
  readonly isOpen: boolean;
}

async function scan(source: Source): Promise<Scan> {
  const boxes = await walk(0, source.sizeBytes, (at) => boxAt(source, at, source.sizeBytes));
  const xmpBox = boxes.find(({ uuid }) => uuid === XMP) ?? null;
  const found = xmpBox ?? (await quickTimeXmp(source, boxes));
  return {
    xmp: found === null ? null : xmpText(await packetOf(source, found)),
    isSigned: boxes.some(({ uuid }) => uuid === C2PA),
    withXmp: (packet) => [...without(xmpBox, boxes), ...append(packet, boxes)],
  };
}

async function boxAt(source: Source, at: number, end: number): Promise<IsoBox> {
  if (at + 8 > end) throw new UnmarkableError(`it is damaged at byte ${at}`);
  const head = await source.read(at, Math.min(end - at, 16 + UUID_BYTES));
  const type = head.toString("latin1", 4, 8);
  const size = head.readUInt32BE(0);
  const headBytes = size === 1 ? 16 : 8;
  if (head.length < headBytes) throw new UnmarkableError(`it is damaged at byte ${at}`);
  // A size that exceeds safe integers lies beyond the end of any file.
  const boxEnd = size === 0 ? end : at + (size === 1 ? Number(head.readBigUInt64BE(8)) : size);
  const isNamed = type === "uuid" && boxEnd >= at + headBytes + UUID_BYTES && head.length >= headBytes + UUID_BYTES;
  const uuid = isNamed ? head.toString("hex", headBytes, headBytes + UUID_BYTES) : null;
  const dataAt = at + headBytes + (isNamed ? UUID_BYTES : 0);
  return { type, at, dataAt, dataEnd: boxEnd, end: boxEnd, uuid, isOpen: size === 0 };
}

async function quickTimeXmp(source: Source, boxes: readonly IsoBox[]): Promise<IsoBox | null> {
  let within = boxes;
  for (const type of ["moov", "udta"]) {
    const box = within.find((candidate) => candidate.type === type);
    if (box === undefined) return null;
    within = await walk(box.dataAt, box.dataEnd, (at) => innerBoxAt(source, at, box.dataEnd));
  }
  return within.find(({ type }) => type === "XMP_") ?? null;
}

/**
 * Returns the box at a position. Null if fewer than 8 bytes remain, as in QuickTime's user data, where four zero bytes
 * follow the last box.
 */
async function innerBoxAt(source: Source, at: number, end: number): Promise<IsoBox | null> {
  return end - at < 8 ? null : boxAt(source, at, end);
}

function packetOf(source: Source, { dataAt, dataEnd }: Box): Promise<Buffer> {
  if (dataEnd - dataAt > MOST_XMP_BYTES) throw new UnmarkableError("its XMP metadata is larger than 1 MB");
  return source.read(dataAt, dataEnd - dataAt);
}

function without(old: IsoBox | null, boxes: readonly IsoBox[]): readonly Splice[] {
  if (old === null) return [];
  if (old === boxes.at(-1)) return [{ at: old.at, remove: old.end - old.at, insert: Buffer.alloc(0) }];
  return [{ at: old.at + 4, remove: 4, insert: Buffer.from("free", "latin1") }];
}

function append(packet: string, boxes: readonly IsoBox[]): readonly Splice[] {
  const last = boxes.at(-1);
  if (last === undefined) throw new UnmarkableError("it is empty");
  const insert = uuidBox(Buffer.from(packet));
  // Players look for the index of fragments at the very end, so the mark goes before it.
  if (last.type === "mfra") return [{ at: last.at, remove: 0, insert }];
  return [...closed(last), { at: last.end, remove: 0, insert }];
}

function closed({ at, end, isOpen, uuid }: IsoBox): readonly Splice[] {
  if (!isOpen || uuid === XMP) return [];
  if (end - at > 0xffff_ffff)
    throw new UnmarkableError("its last box (atom) is larger than 4 GB and has no explicit size");
  const insert = Buffer.alloc(4);
  insert.writeUInt32BE(end - at, 0);
  return [{ at, remove: 4, insert }];
}

function uuidBox(data: Buffer): Buffer {
  const head = Buffer.from(`\0\0\0\0uuid`, "latin1");
  head.writeUInt32BE(8 + UUID_BYTES + data.length, 0);
  return Buffer.concat([head, Buffer.from(XMP, "hex"), data]);
}
