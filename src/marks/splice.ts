import type { FileHandle } from "node:fs/promises";
import type { Source } from "./source.ts";

/** One change of a file: the bytes `[at, at + remove)` give way to `insert`. */
export interface Splice {
  readonly at: number;
  readonly remove: number;
  readonly insert: Uint8Array;
}

const PIECE_BYTES = 1024 * 1024;

/** Writes the source with these changes, which do not overlap. */
export async function writeSpliced(source: Source, splices: readonly Splice[], target: FileHandle): Promise<void> {
  let at = 0;
  for (const splice of splices.toSorted((a, b) => a.at - b.at)) {
    await copyRange(source, at, splice.at, target);
    await target.writeFile(splice.insert);
    at = splice.at + splice.remove;
  }
  await copyRange(source, at, source.sizeBytes, target);
}

async function copyRange(source: Source, from: number, to: number, target: FileHandle): Promise<void> {
  for (let at = from; at < to; at += PIECE_BYTES)
    await target.writeFile(await source.read(at, Math.min(PIECE_BYTES, to - at)));
}
