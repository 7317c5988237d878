import { basename } from "node:path";
import { FilmError } from "./film-error.ts";
import { sniff } from "./sniff.ts";

/**
 * How ffmpeg and ffprobe are to open a foreign file: with the demuxer of its first bytes, and no protocol but that of
 * files, so that nothing in it leads elsewhere. @throws FilmError for a file of no known format
 */
export async function inputArgs(path: string): Promise<readonly string[]> {
  const demuxer = await sniff(path).catch((cause: unknown) => {
    throw new FilmError("CLIP_DAMAGED", `${basename(path)} cannot be read: ${String(cause)}`, { cause });
  });
  if (demuxer === null)
    throw new FilmError("CLIP_DAMAGED", `${basename(path)} begins like no film, sound or picture that is read`);
  return ["-protocol_whitelist", "file", "-f", demuxer, "-i", `file:${path}`];
}
