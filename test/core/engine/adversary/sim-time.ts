import type { Clock, Timer } from "../../../../src/core/api/index.ts";

/** How long a frozen process of the simulated machine holds a run. */
export const LEASE_MS = 300_000;

/** Maximum number of clock reads between two timers; more reads mean an endless loop. */
const MOST_LOOKS = 100_000;

interface Pending {
  readonly at: number;
  readonly isUpkeep: boolean;
  readonly owner: object;
  readonly fire: () => void;
}

/** Intervals at which a run's driver reads its inbox and renews its lease. */
const UPKEEP_MS: ReadonlySet<number> = new Set([1_000, LEASE_MS / 3]);

/**
 * The time of all processes on a simulated machine. It stands still until the next timer is fired. Upkeep timers
 * fire only if no other timer is left or if they are already due, so that a wait of hours takes as little real time
 * as a wait of seconds.
 */
export class SimTime {
  readonly startedAt: number;
  now: number;
  #pending: Pending[] = [];
  /** Number of clock reads since the last timer. */
  #looks = 0;
  /** Frozen processes, whose timers fire when they wake. */
  readonly frozen = new Set<object>();

  constructor(startMs = Date.UTC(2030, 0, 1)) {
    this.startedAt = startMs;
    this.now = startMs;
  }

  /** Creates the clock of a process, whose timers end with it. `aheadMs`: how far it is ahead of the true time. */
  clockOf(owner: object, aheadMs: () => number): Clock {
    return {
      now: () => {
        if (++this.#looks > MOST_LOOKS)
          throw new Error("it goes in circles: the clock is read on and on while no time passes");
        return this.now + aheadMs();
      },
      setTimer: (delayMs, fire): Timer => {
        const entry = { at: this.now + Math.max(0, delayMs), isUpkeep: UPKEEP_MS.has(delayMs), owner, fire };
        this.#pending.push(entry);
        return { cancel: () => this.#drop(entry) };
      },
    };
  }

  stopAll(owner: object): void {
    this.#pending = this.#pending.filter((entry) => entry.owner !== owner);
  }

  /** Jumps to the next timer and fires it; returns null if there is no timer. */
  fireNext(): "upkeep" | "timer" | null {
    this.#looks = 0;
    let next: Pending | undefined;
    const pending = this.#pending.filter(({ owner }) => !this.frozen.has(owner));
    for (const entry of pending) if (next === undefined || goesBefore(entry, next)) next = entry;
    if (next === undefined) return null;
    this.now = Math.max(this.now, next.at);
    const due = pending.filter((entry) => entry.at <= this.now);
    for (const entry of due) {
      this.#drop(entry);
      entry.fire();
    }
    return next.isUpkeep ? "upkeep" : "timer";
  }

  #drop(entry: Pending): void {
    const index = this.#pending.indexOf(entry);
    if (index >= 0) this.#pending.splice(index, 1);
  }
}

function goesBefore(left: Pending, right: Pending): boolean {
  return left.isUpkeep === right.isUpkeep ? left.at < right.at : right.isUpkeep;
}
