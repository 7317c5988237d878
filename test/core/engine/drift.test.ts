import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { failed, file } from "../../../src/core/define/index.ts";
import { fold } from "../../../src/core/journal/events.ts";
import { greyPng } from "../../../src/core/kit/placeholder-media.ts";
import {
  type OverBudgetError,
  type Pipeline,
  type PlanProblemsError,
  pipeline,
  type RunDocument,
} from "../../../src/index.ts";
import { during, type FakeShow, models, openFakeShow, pipelineOf, stepOf } from "../../support/engine.ts";

/** face → poster → film, and a jingle beside them. */
const film = (
  edit: {
    readonly poster?: string;
    readonly faceName?: string;
    readonly extra?: boolean;
    readonly noJingle?: boolean;
  } = {},
) =>
  pipelineOf("film", ({ job }) => {
    const face = job(edit.faceName ?? "face", models.image, { prompt: "a face" });
    const poster = job("poster", models.image, { prompt: edit.poster ?? "a poster", images: [face] });
    const moving = job("film", models.image, { prompt: "moves", images: [poster] });
    const jingle = edit.noJingle ? {} : { jingle: job("jingle", models.image, { prompt: "a jingle" }) };
    const extra = edit.extra ? { extra: job("extra", models.image, { prompt: "an extra" }) } : {};
    return { film: moving, ...jingle, ...extra };
  });

async function finished(world: FakeShow, budget?: string) {
  const result = await world.run(film(), {}, { budget });
  expect(result.status).toBe("succeeded");
  return result;
}

const attempts = (report: RunDocument) =>
  Object.fromEntries(
    report.steps.map(({ path, attempts: made }) => [path, made.map(({ n, cost }) => `${n}: ${cost}`)]),
  );

describe("drift", () => {
  test("lists unchanged, changed (field by field), new, removed and stale steps with prices, and writes nothing", async () => {
    const world = await openFakeShow();
    await finished(world);
    const { show, clock, journal, paidService } = world;
    const before = await journal.read("x");
    const drift = await during(clock, show.drift("x", film({ poster: "a blue poster", extra: true, noJingle: true })));
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
    });
    expect(drift.prices.map(({ step }) => step)).toEqual(["poster", "film", "extra"]);
    expect(await journal.read("x")).toEqual(before);
    expect(paidService.jobs.size).toBe(4);
    expect(await during(clock, show.drift("x", film()))).toMatchObject({ isSame: true, stale: [], prices: [] });
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
    const { show, clock, run } = await openFakeShow();
    await run(said({}), { name: "Ada", on: "2030-01-01" });
    expect((await during(clock, show.drift("x", said({})))).isSame).toBe(true);
    const more = { size: z.string().default("large") };
    const [change] = (await during(clock, show.drift("x", said(more)))).changed;
    expect(change?.path).toBe("made");
  });

  test("a changed condition makes the step stale", async () => {
    const gated = (when: boolean) =>
      pipelineOf("gated", ({ job }) => {
        const a = job("a", models.image, { prompt: "a" });
        const b = job("b", models.image, { prompt: "b" }, when ? { when: failed(a) } : {});
        return { a, b };
      });
    const { show, clock, run } = await openFakeShow();
    await run(gated(true));
    const drift = await during(clock, show.drift("x", gated(false)));
    expect(drift.changed.map(({ path, fields }) => [path, fields[0]?.field])).toEqual([["b", "when"]]);
    expect(drift.stale).toEqual(["b"]);
  });
});

describe("a file that was uploaded", () => {
  const sent = pipeline("sent", {
    input: z.object({ picture: file("image") }),
    build: ({ input, job, upload }) => ({
      made: job("made", models.image, { prompt: "from it", images: [upload("picture", input.picture)] }),
    }),
  });

  test("is compared by its bytes; one that is not there any more is what it was", async () => {
    const world = await openFakeShow();
    const { show, clock, outDir } = world;
    const picture = join(outDir, "..", "picture.png");
    await writeFile(picture, greyPng(512));
    expect((await world.run(sent, { picture })).status).toBe("succeeded");
    expect((await during(clock, show.drift("x", sent))).isSame).toBe(true);
    await rm(picture);
    expect((await during(clock, show.drift("x", sent))).isSame).toBe(true);
    await writeFile(picture, Buffer.concat([greyPng(512), Buffer.from("more")]));
    const drift = await during(clock, show.drift("x", sent));
    expect(drift.changed.map(({ path, fields }) => [path, fields[0]?.field])).toEqual([["picture", "file"]]);
    expect(drift.stale).toEqual(["picture", "made"]);
    expect(await world.resume({ pipeline: sent, acceptChanges: true })).toMatchObject({
      status: "succeeded",
      cost: { usd: "0.20" },
    });
  });
});

