import { constants } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { open } from "../kit/files.ts";

export interface Source {
  readonly sizeBytes: number;
  /** Reads `length` bytes at a position. Throws {@link UnmarkableError} if the file is shorter. */
  readonly read: (at: number, length: number) => Promise<Buffer>;
}

interface OpenSource extends Source, AsyncDisposable {}

export async function openSource(path: string): Promise<OpenSource> {
  // Opening a pipe without a writer would block.
  const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    const stats = await file.stat();
    if (!stats.isFile()) throw new UnmarkableError("it is not a regular file");
    return { sizeBytes: stats.size, read: reader(file, stats.size), [Symbol.asyncDispose]: () => file.close() };
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** Files are read in blocks of this size, because they may have tens of thousands of tiny parts. */
const BLOCK_BYTES = 64 * 1024;

function reader(file: FileHandle, size: number): Source["read"] {
  let [blockAt, block]: [number, Buffer] = [0, Buffer.alloc(0)];
  const readAt = async (at: number, length: number) => {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(length), 0, length, at);
    if (bytesRead < length) throw new UnmarkableError("it shrank while being read");
    return buffer;
  };
  return async (at, length) => {
    if (at + length > size) throw new UnmarkableError("it is truncated");
    if (length > BLOCK_BYTES) return readAt(at, length);
    if (at < blockAt || at + length > blockAt + block.length)
      [blockAt, block] = [at, await readAt(at, Math.min(BLOCK_BYTES, size - at))];
    return Buffer.from(block.subarray(at - blockAt, at - blockAt + length));
  };
}

/** A box, chunk, segment or frame, depending on the format. */
export interface Box {
  readonly type: string;
  readonly at: number;
  readonly dataAt: number;
  readonly dataEnd: number;
  /** Offset of the next box, after padding and checksum. */
  readonly end: number;
}

const MOST_BOXES = 65_536;

export async function walk<B extends Box>(
  at: number,
  end: number,
  boxAt: (at: number) => Promise<B | null>,
): Promise<readonly B[]> {
  const boxes: B[] = [];
  for (let next = at; next < end; ) {
    const box = await boxAt(next);
    if (box === null) break;
    const isSound = box.end > next && box.end <= end && box.dataAt <= box.dataEnd && box.dataEnd <= box.end;
    if (!isSound) throw new UnmarkableError(`it is damaged at byte ${next}`);
    if (boxes.length === MOST_BOXES) throw new UnmarkableError(`it has more than ${MOST_BOXES} parts`);
    boxes.push(box);
    next = box.end;
  }
  return boxes;
}

/** An edit that replaces the bytes `[at, at + remove)` with `insert`. */
export interface Splice {
  readonly at: number;
  readonly remove: number;
  readonly insert: Uint8Array;
}

const PIECE_BYTES = 1024 * 1024;

/** Yields the source's bytes with the splices applied. Splices must not overlap. */
export async function* spliced(source: Source, splices: readonly Splice[]): AsyncIterable<Uint8Array> {
  let at = 0;
  for (const splice of splices.toSorted((a, b) => a.at - b.at)) {
    yield* range(source, at, splice.at);
    yield splice.insert;
    at = splice.at + splice.remove;
  }
  yield* range(source, at, source.sizeBytes);
}

async function* range(source: Source, from: number, to: number): AsyncIterable<Uint8Array> {
  for (let at = from; at < to; at += PIECE_BYTES) yield source.read(at, Math.min(PIECE_BYTES, to - at));
}

/** A file's marks cannot be read or written. The message is a clause, such as `it is truncated`. */
export class UnmarkableError extends Error {}

/** IPTC digital source types for media made by a model and for composites with such media. */
export type DigitalSourceType = (typeof sourceTypes)[number];

export const sourceTypes = ["trainedAlgorithmicMedia", "compositeWithTrainedAlgorithmicMedia"] as const;

export const NEWS_CODES = "http://cv.iptc.org/newscodes/digitalsourcetype/";

export const MOST_XMP_BYTES = 1024 * 1024;

export function xmpText(bytes: Uint8Array): string {
  if (bytes.length > MOST_XMP_BYTES) throw new UnmarkableError("its XMP metadata is larger than 1 MB");
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new UnmarkableError("its XMP is not in UTF-8");
  }
}

export function sourceTypeIn(packet: string): string | null {
  const attribute = /[\s:]DigitalSourceType\s*=\s*["']([^"'<>]{1,500})["']/.exec(packet)?.[1];
  const [, attributes = "", text = ""] =
    /<(?:[\w.-]{1,64}:)?DigitalSourceType(?=[\s/>])([^<>]{0,1000})>([^<>]{0,500})/.exec(packet) ?? [];
  const resource = /\bresource\s*=\s*["']([^"'<>]{1,500})["']/.exec(attributes)?.[1];
  return [attribute, resource, text.trim()].find((found) => found !== undefined && found !== "") ?? null;
}

export function linksManifest(packet: string): boolean {
  return /<(?:[\w.-]{1,64}:)?provenance[\s>]|[\s:]provenance\s*=\s*["']/.test(packet);
}

export function withSourceType(packet: string | null, type: DigitalSourceType): string {
  if (packet === null) return newPacket(description("", type));
  const closing = [...packet.matchAll(/<\/(?:[\w.-]{1,64}:)?RDF\s{0,100}>/g)].at(-1)?.index;
  if (closing === undefined) throw new UnmarkableError("its XMP cannot be read");
  // All descriptions in a packet share one subject, usually the empty one.
  const about = /\babout\s*=\s*["']([^"'<>&]{0,500})["']/.exec(packet)?.[1] ?? "";
  return `${packet.slice(0, closing)}${description(about, type)}${packet.slice(closing)}`;
}

/** Builds an RDF description with the source type. It declares its own prefixes, because the packet may use others. */
function description(about: string, type: DigitalSourceType): string {
  const property = `<Iptc4xmpExt:DigitalSourceType>${NEWS_CODES}${type}</Iptc4xmpExt:DigitalSourceType>`;
  const names =
    'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:Iptc4xmpExt="http://iptc.org/std/Iptc4xmpExt/2008-02-29/"';
  return `<rdf:Description rdf:about="${about}" ${names}>${property}</rdf:Description>\n`;
}

function newPacket(descriptions: string): string {
  return `<?xpacket begin="\uFEFF" id="W5M0MpCehiHzreSzNTczkc9d"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/">
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
${descriptions}</rdf:RDF>
</x:xmpmeta>
<?xpacket end="w"?>`;
}

export interface Scan {
  readonly xmp: string | null;
  /** True if the file contains a C2PA manifest, which is valid only for the file's exact bytes. */
  readonly isSigned: boolean;
  readonly withXmp: (packet: string) => readonly Splice[];
}

export interface Format {
  readonly contentType: string;
  /** Returns whether a file has this format. `head` contains its first 16 bytes, or fewer if the file is shorter. */
  readonly isIt: (head: Buffer) => boolean;
  readonly scan: (source: Source) => Promise<Scan>;
}
