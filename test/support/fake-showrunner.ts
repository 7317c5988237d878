import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Client } from "../../src/core/api/index.ts";
import type { NotifyOption } from "../../src/core/engine/notify/notifications.ts";
import type { Slice, SliceOptions } from "../../src/core/engine/slice/run-slices.ts";
import {
  createMemoryJournal,
  type JournalStore,
  type OpenOptions,
  openShowrunner,
  type Pipeline,
  type ResumeOptions,
  type RunHandle,
  type RunOptions,
  type RunResult,
  type Showrunner,
} from "../../src/index.ts";
import { FakePaidService, type FakeServiceOptions } from "./fake-paid-service.ts";
import { SimulatedClock, settle } from "./simulated-clock.ts";

export interface FakeShow {
  readonly paidService: FakePaidService;
  readonly clock: SimulatedClock;
  readonly journal: JournalStore;
  readonly show: Showrunner;
  readonly outDir: string;
  readonly mediaDir: string;
  /**
   * Runs the pipeline until it ends or pauses: as run `x` in `outDir`, or as the run that the options name, in a folder
   * of that name. `stepMs` as in `during`.
   */
  run(pipeline: Pipeline, input?: unknown, options?: RunOptions, stepMs?: number): Promise<RunResult>;
  /** Resumes the run, `x` unless `id` names another, until it ends or pauses. */
  resume(options?: ResumeOptions & { readonly id?: string }, stepMs?: number): Promise<RunResult>;
  /** Drives run `x` in slices, each once it is due, until it is at rest; returns the slices. */
  drive(options?: SliceOptions): Promise<readonly Slice[]>;
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
    /** Returns the methods that replace those of the service's client. */
    readonly client?: (client: Client) => Partial<Client>;
    /** Further options of the Showrunner. */
    readonly open?: Partial<OpenOptions>;
  } = {},
): Promise<FakeShow> {
  const clock = options.clock ?? new SimulatedClock();
  const paidService = options.paidService ?? new FakePaidService(options);
  // A job is made when it is asked for: by the same clock.
  if (paidService.now === FakePaidService.standingClock) paidService.now = () => clock.now();
  paidService.clock ??= clock;
  const journal = options.journal ?? createMemoryJournal({ now: () => clock.now() });
  const folder = mkdtempSync(join(tmpdir(), "fake-showrunner-"));
  const mediaDir = options.mediaDir ?? join(folder, "media");
  const client = paidService.client();
  const show = await openShowrunner({
    client: { ...client, ...options.client?.(client) },
    journal,
    mediaDir,
    clock,
    notify: options.notify ?? false,
    caps: options.caps,
    inside: options.inside,
    filesDir: options.filesDir,
    providers: options.providers,
    ...options.open,
  });
  const outDir = join(folder, "out");
  const ended = async (starting: Promise<RunHandle>, stepMs?: number) =>
    during(clock, (await during(clock, starting, stepMs)).result(), stepMs);
  return {
    paidService,
    clock,
    journal,
    show,
    outDir,
    mediaDir,
    run: (pipeline, input = {}, { id = "x", ...more } = {}, stepMs) =>
      ended(show.run(pipeline, input, { id, outDir: id === "x" ? outDir : join(outDir, id), ...more }), stepMs),
    resume: ({ id = "x", ...more } = {}, stepMs) => ended(show.resume(id, more), stepMs),
    async drive(options) {
      const slices: Slice[] = [];
      for (;;) {
        const slice = await during(clock, show.engine.slice("x", options));
        slices.push(slice);
        if (slice.wakeAt === null) return slices;
        if (slices.length > 100) throw new Error("the run is never at rest");
        await clock.advance(Math.max(0, slice.wakeAt - clock.now()));
      }
    },
  };
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
