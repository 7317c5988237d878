import type { TimelineSpan } from "../index.ts";
import { patternOf } from "./groups.ts";

/** All phases of one attempt. */
export interface Bar {
  readonly step: string;
  readonly attempt: number;
  readonly from: number;
  readonly to: number;
  readonly spans: readonly (TimelineSpan & { readonly to: number; readonly isOpen: boolean })[];
}

export interface Row {
  readonly label: string;
  readonly bars: readonly Bar[];
}

/** The attempts of a timeline; what goes on ends at `now`. */
export function barsOf(spans: readonly TimelineSpan[], now: number): readonly Bar[] {
  const attempts = new Map<string, Bar["spans"][number][]>();
  for (const span of spans) {
    const key = `${span.attempt} ${span.step}`;
    const own = attempts.get(key) ?? [];
    own.push({ ...span, to: span.to ?? now, isOpen: span.to === null });
    attempts.set(key, own);
  }
  return [...attempts.values()].map((own) => ({
    step: own[0]!.step,
    attempt: own[0]!.attempt,
    from: own[0]!.from,
    to: own.at(-1)!.to,
    spans: own,
  }));
}

/** One row a step, those that began first on top; of those that began together, as planned. */
export function rowPerStep(bars: readonly Bar[], order: readonly string[]): readonly Row[] {
  const rows = order.flatMap((step) => {
    const own = bars.filter((bar) => bar.step === step);
    return own.length === 0 ? [] : [{ label: step, bars: own }];
  });
  return rows.sort((a, b) => a.bars[0]!.from - b.bars[0]!.from);
}

/** Steps that are alike share rows: as many as ran at the same time. Only the first row of them carries the name. */
export function packedRows(bars: readonly Bar[]): readonly Row[] {
  const groups = new Map<string, Bar[]>();
  for (const bar of bars) {
    const pattern = patternOf(bar.step);
    groups.set(pattern, [...(groups.get(pattern) ?? []), bar]);
  }
  return [...groups].flatMap(([pattern, own]) => {
    const steps = new Set(own.map(({ step }) => step));
    const label = steps.size === 1 ? own[0]!.step : `${steps.size} × ${pattern}`;
    return pack(own).map((row, at) => ({ label: at === 0 ? label : "", bars: row }));
  });
}

function pack(bars: readonly Bar[]): readonly (readonly Bar[])[] {
  const rows: { free: number; bars: Bar[] }[] = [];
  for (const bar of bars.toSorted((a, b) => a.from - b.from)) {
    const row = rows.find(({ free }) => free <= bar.from);
    if (row === undefined) rows.push({ free: bar.to, bars: [bar] });
    else {
      row.free = bar.to;
      row.bars.push(bar);
    }
  }
  return rows.map((row) => row.bars);
}
