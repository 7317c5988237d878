import type { Source } from "./source.ts";

/** One change of a file: the bytes `[at, at + remove)` give way to `insert`. */
export interface Splice {
  readonly at: number;
  readonly remove: number;
  readonly insert: Uint8Array;
}

const PIECE_BYTES = 1024 * 1024;

/** The source with these changes, which do not overlap, in pieces. */
export async function* spliced(source: Source, splices: readonly Splice[]): AsyncIterable<Uint8Array> {
  let at = 0;
  for (const splice of splices.toSorted((a, b) => a.at - b.at)) {
    yield* range(source, at, splice.at);
    yield splice.insert;
    at = splice.at + splice.remove;
  }
  yield* range(source, at, source.sizeBytes);
}

async function* range(source: Source, from: number, to: number): AsyncIterable<Uint8Array> {
  for (let at = from; at < to; at += PIECE_BYTES) yield source.read(at, Math.min(PIECE_BYTES, to - at));
}
