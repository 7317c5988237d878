import { open } from "node:fs/promises";
import { basename } from "node:path";
import { FilmError } from "./film-error.ts";

/** Pixels of one picture, three times those of 8K: a few bytes can claim a picture that fills any memory. */
export const MOST_PIXELS = 100_000_000;

/**
 * How ffmpeg and ffprobe are to open a foreign file: with the demuxer of its first bytes, no protocol but that of files,
 * so that nothing in it leads elsewhere, and no picture that is too large to be decoded. `known`: the demuxer of a file that we wrote.
 * @throws FilmError for a file of no known format
 */
export async function inputArgs(path: string, known?: string): Promise<readonly string[]> {
  const demuxer = known ?? (await sniffed(path));
  return ["-protocol_whitelist", "file", "-max_pixels", String(MOST_PIXELS), "-f", demuxer, "-i", `file:${path}`];
}

async function sniffed(path: string): Promise<string> {
  const demuxer = await sniff(path).catch((cause: unknown) => {
    throw new FilmError("CLIP_DAMAGED", `${basename(path)} cannot be read: ${String(cause)}`, { cause });
  });
  if (demuxer !== null) return demuxer;
  throw new FilmError("CLIP_DAMAGED", `${basename(path)} begins like no film, sound or picture that is read`);
}

/** What begins a file, by the demuxer that reads it. Nothing else is given to ffmpeg. */
const FORMATS: readonly (readonly [demuxer: string, bytes: string, at: number])[] = [
  ["mov", "ftyp", 4],
  ["mov", "moov", 4],
  ["mov", "mdat", 4],
  ["mov", "wide", 4],
  ["mov", "free", 4],
  ["matroska", "\x1a\x45\xdf\xa3", 0],
  ["avi", "AVI ", 8],
  ["wav", "WAVE", 8],
  ["webp_pipe", "WEBP", 8],
  ["png_pipe", "\x89PNG", 0],
  ["jpeg_pipe", "\xff\xd8\xff", 0],
  ["gif", "GIF8", 0],
  ["ogg", "OggS", 0],
  ["flac", "fLaC", 0],
  ["mp3", "ID3", 0],
  ["flv", "FLV\x01", 0],
];

const HEAD_BYTES = 512;

/**
 * The demuxer for a file, by its first bytes: a playlist that is called `film.mp4` would else be opened as a playlist, and
 * lead to other files. Null: of no format that is read.
 */
async function sniff(path: string): Promise<string | null> {
  const file = await open(path, "r");
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
    const head = buffer.subarray(0, bytesRead).toString("latin1");
    const found = FORMATS.find(([, bytes, at]) => head.startsWith(bytes, at));
    return found?.[0] ?? byFrames(buffer.subarray(0, bytesRead));
  } finally {
    await file.close();
  }
}

/** Formats that begin with a frame at once. */
function byFrames(head: Buffer): string | null {
  const [first = 0, second = 0] = head;
  if (first === 0x47 && head[188] === 0x47 && head[376] === 0x47) return "mpegts";
  if (first !== 0xff) return null;
  // ADTS says layer 0, MP3 layers 1 to 3.
  if ((second & 0xf6) === 0xf0) return "aac";
  return (second & 0xe0) === 0xe0 && (second & 0x06) !== 0 ? "mp3" : null;
}
