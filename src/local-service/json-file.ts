import { readFileSync, statSync } from "node:fs";

/** The content of a JSON file that somebody named. A device is refused: many never come to an end. */
export function readJsonFile(path: string): unknown {
  const found = statSync(path);
  if (found.isCharacterDevice() || found.isBlockDevice()) throw new Error("it is a device, and no file");
  return JSON.parse(readFileSync(path, "utf8"));
}
