import { AssertionError } from "node:assert";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { LocalService } from "showrunner-local";
import type { z } from "zod";
import type { QuoteOptions } from "../core/engine/index.ts";
import { formatUsd, parseUsd } from "../core/kit/money.ts";
import { FoldedRun } from "../core/view/index.ts";
import {
  createMemoryJournal,
  type JournalStore,
  type Pipeline,
  type Quote,
  type Returns,
  type RunHandleOf,
  type RunOptions,
  type RunResult,
  type Showrunner,
} from "../index.ts";
import { assertPaidOnce } from "./assert-run.ts";
import { assertSurvivesKills, type KillOptions, type KillReport } from "./assert-survives-kills.ts";
import { CrashInjector } from "./crash-injector.ts";
import { type Decide, decideWaiting, openProcess } from "./process.ts";
import { type StudioOptions, startTestService } from "./surroundings.ts";

/** Options for a studio's `run`. */
export interface StudioRunOptions extends RunOptions {
  /** Makes each decision for which the run pauses. Default: the run stays paused. */
  readonly decide?: Decide | undefined;
}

type ResultOfRun<R extends Returns> = Awaited<ReturnType<RunHandleOf<R>["result"]>>;

/** A service, a journal and an engine for one test. */
export interface Studio extends AsyncDisposable {
  /** The local service, with `stats()`, `fund()`, `faults()` and its clock. */
  readonly service: LocalService;
  /** A Showrunner that uses the studio's journal and service. Use it for everything that has no method here. */
  readonly showrunner: Showrunner;
  /** The journal, kept in memory until the studio is disposed of. */
  readonly journal: JournalStore;
  /** The folder with the media and named files, removed when the studio is disposed of. */
  readonly folder: string;
  /** Runs the pipeline until it ends or pauses. `outDir` defaults to `<folder>/out/<run id>`. */
  run<S extends z.ZodType, R extends Returns>(
    pipeline: Pipeline<S, R>,
    input: z.input<S>,
    options?: StudioRunOptions,
  ): Promise<ResultOfRun<R>>;
  /** Prices the pipeline for this input without running it. */
  quote<S extends z.ZodType, R extends Returns>(
    pipeline: Pipeline<S, R>,
    input: z.input<S>,
    options?: QuoteOptions,
  ): Promise<Quote>;
  /** Advances time by `ms` milliseconds, and waits for the work that becomes due. */
  advance(ms: number): Promise<void>;
  /**
   * Asserts that everything was paid for exactly once: each job request created one job, the runs recorded every job,
   * no step was charged twice, and the wallet paid what the runs recorded. Otherwise, throws AssertionError.
   */
  assertPaidOnce(): Promise<void>;
  /**
   * Asserts that what the run spent and reserved never exceeded its budget. `budget`, in US dollars as a decimal
   * string, replaces the run's own budget. If the assertion fails, throws AssertionError.
   */
  assertWithinBudget(run: string | { readonly id: string }, budget?: string): Promise<void>;
  /**
   * Quotes the pipeline and compares each step's price with the price in a file. If they differ, throws AssertionError
   * with the differences. If the file is missing, writes it, or throws AssertionError if CI is set.
   * SHOWRUNNER_UPDATE_QUOTES=1 rewrites the file.
   */
  assertSameQuote<S extends z.ZodType, R extends Returns>(
    pipeline: Pipeline<S, R>,
    input: z.input<S>,
    file: string | URL,
    options?: QuoteOptions,
  ): Promise<void>;
  /**
   * Runs the pipeline many times on a separate service. Each time, the engine is killed at a different journal commit
   * or request, and a new engine resumes the run. Throws AssertionError if a run's jobs, charges, values or files
   * differ from those of an uninterrupted run.
   */
  assertSurvivesKills<S extends z.ZodType, R extends Returns>(
    pipeline: Pipeline<S, R>,
    input: z.input<S>,
    options?: KillOptions,
  ): Promise<KillReport>;
}

/**
 * Number of steps in which {@link Studio.advance} advances the clock. Work that becomes due in one step is done before
 * the next step.
 */
const STEPS = 50;

/**
 * Starts a local service and an engine for tests, both in this process. Dispose of the studio with `await using studio
 * = …`. If showrunner-local is not installed, the error contains the command that installs it.
 */
export async function startStudio(options: StudioOptions = {}): Promise<Studio> {
  const started = await startTestService(options);
  const { service, folder } = started;
  const journal = createMemoryJournal({ now: () => service.clock.now() });
  const network = new CrashInjector(Number.POSITIVE_INFINITY);
  const showrunner = await openProcess(started, { journal, folder }, network);
  const studio: Studio = {
    service,
    showrunner,
    journal,
    folder,
    run: async (pipeline, input, { decide, ...given } = {}) => {
      const id = given.id ?? `${pipeline.name}-${(await journal.runs()).length + 1}`;
      const start = { id, outDir: join(folder, "out", id), ...given };
      let result: RunResult = await (await showrunner.run(pipeline, input, start)).result();
      while (decide !== undefined && result.pause?.reason === "approval") {
        await decideWaiting(showrunner, journal, result, decide);
        result = await (await showrunner.resume(id, { pipeline })).result();
      }
      return result as never;
    },
    quote: (pipeline, input, given) => showrunner.quote(pipeline, input, given),
    async advance(ms) {
      let moved = 0;
      for (let step = 1; step <= STEPS; step++) {
        const until = Math.round((ms * step) / STEPS);
        await service.clock.advance(until - moved);
        moved = until;
        await settled(network);
      }
    },
    assertPaidOnce: () => assertPaidOnce(service, journal),
    assertWithinBudget: (run, budget) => assertWithinBudget(journal, typeof run === "string" ? run : run.id, budget),
    assertSameQuote: async (pipeline, input, file, given) =>
      assertSameQuote(await showrunner.quote(pipeline, input, given), file),
    assertSurvivesKills: (pipeline, input, given) => assertSurvivesKills(options, { pipeline, input }, given),
    async [Symbol.asyncDispose]() {
      await showrunner.close();
      await journal.close();
      await started[Symbol.asyncDispose]();
    },
  };
  return studio;
}

