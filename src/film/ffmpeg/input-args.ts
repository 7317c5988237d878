import { basename } from "node:path";
import { FilmError } from "./film-error.ts";
import { sniff } from "./sniff.ts";

/**
 * How ffmpeg and ffprobe are to open a foreign file: with the demuxer of its first bytes, and no protocol but that of
 * files, so that nothing in it leads elsewhere. `known`: the demuxer of a file that we wrote.
 * @throws FilmError for a file of no known format
 */
export async function inputArgs(path: string, known?: string): Promise<readonly string[]> {
  const demuxer = known ?? (await sniffed(path));
  return ["-protocol_whitelist", "file", "-f", demuxer, "-i", `file:${path}`];
}

async function sniffed(path: string): Promise<string> {
  const demuxer = await sniff(path).catch((cause: unknown) => {
    throw new FilmError("CLIP_DAMAGED", `${basename(path)} cannot be read: ${String(cause)}`, { cause });
  });
  if (demuxer !== null) return demuxer;
  throw new FilmError("CLIP_DAMAGED", `${basename(path)} begins like no film, sound or picture that is read`);
}
