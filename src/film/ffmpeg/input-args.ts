import { basename } from "node:path";
import { open } from "../../core/kit/files.ts";
import { FilmError } from "./film-error.ts";

/** Maximum image size, in pixels: three times 8K. Even a tiny file can claim to contain an image of any size. */
export const MOST_PIXELS = 100_000_000;

/**
 * Returns arguments that open an untrusted file safely. For a file made by this program, pass its demuxer as `known`.
 */
export async function inputArgs(path: string, known?: string): Promise<readonly string[]> {
  const demuxer = known ?? (await sniffed(path));
  return ["-protocol_whitelist", "file", "-max_pixels", String(MOST_PIXELS), "-f", demuxer, "-i", `file:${path}`];
}

async function sniffed(path: string): Promise<string> {
  const head = await headOf(path, HEAD_BYTES);
  const at = (bytes: string, from: number) => head.toString("latin1", from, from + bytes.length) === bytes;
  const unread = UNREAD.find(({ begin }) => begin.some(([bytes, from]) => at(bytes, from)));
  if (unread !== undefined || isAnimatedWebp(head)) {
    const { is, instead } = unread ?? { is: "an animated WebP", instead: "a GIF or a video" };
    throw new FilmError("CLIP_FORMAT", `${basename(path)} is ${is}, which is not supported; save it as ${instead}`);
  }
  const demuxer = FORMATS.find(([, bytes, from]) => at(bytes, from))?.[0] ?? byFrames(head);
  if (demuxer !== null) return demuxer;
  throw new FilmError("CLIP_FORMAT", `${basename(path)} is not a supported video, audio or image file`);
}

export async function headOf(path: string, most = PICTURE_BYTES): Promise<Buffer> {
  try {
    await using file = await open(path, "r");
    const size = Math.min(most, (await file.stat()).size);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(size), 0, size, 0);
    return buffer.subarray(0, bytesRead);
  } catch (cause) {
    throw new FilmError("CLIP_DAMAGED", `${basename(path)} cannot be read: ${String(cause)}`, { cause });
  }
}

export function isPictureFormat(demuxer: string): boolean {
  return demuxer.endsWith("_pipe");
}

export async function isStillMov(path: string): Promise<boolean> {
  return (await headOf(path, HEAD_BYTES)).toString("latin1", 4, 12) === "ftypavif";
}

function isAnimatedWebp(head: Buffer): boolean {
  return head.toString("latin1", 8, 16) === "WEBPVP8X" && ((head[20] ?? 0) & 2) !== 0;
}

type Begin = readonly (readonly [bytes: string, at: number])[];
const brands = (...names: readonly string[]): Begin => names.map((name) => [`ftyp${name}`, 4] as const);

const UNREAD: readonly { readonly begin: Begin; readonly is: string; readonly instead: string }[] = [
  {
    begin: brands("heic", "heix", "heim", "heis", "hevc", "mif1", "msf1"),
    is: "a HEIC image",
    instead: "JPEG or PNG",
  },
  { begin: [["\xff\x0a", 0], ["JXL ", 4]], is: "a JPEG XL image", instead: "JPEG or PNG" }, // biome-ignore format: one line
  { begin: [["8BPS", 0]], is: "a Photoshop document", instead: "PNG" },
  { begin: [["%PDF", 0]], is: "a PDF", instead: "PNG" },
  { begin: [["<svg", 0], ["<?xml", 0]], is: "SVG or other XML", instead: "PNG" }, // biome-ignore format: one line
  { begin: [["MThd", 0]], is: "MIDI", instead: "WAV or MP3" },
];

/** Formats that are recognized by their first bytes. Files in other formats are not passed to ffmpeg. */
const FORMATS: readonly (readonly [demuxer: string, bytes: string, at: number])[] = [
  ["mov", "ftyp", 4],
  ["mov", "moov", 4],
  ["mov", "mdat", 4],
  ["mov", "wide", 4],
  ["mov", "free", 4],
  ["matroska", "\x1a\x45\xdf\xa3", 0],
  ["avi", "AVI ", 8],
  ["wav", "WAVE", 8],
  ["aiff", "AIFF", 8],
  ["aiff", "AIFC", 8],
  ["caf", "caff", 0],
  ["amr", "#!AMR", 0],
  ["asf", "\x30\x26\xb2\x75\x8e\x66\xcf\x11", 0],
  ["mpeg", "\0\0\x01\xba", 0],
  ["webp_pipe", "WEBP", 8],
  ["png_pipe", "\x89PNG", 0],
  ["jpeg_pipe", "\xff\xd8\xff", 0],
  ["tiff_pipe", "II*\0", 0],
  ["tiff_pipe", "MM\0*", 0],
  ["bmp_pipe", "BM", 0],
  ["gif", "GIF8", 0],
  ["ogg", "OggS", 0],
  ["flac", "fLaC", 0],
  ["mp3", "ID3", 0],
  ["flv", "FLV\x01", 0],
];

const HEAD_BYTES = 512;
/** Number of bytes to read from the start of an image file, enough to include its orientation. */
const PICTURE_BYTES = 4 * 1024 * 1024;

function byFrames(head: Buffer): string | null {
  const [first = 0, second = 0] = head;
  if (first === 0x47 && head[188] === 0x47 && head[376] === 0x47) return "mpegts";
  if (first !== 0xff) return null;
  // An ADTS header states layer 0, and an MP3 header states layer 1, 2 or 3.
  if ((second & 0xf6) === 0xf0) return "aac";
  return (second & 0xe0) === 0xe0 && (second & 0x06) !== 0 ? "mp3" : null;
}
