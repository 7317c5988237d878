import type { WindowedFile } from "./windowed-file.ts";

const MAX_ELEMENTS = 100_000;
const SEGMENT = 0x18538067;
const CLUSTER = 0x1f43b675;
/** What stands in a segment: SeekHead, Info, Tracks, Cluster, Cues, Chapters, Tags, Attachments, Void, CRC-32. */
const PARTS: ReadonlySet<number> = new Set([
  0x114d9b74,
  0x1549a966,
  0x1654ae6b,
  CLUSTER,
  0x1c53bb6b,
  0x1043a770,
  0x1254c367,
  0x1941a469,
  0xec,
  0xbf,
]);

/** Why the parts of a WebM file, one after the other, do not end where the file ends; null when they do. */
export async function segmentFault(file: WindowedFile): Promise<string | null> {
  const header = await elementAt(file, 0);
  const segment = header && (await elementAt(file, header.end));
  if (!segment || segment.id !== SEGMENT) return "it has no segment";
  const end = segment.isOpen ? file.size : segment.end;
  if (end > file.size) return "it is cut short";
  let at = segment.start;
  for (let count = 0; at < end; count++) {
    if (count === MAX_ELEMENTS) return `it has more than ${MAX_ELEMENTS} parts`;
    const part = await elementAt(file, at);
    if (!part || !PARTS.has(part.id)) return "one of its parts is of no known kind";
    // Live writers leave the size of a cluster open; where the next begins is the demuxer's to find.
    if (part.isOpen) return part.id === CLUSTER ? null : "one of its parts has no size";
    at = part.end;
  }
  return at === end ? null : "it is cut short";
}

interface Element {
  readonly id: number;
  readonly start: number;
  readonly end: number;
  readonly isOpen: boolean;
}

async function elementAt({ read }: WindowedFile, at: number): Promise<Element | null> {
  const view = await read({ at, size: 12 });
  const lengthAt = (place: number) => (place < view.byteLength ? Math.clz32(view.getUint8(place)) - 23 : 9);
  const idLength = lengthAt(0);
  const sizeLength = lengthAt(idLength);
  const length = idLength + sizeLength;
  if (idLength > 4 || sizeLength > 8 || length > view.byteLength) return null;
  let id = 0;
  for (let place = 0; place < idLength; place++) id = id * 256 + view.getUint8(place);
  let size = view.getUint8(idLength) & (0xff >> sizeLength);
  for (let place = idLength + 1; place < length; place++) size = size * 256 + view.getUint8(place);
  const isOpen = size >= 2 ** (7 * sizeLength) - 1;
  return { id, start: at + length, end: at + length + size, isOpen };
}
