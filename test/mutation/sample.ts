/** Which mutants a sample holds: by a hash of their place, so that it is the same ones every time, and all parts together are all mutants. */
import { createHash } from "node:crypto";

/** A mutant as Stryker's report names it: lines and columns from 1. */
export interface Place {
  /** Relative to the repository. */
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly mutator: string;
  readonly replacement: string;
}

/** Part 3 of 10 is the third tenth. */
export interface Sample {
  readonly part: number;
  readonly of: number;
}

export function isIn({ part, of }: Sample, { file, line, column, mutator, replacement }: Place): boolean {
  const hash = createHash("sha256").update(`${file}:${line}:${column}:${mutator}:${replacement}`).digest();
  return hash.readUInt32BE() % of === part - 1;
}

/** `10` is the first tenth, `3/10` the third. */
export function sampleOf(text: string): Sample {
  const [, part = "1", of] = /^(?:(\d+)\/)?(\d+)$/.exec(text) ?? [];
  const sample = { part: Number(part), of: Number(of) };
  if (!(sample.part >= 1 && sample.part <= sample.of))
    throw new Error(`A sample is 10 (the first tenth) or 3/10 (the third), not ${text}.`);
  return sample;
}
