import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { file } from "../../../src/core/define/index.ts";
import { fold } from "../../../src/core/journal/events.ts";
import { type Pipeline, pipeline, type RunResult } from "../../../src/index.ts";
import { during, greyPng, models, openFakeShow, pipelineOf, stepOf } from "../../support/engine.ts";

/** face → poster → film, and a jingle beside them. */
const film = ({ poster: prompt = "a poster", faceName = "face", extra = false, noJingle = false } = {}) =>
  pipelineOf("film", ({ job }) => {
    const face = job(faceName, models.image, { prompt: "a face" });
    const poster = job("poster", models.image, { prompt, images: [face] });
    const moving = job("film", models.image, { prompt: "moves", images: [poster] });
    const jingle = noJingle ? {} : { jingle: job("jingle", models.image, { prompt: "a jingle" }) };
    const more = extra ? { extra: job("extra", models.image, { prompt: "an extra" }) } : {};
    return { film: moving, ...jingle, ...more };
  });

/** After a run that succeeded. */
async function finished(budget?: string) {
  const world = await openFakeShow();
  expect((await world.run(film(), {}, { budget })).status).toBe("succeeded");
  return world;
}

/** After a run that the wallet was too small for; it was filled since. */
async function unfunded(balanceMicros = 150_000) {
  const world = await openFakeShow({ balanceMicros });
  const { pause } = await world.run(film(), {}, { concurrency: 1, startAnyway: true });
  expect(pause?.reason).toBe("funds");
  world.paidService.balanceMicros += 10_000_000;
  return world;
}

/** Number and cost of each attempt, by step. */
const attempts = ({ report }: RunResult) =>
  Object.fromEntries(report.steps.map(({ path, attempts }) => [path, attempts.map(({ n, cost }) => `${n}: ${cost}`)]));

describe("drift", () => {
  test("lists unchanged, changed (field by field), new, removed and stale steps with prices, and writes nothing", async () => {
    const { show, journal, paidService } = await finished();
    const before = await journal.read("x");
    const drift = await show.drift("x", film({ poster: "a blue poster", extra: true, noJingle: true }));
    expect(drift).toMatchObject({
      isSame: false,
      unchanged: ["face", "film"],
      changed: [{ path: "poster", fields: [{ field: "input.prompt", before: "a poster", after: "a blue poster" }] }],
      added: ["extra"],
      removed: ["jingle"],
      renamed: [],
      stale: ["poster", "film", "extra"],
      problems: [],
      totalMicros: { min: 300_000, max: 300_000 },
      committedMicros: 400_000,
      seenThroughFirst: [],
      prices: ["poster", "film", "extra"].map((step) => ({ step })),
    });
    expect(await journal.read("x")).toEqual(before);
    expect(paidService.jobs.size).toBe(4);
    expect(await show.drift("x", film())).toMatchObject({ isSame: true, stale: [], prices: [] });
  });

  test("an input is compared as it was parsed once, with what the schema fills in newly", async () => {
    const said = (more: object) =>
      pipeline("said", {
        input: z.object({ name: z.string().transform((name) => `${name}!`), on: z.coerce.date(), ...more }),
        build: ({ input, job }) => ({
          made: job("made", models.image, { prompt: [...Object.values(input)].map(dayOrText).join(" ") }),
        }),
      });
    const dayOrText = (value: unknown) => (value instanceof Date ? value.toISOString() : value);
    const { show, run } = await openFakeShow();
    await run(said({}), { name: "Ada", on: "2030-01-01" });
    expect((await show.drift("x", said({}))).isSame).toBe(true);
    const more = { size: z.string().default("large") };
    const [change] = (await show.drift("x", said(more))).changed;
    expect(change?.path).toBe("made");
  });
});

const sent = pipeline("sent", {
  input: z.object({ picture: file("image") }),
  build: ({ input, job, upload }) => ({
    made: job("made", models.image, { prompt: "from it", images: [upload("picture", input.picture)] }),
  }),
});

test("a file that was uploaded is compared by its bytes; one that is not there any more is what it was", async () => {
  const world = await openFakeShow();
  const { show, outDir } = world;
  const picture = join(outDir, "..", "picture.png");
  await writeFile(picture, greyPng(512));
  expect((await world.run(sent, { picture })).status).toBe("succeeded");
  expect((await show.drift("x", sent)).isSame).toBe(true);
  await rm(picture);
  expect((await show.drift("x", sent)).isSame).toBe(true);
  await writeFile(picture, Buffer.concat([greyPng(512), Buffer.from("more")]));
  const changed = [{ path: "picture", fields: [{ field: "file" }] }];
  expect(await show.drift("x", sent)).toMatchObject({ changed, stale: ["picture", "made"] });
  const done = await world.resume({ pipeline: sent, acceptChanges: true });
  expect(done).toMatchObject({ status: "succeeded", cost: { usd: "0.20" } });
});

