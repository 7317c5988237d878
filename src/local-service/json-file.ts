import { readFileSync, statSync } from "node:fs";

/** Parses a JSON file that the user named. A device is refused: reading one may never end. */
export function readJsonFile(path: string): unknown {
  const found = statSync(path);
  if (found.isCharacterDevice() || found.isBlockDevice()) throw new Error("it is a device, and no file");
  return JSON.parse(readFileSync(path, "utf8"));
}
