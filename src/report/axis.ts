import { formatDuration } from "../index.ts";

export interface Stretch {
  readonly from: number;
  readonly to: number;
}

/** A line of time, 0 to 100 wide, from which long stretches without work are cut out. */
export interface Axis {
  /** Where an instant stands, in percent. */
  position(at: number): number;
  readonly ticks: readonly { readonly x: number; readonly label: string }[];
  readonly cuts: readonly { readonly x: number; readonly width: number; readonly label: string }[];
}

interface Segment extends Stretch {
  readonly isCut: boolean;
  x: number;
  width: number;
}

const CUT_WIDTH = 3;
const MAX_CUTS = 12;
/** Shorter pauses than this stay. */
const SHORTEST_CUT_MS = 20_000;
const STEPS_S = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 43_200, 86_400];

/** The axis of stretches that may overlap, from the earliest on. */
export function axisOf(stretches: readonly Stretch[]): Axis {
  const busy = union(stretches);
  const from = busy[0]?.from ?? 0;
  const segments = segmentsOf(busy);
  const cuts = segments.filter(({ isCut }) => isCut);
  const workMs = segments.reduce((sum, one) => sum + (one.isCut ? 0 : one.to - one.from), 0) || 1;
  const room = 100 - cuts.length * CUT_WIDTH;
  let x = 0;
  for (const segment of segments) {
    segment.x = x;
    segment.width = segment.isCut ? CUT_WIDTH : ((segment.to - segment.from) / workMs) * room;
    x += segment.width;
  }
  return {
    position: (at) => positionIn(segments, at),
    ticks: ticksOf(segments, from, workMs),
    cuts: cuts.map((cut) => ({ x: cut.x, width: cut.width, label: formatDuration(cut.to - cut.from) })),
  };
}

function union(stretches: readonly Stretch[]): readonly Stretch[] {
  const merged: { from: number; to: number }[] = [];
  for (const { from, to } of stretches.toSorted((a, b) => a.from - b.from)) {
    const last = merged.at(-1);
    if (last !== undefined && from <= last.to) last.to = Math.max(last.to, to);
    else merged.push({ from, to });
  }
  return merged;
}

function segmentsOf(busy: readonly Stretch[]): Segment[] {
  const workMs = busy.reduce((sum, { from, to }) => sum + to - from, 0);
  const longEnough = Math.max(SHORTEST_CUT_MS, workMs / 3);
  const gaps = busy.slice(1).map((next, at) => ({ from: busy[at]!.to, to: next.from }));
  const cuts = gaps
    .filter(({ from, to }) => to - from > longEnough)
    .sort((a, b) => b.to - b.from - (a.to - a.from))
    .slice(0, MAX_CUTS)
    .sort((a, b) => a.from - b.from);
  const segments: Segment[] = [];
  let from = busy[0]?.from ?? 0;
  for (const cut of cuts) {
    segments.push({ from, to: cut.from, isCut: false, x: 0, width: 0 });
    segments.push({ ...cut, isCut: true, x: 0, width: 0 });
    from = cut.to;
  }
  segments.push({
    from,
    to: busy.reduce((latest, { to }) => Math.max(latest, to), from),
    isCut: false,
    x: 0,
    width: 0,
  });
  return segments;
}

function positionIn(segments: readonly Segment[], at: number): number {
  const segment = segments.find(({ to }) => at <= to) ?? segments.at(-1);
  if (segment === undefined) return 0;
  const share = segment.to === segment.from ? 0 : (at - segment.from) / (segment.to - segment.from);
  return segment.x + Math.min(1, Math.max(0, share)) * segment.width;
}

function ticksOf(segments: readonly Segment[], start: number, workMs: number): Axis["ticks"] {
  const stepMs = 1000 * (STEPS_S.find((seconds) => workMs / (seconds * 1000) <= 7) ?? 86_400 * Math.ceil(workMs / 6e8));
  const ticks: { x: number; label: string }[] = [];
  for (const segment of segments.filter(({ isCut }) => !isCut)) {
    for (let at = Math.ceil((segment.from - start) / stepMs) * stepMs; at <= segment.to - start; at += stepMs) {
      const x = positionIn([segment], start + at);
      if (x - (ticks.at(-1)?.x ?? -100) >= 7 && x <= 96) ticks.push({ x, label: clock(at, stepMs) });
    }
  }
  return ticks;
}

/** `0:05`, `1:02:03`; tenths where the steps are that small. */
function clock(ms: number, stepMs: number): string {
  if (stepMs < 1000) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  const [h, m, s] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  const two = (n: number) => String(n).padStart(2, "0");
  return h > 0 ? `${h}:${two(m)}:${two(s)}` : `${m}:${two(s)}`;
}
