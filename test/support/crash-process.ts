import { join } from "node:path";
import type { Clock } from "../../src/core/api/index.ts";
import { type JournalStore, openShowrunner, type RunResult, type Showrunner } from "../../src/index.ts";
import type { CrashInjector } from "../../src/testing/crash-injector.ts";
import type { FakePaidService } from "./fake-paid-service.ts";
import { SimulatedClock } from "./simulated-clock.ts";

/** The parts of a test that outlive every process of a run: service, journal, and media on disk. */
export interface CrashWorld {
  readonly paidService: FakePaidService;
  readonly journal: JournalStore;
  readonly dir: string;
}

/** Runs work in a simulated process with its own clock; null if the process died. */
export async function inProcess(
  world: CrashWorld,
  crashInjector: CrashInjector,
  work: (show: Showrunner) => Promise<RunResult>,
): Promise<RunResult | null> {
  const clock = new SimulatedClock();
  return untilEndOrDeath(openProcess(world, clock, crashInjector).then(work), crashInjector, clock);
}

export function openProcess(
  { paidService, journal, dir }: CrashWorld,
  clock: Clock,
  crashInjector: CrashInjector,
): Promise<Showrunner> {
  return openShowrunner({
    client: paidService.client(crashInjector.boundary),
    journal: crashInjector.store(journal),
    mediaDir: join(dir, "media"),
    clock,
  });
}

/** Advances the clock until the work has ended; null if its process died. */
export async function untilEndOrDeath<T>(
  work: Promise<T>,
  crashInjector: CrashInjector,
  clock: SimulatedClock,
): Promise<T | null> {
  let over = false;
  const ended = Promise.race([work, crashInjector.died.then(() => null)]).finally(() => {
    over = true;
  });
  ended.catch(() => {});
  while (!over) {
    await new Promise((resolve) => setImmediate(resolve));
    if (clock.pendingTimers > 0) await clock.advance(500);
  }
  return ended;
}
