import { fileTypeFromBuffer } from "file-type";
import { open } from "../../../core/kit/files.ts";

export interface Format {
  readonly kind: "image" | "video" | "audio";
  readonly contentType: string;
  readonly reader: "canvas" | "demuxer" | "mp3" | "flac" | "ogg";
}

function format(kind: Format["kind"], type: string, reader: Format["reader"]): Format {
  return { kind, contentType: `${kind}/${type}`, reader };
}

const FORMATS: ReadonlyMap<string, Format> = new Map([
  ["image/png", format("image", "png", "canvas")],
  ["image/apng", format("image", "png", "canvas")],
  ["image/jpeg", format("image", "jpeg", "canvas")],
  ["image/webp", format("image", "webp", "canvas")],
  ["image/gif", format("image", "gif", "canvas")],
  ["image/avif", format("image", "avif", "canvas")],
  ["video/mp4", format("video", "mp4", "demuxer")],
  ["video/x-m4v", format("video", "x-m4v", "demuxer")],
  ["video/quicktime", format("video", "quicktime", "demuxer")],
  ["video/webm", format("video", "webm", "demuxer")],
  ["audio/wav", format("audio", "wav", "demuxer")],
  ["audio/vnd.wave", format("audio", "wav", "demuxer")],
  ["audio/mp4", format("audio", "mp4", "demuxer")],
  ["audio/x-m4a", format("audio", "mp4", "demuxer")],
  ["audio/mpeg", format("audio", "mpeg", "mp3")],
  ["audio/ogg", format("audio", "ogg", "ogg")],
  ["audio/ogg; codecs=opus", format("audio", "ogg", "ogg")],
  ["audio/flac", format("audio", "flac", "flac")],
]);

const ACCEPTED = "PNG, JPEG, WebP, GIF, AVIF, MP4, MOV, WebM, WAV, MP3, M4A, OGG or FLAC";
const HEAD_BYTES = 65_536;

export interface FileEnds {
  readonly path: string;
  readonly sizeBytes: number;
  readonly head: Buffer;
  readonly tail: Buffer;
}

export async function endsOf(path: string): Promise<FileEnds> {
  await using file = await open(path);
  const { size } = await file.stat();
  const read = async (at: number) => {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, at);
    return buffer.subarray(0, bytesRead);
  };
  const head = await read(0);
  return { path, sizeBytes: size, head, tail: size <= HEAD_BYTES ? head : await read(size - HEAD_BYTES) };
}

export async function sniff({ head }: FileEnds): Promise<Format> {
  if (head.length === 0) throw new Error("the file is empty");
  // The detector fails on a PNG with damaged chunks, because it searches the chunks for animation.
  const isPng = head.toString("latin1", 0, 8) === "\x89PNG\r\n\x1a\n";
  const type = isPng ? "image/png" : (await fileTypeFromBuffer(head.subarray(0, 4096)).catch(() => undefined))?.mime;
  if (type === undefined) throw new Error(`the file is not in an accepted format (${ACCEPTED})`);
  const known = FORMATS.get(type);
  if (known) return known;
  throw new Error(`${type} is not supported (${ACCEPTED})`);
}

const CUT = "it is truncated";

/** Returns why the file is incomplete, or null. Decoders would silently fill in the missing parts. */
export function missingEnd({ sizeBytes, head, tail }: FileEnds, { contentType }: Format): string | null {
  switch (contentType) {
    case "image/gif":
      return tail.at(-1) === 0x3b ? null : CUT;
    case "image/jpeg":
      return tail.includes(Buffer.from([0xff, 0xd9])) ? null : CUT;
    case "image/webp":
    case "audio/wav": {
      const stated = head.length < 8 ? sizeBytes : head.readUInt32LE(4) + 8;
      // A streaming writer leaves the size unset.
      return stated > sizeBytes && stated < 0xffff_ffff ? CUT : null;
    }
    case "audio/ogg": {
      const page = tail.subarray(Math.max(0, tail.lastIndexOf("OggS")));
      const segments = page.subarray(27, 27 + (page[26] ?? 0));
      const end = 27 + segments.length + segments.reduce((sum, size) => sum + size, 0);
      return end === page.length ? null : CUT;
    }
    case "video/webm":
      return hasKnownParts(head) ? null : "the file contains an unknown element";
    default:
      return null;
  }
}

const SEGMENT = "18538067";
const PARTS = /^(114d9b74|1549a966|1654ae6b|1f43b675|1c53bb6b|1043a770|1254c367|1941a469|ec|bf)$/;

/**
 * Returns whether a WebM file begins with known elements. Other files are refused, because reading them may never end.
 */
function hasKnownParts(head: Buffer): boolean {
  const lengthAt = (at: number) => Math.clz32(head[at] ?? 0) - 23;
  for (let [at, count] = [0, 0]; at + 12 < head.length; count++) {
    const idLength = lengthAt(at);
    const sizeLength = lengthAt(at + idLength);
    if (idLength > 4 || sizeLength > 8) return false;
    const id = head.toString("hex", at, at + idLength);
    if (count === 1 ? id !== SEGMENT : count > 1 && !PARTS.test(id)) return false;
    at += idLength;
    const size = Number(`0x${head.toString("hex", at, at + sizeLength)}`) - 2 ** (7 * sizeLength);
    at += sizeLength + (id === SEGMENT ? 0 : size);
  }
  return true;
}
