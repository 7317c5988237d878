import type { Clock, Timer } from "../../src/core/api/clock.ts";

interface Pending {
  readonly at: number;
  readonly order: number;
  readonly fire: () => void;
}

/** Time held by hand: nothing fires until a test moves it. Timers fire in order of their instants. */
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

  /** Timers set and neither fired nor cancelled. */
  get pendingTimers(): number {
    return this.#pending.size;
  }

  /** Instant of the next timer, or null. */
  get nextAt(): number | null {
    return this.#first()?.at ?? null;
  }

  /** Moves time on, firing what falls due, and lets promises settle between. */
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

  /** The machine sleeps: time passes, and what falls due meanwhile fires with the next move of the clock. */
  suspend(forMs: number): void {
    this.#now += forMs;
  }

  /** Jumps to the next timer and fires it; false when there is none. */
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

/** Turns of the event loop in which nothing is read or written before everything counts as settled. */
const QUIET_TURNS = 3;
/** Turns after which others get the processor, too, and after which a file is waited for no longer. */
const [EAGER_TURNS, MOST_TURNS] = [50, 30_000];

/**
 * Lets every promise that can settle without time do so. Files take real time, and so do modules that are loaded when
 * they are first needed: both are waited for.
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

/** What Vitest's runner knows of the modules of a test file, under the name that it has for it. */
interface Runner {
  readonly resolvingModules: { readonly size: number };
  readonly evaluatedModules: {
    readonly idToModuleMap: ReadonlyMap<string, { readonly promise?: unknown; readonly evaluated: boolean }>;
  };
}

let loaded = 0;

/** Whether a module is on its way. False outside of Vitest, where nothing transforms modules. */
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
 * A clock on which every wait takes no real time: whenever something waits, time jumps to the earliest instant. For
 * tests over real sockets, where the order of network and timers must not matter. `breath`: milliseconds of real time
 * that a wait takes, so that upkeep which waits again and again leaves the machine to others; 0: none.
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
