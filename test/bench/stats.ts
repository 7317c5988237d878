/** What is made of samples: pure, so that tests can say what comes out. */

/** Held by a figure's median, or by a curve's exponent. */
export interface Bar {
  readonly least?: number;
  readonly most?: number;
}

/** One thing measured several times. */
export interface Figure {
  /** What it belongs to: figures of one group stand in one table. */
  readonly group: string;
  readonly name: string;
  readonly unit: string;
  readonly samples: readonly number[];
  readonly bar?: Bar;
}

/** How something grows with the size of a run. */
export interface Curve {
  readonly group: string;
  readonly name: string;
  readonly unit: string;
  readonly points: readonly { readonly size: number; readonly value: number }[];
  /** Of the exponent. */
  readonly bar?: Bar;
}

export function median(samples: readonly number[]): number {
  if (samples.length === 0) throw new Error("no samples, no median");
  const sorted = samples.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** The `k` of `value ~ size^k`: the slope of the least-squares line through the logarithms. */
export function growthExponent(points: Curve["points"]): number {
  const logs = points.map(({ size, value }) => [Math.log(size), Math.log(value)] as const);
  const mean = (at: 0 | 1) => logs.reduce((sum, log) => sum + log[at], 0) / logs.length;
  const [x, y] = [mean(0), mean(1)];
  const above = logs.reduce((sum, log) => sum + (log[0] - x) * (log[1] - y), 0);
  const below = logs.reduce((sum, log) => sum + (log[0] - x) ** 2, 0);
  if (below === 0) throw new Error("growth needs two sizes");
  return above / below;
}

export function meets(value: number, { least = -Infinity, most = Infinity }: Bar): boolean {
  return value >= least && value <= most;
}

/** Ratios round by round, so that what slowed a whole round down cancels out. */
export function ratios(above: readonly number[], below: readonly number[]): number[] {
  return above.map((value, round) => value / below[round]!);
}

/** Three digits that count; thousands with commas. */
export function formatNumber(value: number): string {
  if (!Number.isFinite(value)) return "–";
  const digits = value === 0 ? 0 : Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
  return Number(value.toPrecision(3)).toLocaleString("en", { maximumFractionDigits: Math.min(digits, 3) });
}

export function formatBar({ least, most }: Bar): string {
  const parts = [
    least === undefined ? "" : `≥ ${formatNumber(least)}`,
    most === undefined ? "" : `≤ ${formatNumber(most)}`,
  ];
  return parts.filter((part) => part !== "").join(", ");
}
