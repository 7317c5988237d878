import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { NotifyOption } from "../../src/core/engine/notify/notifications.ts";
import {
  createMemoryJournal,
  type JournalStore,
  type OpenOptions,
  openShowrunner,
  type Showrunner,
} from "../../src/index.ts";
import { builtInCatalog } from "./built-in-catalog.ts";
import { FakePaidService, type FakeServiceOptions } from "./fake-paid-service.ts";
import { SimulatedClock, settle } from "./simulated-clock.ts";

export interface FakeShow {
  readonly paidService: FakePaidService;
  readonly clock: SimulatedClock;
  readonly journal: JournalStore;
  readonly show: Showrunner;
  readonly outDir: string;
  readonly mediaDir: string;
}

/** Opens a Showrunner that uses the fake paid service and a simulated clock. */
export async function openFakeShow(
  options: Partial<FakeServiceOptions> & {
    readonly journal?: JournalStore;
    readonly paidService?: FakePaidService;
    readonly clock?: SimulatedClock;
    /** Media folder of an earlier Showrunner. */
    readonly mediaDir?: string;
    readonly notify?: NotifyOption;
    readonly caps?: readonly string[];
    readonly inside?: readonly string[];
    readonly filesDir?: string;
    readonly providers?: OpenOptions["providers"];
  } = {},
): Promise<FakeShow> {
  const clock = options.clock ?? new SimulatedClock();
  const paidService = options.paidService ?? new FakePaidService({ catalog: builtInCatalog(), ...options });
  // A job is made when it is asked for: by the same clock.
  if (paidService.now === FakePaidService.standingClock) paidService.now = () => clock.now();
  paidService.clock ??= clock;
  const journal = options.journal ?? createMemoryJournal({ now: () => clock.now() });
  const folder = mkdtempSync(join(tmpdir(), "fake-showrunner-"));
  const mediaDir = options.mediaDir ?? join(folder, "media");
  const show = await openShowrunner({
    client: paidService.client(),
    journal,
    mediaDir,
    clock,
    notify: options.notify ?? false,
    caps: options.caps,
    inside: options.inside,
    filesDir: options.filesDir,
    providers: options.providers,
  });
  return { paidService: paidService, clock, journal, show, outDir: join(folder, "out"), mediaDir };
}

/** Advances simulated time in steps until the promise is settled. */
export async function during<T>(clock: SimulatedClock, work: Promise<T>, stepMs = 250): Promise<T> {
  let over = false;
  work.then(
    () => (over = true),
    () => (over = true),
  );
  while (!over) {
    await settle();
    if (clock.pendingTimers > 0) await clock.advance(stepMs);
  }
  return work;
}
