import type { StoredEvent } from "../../../../src/index.ts";

/** Runs that a worker held at an instant when it was killed, frozen or cut off. */
export interface Lost {
  readonly how: string;
  readonly pid: number;
  readonly at: number;
  readonly runs: readonly string[];
}

/** Milliseconds until each of these runs was another process's. Of runs that were parked in that very moment nothing is said. */
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