/** Waits until no request is in flight. Checks several times, because a response may lead to new requests. */
async function settled(network: CrashInjector): Promise<void> {
  for (let quiet = 0; quiet < 3; quiet++) {
    await network.requestsSettled();
    await turn();
  }
}

async function assertWithinBudget(journal: JournalStore, runId: string, budget?: string): Promise<void> {
  const given = budget === undefined ? null : parseUsd(budget);
  if (budget !== undefined && given === null) {
    throw new TypeError(`budget: ${JSON.stringify(budget)} is not an amount in dollars; write it like "5" or "0.25".`);
  }
  const folded = new FoldedRun();
  for (const stored of await journal.read(runId)) {
    folded.add(stored);
    const { spentMicros, heldMicros, unconfirmedMicros, budgetMicros } = folded.view!.state;
    const limit = given ?? budgetMicros;
    if (limit === null) {
      throw new TypeError(
        `Run ${runId} has no budget: run it with { budget: "5" }, or pass a budget to the assertion.`,
      );
    }
    const committed = spentMicros + heldMicros + unconfirmedMicros;
    if (committed <= limit) continue;
    throw new AssertionError({
      message: `Run ${runId} exceeded its budget of ${formatUsd(limit)} at event ${stored.seq} (${stored.event.type}): ${formatUsd(spentMicros)} spent and ${formatUsd(committed - spentMicros)} reserved.`,
      actual: formatUsd(committed),
      expected: `at most ${formatUsd(limit)}`,
    });
  }
}

interface StoredQuote {
  readonly pipeline: string;
  readonly total: { readonly min: string; readonly max: string | null };
  readonly steps: { readonly [path: string]: { readonly model: string | null; readonly price: string } };
}

async function assertSameQuote(quote: Quote, file: string | URL): Promise<void> {
  const now = storedQuote(quote);
  const path = typeof file === "string" ? file : fileURLToPath(file);
  const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return null;
    throw error;
  });
  const isUpdate = isSet("SHOWRUNNER_UPDATE_QUOTES");
  if (text === null && isSet("CI") && !isUpdate) {
    const message = `${path} does not exist; run the test once outside CI and commit the file.`;
    throw new AssertionError({ message });
  }
  const written = `${JSON.stringify(now, null, 2)}\n`;
  if (text === null || isUpdate) return text === written ? undefined : writeFile(path, written);
  const before = parse(text, path);
  const differences = quoteDifferences(before, now);
  if (differences.length === 0) return;
  throw new AssertionError({
    message: `The quote of ${now.pipeline} differs from ${path}:\n${differences.map((difference) => `- ${difference}`).join("\n")}\nIf that is intended, run the test with SHOWRUNNER_UPDATE_QUOTES=1 and commit the file.`,
    actual: now,
    expected: before,
  });
}

function isSet(name: string): boolean {
  return !["", "0", "false", undefined].includes(process.env[name]);
}

function parse(text: string, path: string): StoredQuote {
  try {
    const found = JSON.parse(text) as StoredQuote;
    if (typeof found.steps === "object" && typeof found.total === "object") return found;
  } catch {
    // Reported below.
  }
  throw new TypeError(`${path} is not a quote; delete it, and the next test run will write a new one.`);
}

function storedQuote({ plan, problems, prices, totalMicros }: Quote): StoredQuote {
  if (plan === null || problems.length > 0) {
    const lines = problems.map(({ step, message }) => `- ${step === null ? "" : `${step}: `}${message}`);
    throw new AssertionError({ message: `The pipeline cannot be planned:\n${lines.join("\n")}` });
  }
  const { min, max } = totalMicros;
  return {
    pipeline: plan.pipeline,
    total: { min: formatUsd(min), max: formatUsd(max) },
    steps: Object.fromEntries(
      prices.map(({ step, model, costMicros, maxCostMicros, basis }) => {
        const most = maxCostMicros === null ? "no price" : `at most ${formatUsd(maxCostMicros)}`;
        return [step, { model, price: `${costMicros === null ? most : formatUsd(costMicros)}, ${basis}` }];
      }),
    ),
  };
}

function quoteDifferences(before: StoredQuote, now: StoredQuote): readonly string[] {
  const paths = [...new Set([...Object.keys(before.steps), ...Object.keys(now.steps)])];
  const steps = paths.flatMap((path) => {
    const [was, is] = [priceText(before.steps[path]), priceText(now.steps[path])];
    if (was === is) return [];
    if (was === null) return [`${path}: new, ${is}`];
    return [is === null ? `${path}: gone, was ${was}` : `${path}: ${was} → ${is}`];
  });
  const [was, is] = [total(before), total(now)];
  return was === is ? steps : [...steps, `total: ${was} → ${is}`];
}

function priceText(step: StoredQuote["steps"][string] | undefined): string | null {
  if (step === undefined) return null;
  return step.model === null ? step.price : `${step.model}, ${step.price}`;
}

function total({ total: { min, max } }: StoredQuote): string {
  return max === min ? min : `${min} to ${max ?? "unknown"}`;
}
