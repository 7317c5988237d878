import { statfsSync, statSync } from "node:fs";

/** What a run on this machine may have failed for: the state of its pipeline file, and how much room its disks have. */
export function errorContextOf(file: string | null, folders: readonly string[]): string {
  return JSON.stringify([file === null ? null : stamp(file), ...folders.map(freeBytes)]);
}

/** Changes when the file does. */
export function stamp(file: string): string {
  const found = statSync(file, { throwIfNoEntry: false });
  return found === undefined ? "missing" : `${found.mtimeMs} ${found.size}`;
}

/** In powers of two, so that small changes do not count. */
function freeBytes(folder: string): number {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return Math.floor(Math.log2(bavail * bsize + 1));
  } catch {
    return -1;
  }
}
