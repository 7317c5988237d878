/** Selects the mutants of a sample by a hash of their place, so that samples are stable and all parts together cover all mutants. */
import { createHash } from "node:crypto";

/** The place of a mutant in Stryker's report: lines and columns count from 1. */
export interface Place {
  /** Path relative to the repository. */
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly mutator: string;
  readonly replacement: string;
}

/** A part of all mutants: part 3 of 10 is the third tenth. */
export interface Sample {
  readonly part: number;
  readonly of: number;
}

export function isIn({ part, of }: Sample, { file, line, column, mutator, replacement }: Place): boolean {
  const hash = createHash("sha256").update(`${file}:${line}:${column}:${mutator}:${replacement}`).digest();
  return hash.readUInt32BE() % of === part - 1;
}

/** Parses a sample: `10` is the first tenth, and `3/10` the third. */
export function sampleOf(text: string): Sample {
  const [, part = "1", of] = /^(?:(\d+)\/)?(\d+)$/.exec(text) ?? [];
  const sample = { part: Number(part), of: Number(of) };
  if (!(sample.part >= 1 && sample.part <= sample.of))
    throw new Error(`A sample is 10 (the first tenth) or 3/10 (the third), not ${text}.`);
  return sample;
}