describe("resuming with changed code", () => {
  test("a run that rests stays paused for drift, says what differs, and spends nothing", async () => {
    const { paidService, resume } = await unfunded(250_000);
    const [jobs, submits] = [paidService.jobs.size, paidService.submits];
    const changed = film({ poster: "a blue poster" });
    const message = expect.stringMatching(/changed: poster.*0\.20 USD/s);
    expect(await resume({ pipeline: changed })).toMatchObject({
      ...{ status: "paused", pause: { reason: "drift", message }, drift: { stale: ["poster", "film"] } },
    });
    expect([paidService.jobs.size, paidService.submits]).toEqual([jobs, submits]);
    const done = await resume({ pipeline: changed, acceptChanges: true });
    expect(done).toMatchObject({ status: "succeeded", drift: null });
    const made = ["a blue poster", "a face", "a jingle", "moves"];
    expect(paidService.prompts).toEqual(expect.arrayContaining(made));
  });

  test("a finished run is left as it is, and its result says what differs", async () => {
    const { paidService, resume } = await finished();
    const result = await resume({ pipeline: film({ extra: true }) });
    expect(result).toMatchObject({ status: "succeeded", pause: null, drift: { added: ["extra"] } });
    expect(paidService.jobs.size).toBe(4);
  });

  test("with the changes accepted, only stale steps are rerun; what was paid before stays listed [G9]", async () => {
    const { paidService, journal, resume } = await finished();
    const changed = film({ poster: "a blue poster", extra: true, noJingle: true });
    const source = { file: "/film.ts", exportName: "default" };
    const result = await resume({ pipeline: changed, acceptChanges: true, source });
    expect(result).toMatchObject({ status: "succeeded", cost: { usd: "0.70" } });
    const [once, twice] = [["1: 0.10"], ["1: 0.10", "2: 0.10"]];
    expect(attempts(result)).toEqual({ face: once, poster: twice, film: twice, extra: once, jingle: once });
    expect(await journal.ledger("x")).toEqual({ settledMicros: paidService.chargedMicros, heldMicros: 0 });
    expect(fold(await journal.read("x"))?.planned.source).toEqual(source);
    // The keys of all attempts differ.
    expect([paidService.jobs.size, paidService.byKey.size]).toEqual([7, 7]);
  });

  test("a renamed step keeps its result and is not paid again", async () => {
    const { show, paidService, resume } = await finished();
    const renamed = film({ faceName: "portrait" });
    expect(await show.drift("x", renamed)).toMatchObject({
      ...{ isSame: false, renamed: [{ from: "face", to: "portrait" }] },
      ...{ changed: [], stale: [], totalMicros: { min: 0, max: 0 } },
    });
    const done = await resume({ pipeline: renamed, acceptChanges: true });
    expect([done.status, paidService.jobs.size]).toEqual(["succeeded", 4]);
    expect(attempts(done)).toMatchObject({ portrait: ["1: 0.10"] });
    expect((await show.drift("x", renamed)).isSame).toBe(true);
    // The old name stands for that history: another step cannot take it.
    const taken = pipelineOf("film", ({ job }) => ({ face: job("face", models.image, { prompt: "another" }) }));
    const problems = [{ code: "name-taken", step: "face" }];
    await expect(resume({ pipeline: taken, acceptChanges: true })).rejects.toMatchObject({ problems });
  });

  test("beyond the budget, nothing is reset and nothing is spent", async () => {
    const { journal, paidService, resume } = await finished("0.50");
    const before = await journal.read("x");
    const how = { pipeline: film({ poster: "blue" }), acceptChanges: true };
    const over = { code: "OVER_BUDGET", quoteMicros: 600_000, budgetMicros: 500_000 };
    await expect(resume(how)).rejects.toMatchObject(over);
    expect([await journal.read("x"), paidService.jobs.size]).toEqual([before, 4]);
    expect((await resume({ ...how, budget: "0.60" })).cost.usd).toBe("0.60");
  });

  test("without comparison, the code only supplies functions, and the run continues as planned", async () => {
    const { paidService, resume } = await unfunded();
    const other = film({ poster: "a blue poster" });
    expect(await resume({ pipeline: other, compare: false })).toMatchObject({ status: "succeeded", drift: null });
    expect(paidService.prompts).not.toContain("a blue poster");
  });

  test("code that cannot be planned is told, and the run rests", async () => {
    const { resume } = await unfunded();
    const broken = pipelineOf("film", ({ job }) => ({ a: job("a", "no-such-model", { prompt: "a" }) }));
    const pause = { reason: "drift", message: expect.stringContaining("no-such-model") };
    expect(await resume({ pipeline: broken })).toMatchObject({
      pause,
      drift: { problems: [{ code: "unknown-model" }] },
    });
  });
});

