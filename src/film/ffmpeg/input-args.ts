import { basename } from "node:path";
import { FilmError } from "./film-error.ts";
import { sniff } from "./sniff.ts";

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
