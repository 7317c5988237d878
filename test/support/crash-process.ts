import { join } from "node:path";
import { type JournalStore, openShowrunner, type RunResult, type Showrunner } from "../../src/index.ts";
import type { Mortal } from "./mortal.ts";
import type { PaperService } from "./paper-service.ts";
import { SimulatedClock } from "./simulated-clock.ts";

/** What outlives every process. */
export interface CrashWorld {
  readonly paper: PaperService;
  readonly journal: JournalStore;
  readonly dir: string;
}

/** One process with a clock of its own; null when it died. */
export async function inProcess(
  { paper, journal, dir }: CrashWorld,
  mortal: Mortal,
  work: (show: Showrunner) => Promise<RunResult>,
): Promise<RunResult | null> {
  const clock = new SimulatedClock();
  const client = paper.client(mortal.boundary);
  const show = await openShowrunner({ client, journal: mortal.store(journal), mediaDir: join(dir, "media"), clock });
  let over = false;
  const ended = Promise.race([work(show), mortal.died.then(() => null)]).finally(() => {
    over = true;
  });
  ended.catch(() => {});
  while (!over) {
    await new Promise((resolve) => setImmediate(resolve));
    if (clock.pendingTimers > 0) await clock.advance(500);
  }
  return ended;
}
