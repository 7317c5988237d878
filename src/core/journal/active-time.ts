/** The active time of a run: pauses, and time in which no process drove it, do not count. */
export interface ActiveTime {
  /** Of stretches that are over, milliseconds. */
  ms: number;
  /** Start of the current stretch, epoch milliseconds; null while the run is paused. */
  since: number | null;
  /** Of the last event, epoch milliseconds. */
  lastAt: number;
}

export function startClock(activeTime: ActiveTime, at: number): void {
  activeTime.since ??= at;
}

export function stopClock(activeTime: ActiveTime, at: number): void {
  if (activeTime.since !== null) activeTime.ms += Math.max(0, at - activeTime.since);
  activeTime.since = null;
}

/** Whoever drove the run before did so up to its last event, or up to now, had it been parked. */
export function passClock(activeTime: ActiveTime, at: number, wasParked: boolean): void {
  if (activeTime.since === null || wasParked) return;
  stopClock(activeTime, activeTime.lastAt);
  activeTime.since = at;
}

/** How long a run took up to its last event, milliseconds. */
export function activeMs({ activeTime: { ms, since, lastAt } }: { readonly activeTime: ActiveTime }): number {
  return ms + (since === null ? 0 : Math.max(0, lastAt - since));
}

/** Since when the run is driven without a gap, epoch milliseconds. */
export function drivenSince({ activeTime: { since, lastAt } }: { readonly activeTime: ActiveTime }): number {
  return since ?? lastAt;
}
