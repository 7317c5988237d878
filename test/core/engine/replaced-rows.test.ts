import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { createMemoryJournal, pipeline, quoteEach, runEach, type Showrunner } from "../../../src/index.ts";
import { CrashInjector } from "../../../src/testing/crash-injector.ts";
import { openProcess, untilEndOrDeath } from "../../support/crash-process.ts";
import { during, FakePaidService, models, SimulatedClock } from "../../support/engine.ts";
import { newFolder } from "../../support/temporary-folder.ts";

/** Six pictures, one after another. */
const looks = pipeline("looks", {
  input: z.object({ line: z.string() }),
  build({ input, job }) {
    let last = job("look-1", models.image, { prompt: input.line });
    for (let n = 2; n <= 6; n++) last = job(`look-${n}`, models.image, { prompt: input.line, images: [last] });
    return { last };
  },
});

const row = (line: string) => ({ id: `rows-${line}`, input: { line } });

async function killedAfterTwo() {
  const dir = newFolder();
  const clock = new SimulatedClock();
  const paidService = new FakePaidService();
  paidService.now = () => clock.now();
  const journal = createMemoryJournal({ now: () => clock.now() });
  const world = { paidService, journal, dir };
  const outDir = join(dir, "out");
  const each = async (show: Showrunner, rows: readonly ReturnType<typeof row>[], source = "rows.csv") => {
    const quote = await quoteEach(show, looks, rows, { source });
    if (!quote.ok) throw new Error(JSON.stringify(quote.problems));
    return { quote, outcomes: await runEach(show, looks, quote, { budget: "9", outDir }) };
  };
  for (let boundary = 1; paidService.jobs.size < 2; boundary++) {
    const injector = new CrashInjector(boundary);
    const opening = openProcess(world, injector.clock(clock), injector);
    await untilEndOrDeath(
      opening.then((show) => each(show, [row("old")])),
      injector,
      clock,
    );
  }
  const show = await openProcess(world, clock, new CrashInjector(Number.POSITIVE_INFINITY));
  // What held the run is gone.
  await clock.advance(120_000);
  return {
    show,
    clock,
    paidService,
    each: (...how: [readonly ReturnType<typeof row>[], string?]) => each(show, ...how),
  };
}

/** What a worker does with whatever is due, until nothing is. */
async function work(show: Showrunner, clock: SimulatedClock): Promise<void> {
  for (const { runId } of await show.due()) {
    await during(clock, show.engine.slice(runId, { findPipeline: async () => looks, maxMs: 600_000 }));
  }
}

test("the run of an edited row is stopped for every worker, named with what it holds, and a person may still resume it [G25]", async () => {
  const { show, clock, paidService, each } = await killedAfterTwo();
  const { quote, outcomes } = await during(clock, each([row("new")]));
  expect(outcomes.map(({ id, status }) => [id, status])).toEqual([["rows-new", "succeeded"]]);
  expect(quote.replaced).toMatchObject([
    { id: "rows-old", status: "interrupted", next: { command: "showrunner resume rows-old" } },
  ]);
  const before = paidService.jobs.size;
  expect(before).toBe(2 + 6);
  await work(show, clock);
  expect(paidService.jobs.size).toBe(before);
  expect(await show.show("rows-old")).toMatchObject({ status: "paused", message: /row was changed or removed/ });
  expect(await show.due()).toEqual([]);
  expect((await during(clock, (await show.resume("rows-old", { pipeline: looks })).result())).status).toBe("succeeded");
  expect(paidService.jobs.size).toBe(6 + 6);
  expect((await during(clock, each([row("new")]))).quote.replaced).toEqual([]);
});

test("a row that is typed back in continues, and rows of another source replace nothing", async () => {
  const { show, clock, paidService, each } = await killedAfterTwo();
  expect((await during(clock, each([row("other")], "others.csv"))).quote.replaced).toEqual([]);
  await during(clock, each([row("new")]));
  const { outcomes } = await during(clock, each([row("old")]));
  expect(outcomes).toMatchObject([{ id: "rows-old", status: "succeeded" }]);
  expect(paidService.jobs.size).toBe(6 + 6 + 6);
  expect(await show.due()).toEqual([]);
});

test("an id or a tag that no run can have is a problem of its row, and with tags for all rows nothing is stopped or started", async () => {
  const { show, clock, paidService } = await killedAfterTwo();
  const problemsOf = async (...rows: Parameters<typeof quoteEach>[2][number][]) => {
    const quote = await during(clock, quoteEach(show, looks, rows, { source: "rows.csv" }));
    return quote.ok ? [] : quote.problems.map(({ index, code, field }) => [index, code, field]);
  };
  const tagged = (line: string, tags: Record<string, string>) => ({ ...row(line), tags });
  const seven = Object.fromEntries(Array.from({ length: 7 }, (_, at) => [`k${at}`, "v"]));
  expect(
    await problemsOf(row("a"), { ...row("b"), id: "b c" }, tagged("d", { team: "*", "a b": "x" }), tagged("e", seven)),
  ).toEqual([
    [1, "invalid-id", "id"],
    [2, "invalid-tag", "tags.team"],
    [2, "invalid-tag", "tags.a b"],
    [3, "invalid-tag", "tags"],
  ]);
  const { k6: _, ...six } = seven;
  const quote = await during(clock, quoteEach(show, looks, [tagged("new", six)], { source: "rows.csv" }));
  if (!quote.ok) throw new Error(JSON.stringify(quote.problems));
  expect(quote.replaced).toHaveLength(1);
  const before = paidService.jobs.size;
  for (const tags of [{ team: "*" }, { team: "video" }])
    await expect(during(clock, runEach(show, looks, quote, { budget: "9", tags }))).rejects.toThrow(/^tags: /);
  expect(paidService.jobs.size).toBe(before);
  expect((await show.runs()).map(({ runId, status }) => [runId, status])).toEqual([["rows-old", "interrupted"]]);
});
