import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);

/** Makes media with ffmpeg and overwrites existing files; the same arguments give the same bytes. */
export async function ffmpeg(...args: readonly string[]): Promise<void> {
  await run("ffmpeg", ["-nostdin", "-v", "error", "-y", ...args]);
}

/** Reads metadata of files with exiftool, by group and tag, such as `XMP-iptcExt:DigitalSourceType`; in the given order. */
export async function exiftool(
  ...paths: readonly string[]
): Promise<readonly { readonly [tag: string]: string | number }[]> {
  const { stdout } = await run("exiftool", ["-j", "-G1", "-n", "-Validate", "-All", ...paths], {
    maxBuffer: 64 * 1024 * 1024,
  });
  return JSON.parse(stdout);
}

/** A hash of the decoded pictures and sound in a file. */
export async function decodedHash(path: string): Promise<string> {
  const { stdout } = await run("ffmpeg", ["-nostdin", "-v", "error", "-i", path, "-map", "0", "-f", "md5", "-"]);
  return stdout.trim();
}