describe("resuming with changed code", () => {
  test("a run that rests stays paused for drift, says what differs, and spends nothing", async () => {
    const world = await openFakeShow({ balanceMicros: 250_000 });
    const { paidService } = world;
    expect((await world.run(film(), {}, { concurrency: 1, startAnyway: true })).pause?.reason).toBe("funds");
    paidService.balanceMicros += 10_000_000;
    const [jobs, submits] = [paidService.jobs.size, paidService.submits];
    const changed = film({ poster: "a blue poster" });
    const rests = await world.resume({ pipeline: changed });
    expect(rests).toMatchObject({ status: "paused", pause: { reason: "drift" }, drift: { stale: ["poster", "film"] } });
    expect(rests.pause?.message).toContain("changed: poster");
    expect(rests.pause?.message).toContain("0.20 USD");
    expect([paidService.jobs.size, paidService.submits]).toEqual([jobs, submits]);
    const done = await world.resume({ pipeline: changed, acceptChanges: true });
    expect(done).toMatchObject({ status: "succeeded", drift: null });
    const bodies = [...paidService.jobs.values()].map(({ body }) => JSON.parse(body).prompt);
    expect(bodies.toSorted()).toEqual(expect.arrayContaining(["a blue poster", "a face", "a jingle", "moves"]));
  });

  test("a finished run is left as it is, and its result says what differs", async () => {
    const world = await openFakeShow();
    await finished(world);
    const { paidService } = world;
    const result = await world.resume({ pipeline: film({ extra: true }) });
    expect(result).toMatchObject({ status: "succeeded", pause: null, drift: { added: ["extra"] } });
    expect(paidService.jobs.size).toBe(4);
  });

  test("with the changes accepted, only stale steps are rerun; what was paid before stays listed [G9]", async () => {
    const world = await openFakeShow();
    await finished(world);
    const { paidService, journal } = world;
    const changed = film({ poster: "a blue poster", extra: true, noJingle: true });
    const source = { file: "/film.ts", exportName: "default" };
    const result = await world.resume({ pipeline: changed, acceptChanges: true, source });
    expect(result.status).toBe("succeeded");
    expect(paidService.jobs.size).toBe(7);
    expect(attempts(result.report)).toEqual({
      face: ["1: 0.10"],
      poster: ["1: 0.10", "2: 0.10"],
      film: ["1: 0.10", "2: 0.10"],
      extra: ["1: 0.10"],
      jingle: ["1: 0.10"],
    });
    expect(result.cost.usd).toBe("0.70");
    const ledger = await journal.ledger("x");
    expect([ledger.settledMicros, ledger.heldMicros]).toEqual([paidService.chargedMicros, 0]);
    expect(fold(await journal.read("x"))?.planned.source).toEqual(source);
    // The keys of all attempts differ.
    expect(paidService.byKey.size).toBe(7);
  });

  test("a renamed step keeps its result and is not paid again", async () => {
    const world = await openFakeShow();
    await finished(world);
    const { show, clock, paidService } = world;
    const renamed = film({ faceName: "portrait" });
    expect(await during(clock, show.drift("x", renamed))).toMatchObject({
      ...{ isSame: false, renamed: [{ from: "face", to: "portrait" }] },
      ...{ changed: [], stale: [], totalMicros: { min: 0, max: 0 } },
    });
    const done = await world.resume({ pipeline: renamed, acceptChanges: true });
    expect(done.status).toBe("succeeded");
    expect(paidService.jobs.size).toBe(4);
    expect(attempts(done.report)).toMatchObject({ portrait: ["1: 0.10"] });
    const same = await during(clock, show.drift("x", renamed));
    expect(same.isSame).toBe(true);
    // The old name stands for that history: another step cannot take it.
    const taken = pipelineOf("film", ({ job }) => ({ face: job("face", models.image, { prompt: "another" }) }));
    const error: PlanProblemsError = await during(
      clock,
      show.resume("x", { pipeline: taken, acceptChanges: true }).catch((e) => e),
    );
    expect(error.problems).toMatchObject([{ code: "name-taken", step: "face" }]);
  });

  test("beyond the budget, nothing is reset and nothing is spent", async () => {
    const world = await openFakeShow();
    await finished(world, "0.50");
    const { show, clock, journal, paidService } = world;
    const before = await journal.read("x");
    const changed = film({ poster: "blue" });
    const pay = (budget?: string) =>
      during(clock, show.resume("x", { pipeline: changed, acceptChanges: true, budget }));
    const error: OverBudgetError = await pay().catch((e) => e);
    expect(error).toMatchObject({ code: "OVER_BUDGET", quoteMicros: 600_000, budgetMicros: 500_000 });
    expect(await journal.read("x")).toEqual(before);
    expect(paidService.jobs.size).toBe(4);
    const run = await pay("0.60");
    expect((await during(clock, run.result())).cost.usd).toBe("0.60");
  });

  test("without comparison, the code only supplies functions, and the run continues as planned", async () => {
    const world = await openFakeShow({ balanceMicros: 150_000 });
    const { paidService } = world;
    await world.run(film(), {}, { concurrency: 1, startAnyway: true });
    paidService.balanceMicros += 10_000_000;
    const other = film({ poster: "a blue poster" });
    expect(await world.resume({ pipeline: other, compare: false })).toMatchObject({ status: "succeeded", drift: null });
    expect([...paidService.jobs.values()].map(({ body }) => JSON.parse(body).prompt)).not.toContain("a blue poster");
  });

  test("code that cannot be planned is told, and the run rests", async () => {
    const world = await openFakeShow({ balanceMicros: 150_000 });
    await world.run(film(), {}, { concurrency: 1, startAnyway: true });
    const broken = pipelineOf("film", ({ job }) => ({ a: job("a", "no-such-model", { prompt: "a" }) }));
    const result = await world.resume({ pipeline: broken });
    expect(result.pause).toMatchObject({ reason: "drift" });
    expect(result.pause?.message).toContain("no-such-model");
    expect(result.drift?.problems[0]?.code).toBe("unknown-model");
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
    const drift = await during(clock, show.drift("x", other));
    expect(drift).toMatchObject({
      stale: ["face"],
      removed: ["poster", "film", "jingle"],
      seenThroughFirst: ["face", "jingle"],
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
    expect(result.status).toBe("succeeded");
    expect(paidService.jobs.size).toBe(3);
    expect(attempts(result.report)).toEqual({
      face: ["1: 0.10", "2: 0.10"],
      poster: [],
      film: [],
      jingle: ["1: 0.10"],
    });
    const jingle = stepOf(result, "jingle");
    expect(jingle).toMatchObject({ removed: true, outputs: [{ sha256: expect.any(String) }] });
    expect(seen.indexOf("run.replanned")).toBeGreaterThan(
      seen.lastIndexOf("job.completed", seen.indexOf("run.replanned")),
    );
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
    expect(result.status).toBe("succeeded");
    expect(attempts(result.report)).toEqual({
      face: ["1: 0.10"],
      poster: ["1: 0.10"],
      film: ["1: 0.10"],
      jingle: ["1: 0.10"],
    });
    expect(paidService.jobs.size).toBe(4);
  });

  test("are applied too when only those jobs were left of the run", async () => {
    const one = (prompt: string) => pipelineOf("one", ({ job }) => ({ face: job("face", models.image, { prompt }) }));
    const { show, clock, paidService, releaseEvery } = await stoppedHalfway(one("a face"));
    const run = await during(clock, show.resume("x", { pipeline: one("another face"), acceptChanges: true }));
    releaseEvery(10_000);
    const result = await during(clock, run.result());
    expect(result.status).toBe("succeeded");
    expect([...paidService.jobs.values()].map(({ body }) => JSON.parse(body).prompt)).toEqual([
      "a face",
      "another face",
    ]);
    expect(attempts(result.report)).toEqual({ face: ["1: 0.10", "2: 0.10"] });
  });
});
