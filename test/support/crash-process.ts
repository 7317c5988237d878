import { join } from "node:path";
import { type JournalStore, openShowrunner, type RunResult, type Showrunner } from "../../src/index.ts";
import type { CrashInjector } from "../../src/testing/crash-injector.ts";
import type { FakePaidService } from "./fake-paid-service.ts";
import { SimulatedClock } from "./simulated-clock.ts";

/** What outlives every process. */
export interface CrashWorld {
  readonly paidService: FakePaidService;
  readonly journal: JournalStore;
  readonly dir: string;
}

/** One process with a clock of its own; null when it died. */
export async function inProcess(
  { paidService, journal, dir }: CrashWorld,
  crashInjector: CrashInjector,
  work: (show: Showrunner) => Promise<RunResult>,
): Promise<RunResult | null> {
  const clock = new SimulatedClock();
  const client = paidService.client(crashInjector.boundary);
  const show = await openShowrunner({
    client,
    journal: crashInjector.store(journal),
    mediaDir: join(dir, "media"),
    clock,
  });
  return untilEndOrDeath(work(show), crashInjector, clock);
}

/** Advances the clock until the work has ended; null when its process died. */
export async function untilEndOrDeath(
  work: Promise<RunResult>,
  crashInjector: CrashInjector,
  clock: SimulatedClock,
): Promise<RunResult | null> {
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
