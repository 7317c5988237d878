/** Computes the score of a sample from Stryker's report, with a confidence interval for all mutants. */
import { isIn, type Sample } from "./sample.ts";

interface Report {
  readonly files: Readonly<Record<string, { readonly source: string; readonly mutants: readonly Mutant[] }>>;
}

interface Mutant {
  readonly status: string;
  readonly mutatorName: string;
  readonly replacement: string;
  readonly location: { readonly start: Position; readonly end: Position };
}

interface Position {
  readonly line: number;
  readonly column: number;
}

/** A mutant, and whether a test detected it; null if it is not in the sample. */
export interface Judged {
  readonly file: string;
  readonly line: number;
  readonly isKilled: boolean | null;
  /** The original and the changed code. */
  readonly change: string;
}

/** All valid mutants. Mutants that do not compile, and excluded constants of modules, are left out. */
export function judgedIn({ files }: Report, sample: Sample): readonly Judged[] {
  return Object.entries(files).flatMap(([file, { source, mutants }]) =>
    mutants.flatMap(({ status, mutatorName: mutator, replacement, location: { start, end } }) => {
      const { line, column } = start;
      const isSampled = isIn(sample, { file, line, column, mutator, replacement });
      if (status === "Ignored" || (isSampled && status === "RuntimeError")) return [];
      const isKilled = isSampled ? status === "Killed" || status === "Timeout" : null;
      return [
        { file, line, isKilled, change: `${mutator} ${column}: ${between(source, start, end)} → ${replacement}` },
      ];
    }),
  );
}

interface Score {
  readonly mutants: number;
  readonly tried: number;
  readonly killed: number;
  readonly percent: number;
  /** Bounds of the 95 % confidence interval for the score of all mutants. */
  readonly low: number;
  readonly high: number;
}

export function scoresBy(judged: readonly Judged[], of: (mutant: Judged) => string): Readonly<Record<string, Score>> {
  const scores = Object.entries(Object.groupBy(judged, of)).map(([name, all]) => [name, scoreOf(all!)] as const);
  return Object.fromEntries(scores.sort(([a], [b]) => a.localeCompare(b)));
}

function scoreOf(all: readonly Judged[]): Score {
  const mutants = all.length;
  const tried = all.filter(({ isKilled }) => isKilled !== null).length;
  const killed = all.filter(({ isKilled }) => isKilled).length;
  const share = killed / Math.max(1, tried);
  // Wilson's interval; a sample of most mutants says more of the rest than one of an endless number of them.
  const size = mutants === tried ? Number.POSITIVE_INFINITY : (tried * (mutants - 1)) / (mutants - tried);
  const z = 1.96 ** 2 / size;
  const middle = (share + z / 2) / (1 + z);
  const reach = Math.sqrt(z * share * (1 - share) + z ** 2 / 4) / (1 + z);
  const percent = (value: number) => Math.round(1000 * value) / 10;
  return {
    mutants,
    tried,
    killed,
    percent: percent(share),
    low: tried === 0 ? 0 : percent(middle - reach),
    high: tried === 0 ? 100 : percent(middle + reach),
  };
}

export function survivorText(judged: readonly Judged[]): string {
  const lines = judged
    .filter(({ isKilled }) => isKilled === false)
    .map(({ file, line, change }) => `${file}:${line} ${change}`);
  return `${lines.sort().join("\n")}\n`;
}

function between(source: string, start: Position, end: Position): string {
  const lines = source.split("\n").slice(start.line - 1, end.line);
  const last = lines.length - 1;
  const cut = lines.map((line, index) =>
    line.slice(index === 0 ? start.column - 1 : 0, index === last ? end.column - 1 : undefined),
  );
  return cut
    .map((line) => line.trim())
    .join(" ")
    .slice(0, 120);
}
