import type { StoredEvent } from "../../../../src/index.ts";

/** Runs that a worker held when it was killed, frozen or disconnected. */
export interface Lost {
  readonly how: string;
  readonly pid: number;
  readonly at: number;
  readonly runs: readonly string[];
}

/** Milliseconds until another process held each of these runs. Runs that were parked at that time are left out. */
export function failoverMs({ pid, at, runs }: Lost, eventsOf: (run: string) => readonly StoredEvent[]): number[] {
  return runs.flatMap((run) => {
    const taken = eventsOf(run).find(({ at: when, event }) => when >= at && event.type === "lease.acquired");
    if (taken?.event.type !== "lease.acquired" || taken.event.parked === true) return [];
    return taken.event.holder.split(":").at(-2) === String(pid) ? [] : [taken.at - at];
  });
}

export function spread(values: readonly number[]): string {
  if (values.length === 0) return "no run went to another process";
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number) => `${(sorted[Math.floor(share * (sorted.length - 1))]! / 1_000).toFixed(1)} s`;
  return `${sorted.length} runs: ${at(0)} at least, ${at(0.5)} in the middle, ${at(1)} at most`;
}
