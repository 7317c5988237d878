import type { TimelineSpan } from "../../../../core/view/index.ts";
export interface Fold {
  readonly from: number;
  readonly to: number;
}

export interface TimeScale {
  readonly folds: readonly Fold[];
  readonly shownMs: number;
  position(at: number): number;
  /** Returns the time that is `shownMs` milliseconds after the start, not counting folded idle periods. */
  instant(shownMs: number): number;
}

const FOLD_SHARE = 0.03;
/** An idle period is drawn narrower if it lasts at least this long and at least `LEAST_SHARE` of the busy time. */
const LEAST_MS = 30_000;
const LEAST_SHARE = 0.15;

export function timeScale(spans: readonly TimelineSpan[], from: number, to: number, now: number): TimeScale {
  const gaps = idle(spans, from, to, now);
  const idleMs = gaps.reduce((sum, gap) => sum + gap.to - gap.from, 0);
  const busyMs = to - from - idleMs;
  const folds = busyMs <= 0 ? [] : gaps.filter((gap) => gap.to - gap.from >= Math.max(LEAST_MS, LEAST_SHARE * busyMs));
  const shownMs = Math.max(1, to - from - folds.reduce((sum, fold) => sum + fold.to - fold.from, 0));
  const share = Math.min(FOLD_SHARE, 0.3 / Math.max(1, folds.length));
  const shownShare = 1 - share * folds.length;
  const position = (at: number) => {
    let shown = Math.min(to, Math.max(from, at)) - from;
    let width = 0;
    for (const fold of folds) {
      if (at <= fold.from) break;
      const passed = Math.min(at, fold.to) - fold.from;
      shown -= passed;
      width += (share * passed) / (fold.to - fold.from);
    }
    return (shownShare * shown) / shownMs + width;
  };
  const instant = (after: number) => {
    let at = from + after;
    for (const fold of folds) if (at >= fold.from) at += fold.to - fold.from;
    return at;
  };
  return { folds, shownMs, position, instant };
}

/** Returns the periods without work. Waiting for a person is not work. */
function idle(spans: readonly TimelineSpan[], from: number, to: number, now: number): readonly Fold[] {
  const busy = spans
    .filter(({ phase }) => phase !== "approval")
    .map((span) => ({ from: span.from, to: span.to ?? now }))
    .sort((a, b) => a.from - b.from);
  const gaps: Fold[] = [];
  let end = from;
  for (const span of busy) {
    if (span.from > end) gaps.push({ from: end, to: span.from });
    end = Math.max(end, span.to);
  }
  if (to > end) gaps.push({ from: end, to });
  return gaps;
}
