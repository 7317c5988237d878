import type { Clock, Timer } from "../../src/core/api/clock.ts";

interface Pending {
  readonly at: number;
  readonly order: number;
  readonly fire: () => void;
}

/** A clock that only the test advances. Timers fire in the order of their times. */
export class SimulatedClock implements Clock {
  #now: number;
  #order = 0;
  readonly #pending = new Set<Pending>();

  constructor(startMs = Date.UTC(2030, 0, 1)) {
    this.#now = startMs;
  }

  now(): number {
    return this.#now;
  }

  setTimer(delayMs: number, fire: () => void): Timer {
    const entry: Pending = { at: this.#now + Math.max(0, delayMs), order: this.#order++, fire };
    this.#pending.add(entry);
    return { cancel: () => void this.#pending.delete(entry) };
  }

  /** Number of timers that are still pending. */
  get pendingTimers(): number {
    return this.#pending.size;
  }

  /** Time of the next timer, or null. */
  get nextAt(): number | null {
    return this.#first()?.at ?? null;
  }

  /** Advances the time, fires due timers, and lets promises settle after each. */
  async advance(byMs: number): Promise<void> {
    const until = this.#now + byMs;
    await settle();
    for (let next = this.#first(); next && next.at <= until; next = this.#first()) {
      this.#now = Math.max(this.#now, next.at);
      this.#pending.delete(next);
      next.fire();
      await settle();
    }
    this.#now = until;
  }

  /** Simulates a sleeping machine: time passes, and timers that became due fire when the clock next advances. */
  suspend(forMs: number): void {
    this.#now += forMs;
  }

  /** Jumps to the next timer and fires it; returns false if there is no timer. */
  async step(): Promise<boolean> {
    await settle();
    const next = this.#first();
    if (!next) return false;
    await this.advance(next.at - this.#now);
    return true;
  }

  #first(): Pending | undefined {
    let first: Pending | undefined;
    for (const entry of this.#pending) {
      if (!first || entry.at < first.at || (entry.at === first.at && entry.order < first.order)) first = entry;
    }
    return first;
  }
}

/** Number of turns of the event loop without file access after which everything is considered settled. */
const QUIET_TURNS = 3;
/** Number of turns after which `settle` yields the processor, and after which it stops waiting for files. */
const [EAGER_TURNS, MOST_TURNS] = [50, 30_000];

/**
 * Waits until all promises have settled that can settle without simulated time. Also waits for file access and for
 * modules that are loaded on demand, both of which take real time.
 */
export async function settle(): Promise<void> {
  for (let [turn, quiet] = [0, 0]; quiet < QUIET_TURNS && turn < MOST_TURNS; turn++) {
    await new Promise<void>((resolve) => (turn < EAGER_TURNS ? setImmediate(resolve) : setTimeout(resolve, 1)));
    quiet = usesFiles() || loadsModules() ? 0 : quiet + 1;
  }
}

function usesFiles(): boolean {
  return process.getActiveResourcesInfo().some((name) => name.startsWith("FSReq") || name === "CloseReq");
}

/** Vitest's module runner of a test file, with Vitest's names. */
interface Runner {
  readonly resolvingModules: { readonly size: number };
  readonly evaluatedModules: {
    readonly idToModuleMap: ReadonlyMap<string, { readonly promise?: unknown; readonly evaluated: boolean }>;
  };
}

let loaded = 0;

/** True while a module is being loaded. Always false outside Vitest, which transforms modules. */
function loadsModules(): boolean {
  const runner = (globalThis as { __vitest_worker__?: Runner }).__vitest_worker__;
  if (!runner) return false;
  const modules = runner.evaluatedModules.idToModuleMap;
  if (runner.resolvingModules.size === 0 && modules.size === loaded) return false;
  if (runner.resolvingModules.size === 0 && [...modules.values()].every((one) => !one.promise || one.evaluated)) {
    loaded = modules.size;
  }
  return true;
}

/**
 * A clock on which waits take no real time: the time jumps to the end of each wait. For tests with real sockets, where
 * the order of network and timers must not matter. `breath`: real milliseconds that a wait takes, so that repeated
 * upkeep does not occupy the machine; 0 for none.
 */
export function skippingClock(startMs = Date.now(), breath = 0): Clock & { readonly waits: readonly number[] } {
  const waits: number[] = [];
  let now = startMs;
  return {
    waits,
    now: () => now,
    setTimer(delayMs, fire, options) {
      // Background timers guard real sockets; only backoffs and pauses are skipped.
      if (options?.background) {
        const real = setTimeout(fire, delayMs);
        real.unref();
        return { cancel: () => clearTimeout(real) };
      }
      const skip = () => {
        waits.push(delayMs);
        now += Math.ceil(delayMs); // A real clock has whole milliseconds too.
        fire();
      };
      if (breath > 0) {
        const timer = setTimeout(skip, breath);
        return { cancel: () => clearTimeout(timer) };
      }
      const handle = setImmediate(skip);
      return { cancel: () => clearImmediate(handle) };
    },
  };
}
