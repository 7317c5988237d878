import { type Box, type Format, type Scan, type Source, UnmarkableError, walk, xmpText } from "../source.ts";

const XMP_HEAD = Buffer.from("http://ns.adobe.com/xap/1.0/\0", "latin1");
const MOST_DATA_BYTES = 65_533;

/**
 * Handles JPEG files. XMP is stored in an `APP1` segment before the image data, and C2PA as JUMBF in `APP11` segments.
 */
export const jpeg: Format = {
  contentType: "image/jpeg",
  isIt: (head) => head.length > 3 && head.readUIntBE(0, 3) === 0xffd8ff,
  scan,
};

interface Segment extends Box {
  readonly head: Buffer;
}

async function scan(source: Source): Promise<Scan> {
  const segments = await walk(2, source.sizeBytes, (at) => segmentAt(source, at));
  const old = segments.find(isXmp) ?? null;
  // A multi-picture file stores offsets from this segment, so nothing after it may move.
  const pictures = segments.find(({ type, head }) => type === "e2" && head.toString("latin1", 0, 4) === "MPF\0");
  const after = segments.findIndex((segment) => !isLeading(segment));
  const place = after < 0 ? 2 : (segments[after - 1]?.end ?? 2);
  return {
    xmp: old === null ? null : xmpText(await source.read(old.dataAt + XMP_HEAD.length, xmpLength(old))),
    isSigned: segments.some(({ type, head }) => type === "eb" && head.toString("latin1", 0, 2) === "JP"),
    withXmp: (packet) => {
      if (old !== null && pictures !== undefined && pictures.at < old.at)
        throw new UnmarkableError("it contains several images, and adding a mark would change their offsets");
      const insert = segment(packet);
      return [{ at: old?.at ?? place, remove: old === null ? 0 : old.end - old.at, insert }];
    },
  };
}

async function segmentAt(source: Source, at: number): Promise<Segment | null> {
  const [lead, marker] = await source.read(at, 2);
  if (lead !== 0xff) throw new UnmarkableError(`it is damaged at byte ${at}`);
  const type = marker!.toString(16);
  if (type === "da" || type === "d9") return null;
  const none = { type, at, dataAt: at, dataEnd: at, head: Buffer.alloc(0) };
  if (type === "ff") return { ...none, end: at + 1 }; // a fill byte
  if (type === "1" || /^d[0-7]$/.test(type)) return { ...none, end: at + 2 };
  const end = at + 2 + (await source.read(at + 2, 2)).readUInt16BE(0);
  if (end < at + 4 || end > source.sizeBytes) throw new UnmarkableError(`it is damaged at byte ${at}`);
  const head = await source.read(at + 4, Math.min(end - at - 4, XMP_HEAD.length));
  return { type, at, dataAt: at + 4, dataEnd: end, end, head };
}

const isXmp = ({ type, head }: Segment) => type === "e1" && head.equals(XMP_HEAD);
const xmpLength = ({ dataAt, dataEnd }: Box) => dataEnd - dataAt - XMP_HEAD.length;
/** True for JFIF and Exif segments, which readers expect first. */
const isLeading = ({ type, head }: Segment) =>
  type === "e0" || (type === "e1" && head.toString("latin1", 0, 4) === "Exif");

function segment(packet: string): Buffer {
  const data = Buffer.concat([XMP_HEAD, Buffer.from(packet)]);
  if (data.length > MOST_DATA_BYTES) throw new UnmarkableError("its XMP has no room left for a mark");
  const head = Buffer.from([0xff, 0xe1, 0, 0]);
  head.writeUInt16BE(data.length + 2, 2);
  return Buffer.concat([head, data]);
}