describe("changes while jobs are on the service", () => {
  /** A run that is stopped once its first two jobs are accepted; each takes a minute. */
  async function stoppedHalfway(what: Pipeline = film()) {
    const sleeps: (() => void)[] = [];
    const world = await openFakeShow({ sleep: () => new Promise((resolve) => void sleeps.push(resolve)) });
    const { show, clock, outDir } = world;
    const run = await during(clock, show.run(what, {}, { id: "x", outDir }));
    for await (const update of run.events()) if (!("type" in update) && update.event.type === "job.started") break;
    await during(clock, run.stop());
    expect((await show.show("x")).status).toBe("paused");
    sleeps.splice(0);
    const releaseEvery = (ms: number) => {
      clock.setTimer(ms, () => {
        for (const wake of sleeps.splice(0)) wake();
        releaseEvery(ms);
      });
    };
    return { ...world, releaseEvery, sleeps };
  }

  test("finish the paid jobs first: their results stay listed, and nothing is lost", async () => {
    const { show, clock, paidService, releaseEvery, sleeps } = await stoppedHalfway();
    expect(paidService.jobs.size).toBe(2);
    // The face changes while it is made, and the jingle is gone while it is made.
    const other = pipelineOf("film", ({ job }) => ({ face: job("face", models.image, { prompt: "another face" }) }));
    expect(await show.drift("x", other)).toMatchObject({
      ...{ stale: ["face"], removed: ["poster", "film", "jingle"], seenThroughFirst: ["face", "jingle"] },
    });
    const run = await during(clock, show.resume("x", { pipeline: other, acceptChanges: true }));
    const ending = run.result();
    const seen: string[] = [];
    const watching = (async () => {
      for await (const update of run.events()) if (!("type" in update)) seen.push(update.event.type);
    })();
    while (sleeps.length < 2) await clock.advance(250);
    expect((await show.show("x")).pause?.reason).toBe("drift");
    expect(seen).not.toContain("run.replanned");
    releaseEvery(60_000);
    const result = await during(clock, ending);
    await watching;
    expect([result.status, paidService.jobs.size]).toEqual(["succeeded", 3]);
    expect(attempts(result)).toEqual({ face: ["1: 0.10", "2: 0.10"], poster: [], film: [], jingle: ["1: 0.10"] });
    const outputs = [{ sha256: expect.any(String) }];
    expect(stepOf(result, "jingle")).toMatchObject({ removed: true, outputs });
    const completed = seen.slice(0, seen.indexOf("run.replanned")).filter((type) => type === "job.completed");
    expect(completed).toHaveLength(2);
  });

  test("interrupted meanwhile, the run rests where it was, and taking the changes up again goes on from there", async () => {
    const { show, clock, paidService, releaseEvery, sleeps } = await stoppedHalfway();
    const changed = film({ noJingle: true });
    const first = await during(clock, show.resume("x", { pipeline: changed, acceptChanges: true }));
    while (sleeps.length < 2) await clock.advance(250);
    await during(clock, first.stop());
    const rests = await first.result();
    expect(rests).toMatchObject({ status: "paused", pause: { reason: "stopped" } });
    expect(rests.openJobs.map(({ step }) => step).toSorted()).toEqual(["face", "jingle"]);
    sleeps.splice(0);
    const again = await during(clock, show.resume("x", { pipeline: changed, acceptChanges: true }));
    const ending = again.result();
    releaseEvery(10_000);
    const result = await during(clock, ending);
    expect([result.status, paidService.jobs.size]).toEqual(["succeeded", 4]);
    const once = ["1: 0.10"];
    expect(attempts(result)).toEqual({ face: once, poster: once, film: once, jingle: once });
  });

  test("are applied too when only those jobs were left of the run", async () => {
    const one = (prompt: string) => pipelineOf("one", ({ job }) => ({ face: job("face", models.image, { prompt }) }));
    const { show, clock, paidService, releaseEvery } = await stoppedHalfway(one("a face"));
    const run = await during(clock, show.resume("x", { pipeline: one("another face"), acceptChanges: true }));
    releaseEvery(10_000);
    const result = await during(clock, run.result());
    expect(result.status).toBe("succeeded");
    expect(paidService.prompts).toEqual(["a face", "another face"]);
    expect(attempts(result)).toEqual({ face: ["1: 0.10", "2: 0.10"] });
  });
});
