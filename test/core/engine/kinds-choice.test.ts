import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { RunResult } from "../../../src/index.ts";
import { during, eventsOf, models, openFakeShow, pipelineOf, statusesOf, stepOf } from "../../support/engine.ts";

const prompt = "a face";

type Scores = (candidate: { readonly index: number }) => number | Promise<number>;

/** Three takes with the seeds 7, 8 and 9. */
const takesBy = (choose: "first" | "person" | Scores) =>
  pipelineOf("cast", ({ takes }) => ({
    face: takes("face", models.image, { prompt, seed: 7 }, { count: 3, choose }),
  }));
const pickOf = (result: RunResult) => stepOf(result, "face/pick");

/** A world in which the first of them fails. */
const worldOfFailure = () =>
  openFakeShow({
    fails: (_, body) => (JSON.parse(body).seed === 7 ? { code: "INVALID_ARGUMENT", retryable: false } : null),
  });

test("takes of which the first good one counts go on after a failure, until one is good", async () => {
  const result = await (await worldOfFailure()).run(takesBy("first"));
  expect(result.status).toBe("succeeded");
  expect(statusesOf(result)).toMatchObject({ "face/1": "failed", "face/2": "succeeded", "face/3": "skipped" });
  expect(pickOf(result)).toMatchObject({ chosen: { step: "face/2", index: 0 } });
});

describe("a scoring function", () => {
  test("chooses the highest, the first of equals", async () => {
    const world = await openFakeShow();
    const result = await world.run(takesBy(async ({ index }) => [1, 5, 5][index]!));
    expect(pickOf(result)).toMatchObject({ status: "succeeded", chosen: { step: "face/2", index: 0 } });
    const decided = { type: "pick.decided", scores: [1, 5, 5] };
    expect(await eventsOf(world)).toContainEqual(expect.objectContaining(decided));
  });

  test("chooses among the remaining takes when one failed", async () => {
    const result = await (await worldOfFailure()).run(takesBy(() => 1));
    expect(pickOf(result)).toMatchObject({ chosen: { step: "face/2", index: 0 } });
  });

  test("that never ends does not keep a stop waiting", async () => {
    const world = await openFakeShow();
    const { promise: scoring, resolve: start } = Promise.withResolvers<void>();
    const endless = takesBy(() => {
      start();
      return new Promise(() => {});
    });
    const handle = await world.show.run(endless, {}, { id: "x", outDir: world.outDir });
    const going = during(world.clock, handle.result());
    await scoring;
    await handle.stop();
    expect((await going).pause?.reason).toBe("stopped");
    expect(pickOf(await world.resume({ pipeline: takesBy(() => 1) }))).toMatchObject({ status: "succeeded" });
  });

  test.each([
    ["no number", () => Number.NaN, /must be a finite number, but the function returned NaN/],
    ["an error", () => Promise.reject(new Error("no eyes")), /^no eyes$/],
  ])("that gives %s fails the choice; what was made stays", async (_name, choose, reason) => {
    const world = await openFakeShow();
    const result = await world.run(takesBy(choose));
    expect(pickOf(result)).toMatchObject({ status: "failed", reason: expect.stringMatching(reason) });
    expect(result.report.steps.filter(({ status }) => status === "succeeded")).toHaveLength(3);
  });
});

describe("a person's decision", () => {
  const gated = pipelineOf("gated", ({ job, approve, choose }) => {
    const faces = job("faces", models.image, { prompt, num_outputs: 3 });
    const one = choose("one", faces.outputs(), { by: "person", message: "which face?" });
    const go = approve("go", one);
    return { film: job("film", models.image, { prompt: "with it", images: [go] }) };
  });

  test("pauses the run with what to do, and is applied on resume", async () => {
    const world = await openFakeShow();
    const paused = await world.run(gated);
    const message = expect.stringMatching(/^Waiting for a decision on one.*which face\?.*showrunner approve x$/);
    expect(paused.pause).toMatchObject({ reason: "approval", message });
    const refused = [
      ["one", undefined, "one asks for a choice; pick a number from 0 to 2"],
      ["one", 3, "there is no result 3"],
      ["one", "faces", "pick: faces produced several results; pick a number from 0 to 2."],
      ["go", undefined, "go is waiting"],
      ["film", undefined, "film is not an approval"],
    ] as const;
    for (const [step, pick, why] of refused) await expect(world.show.approve("x", step, { pick })).rejects.toThrow(why);
    await world.show.approve("x", "one", { pick: 2 });
    expect((await world.resume()).pause?.message).toMatch(/^Waiting for a decision on go/);
    await world.show.approve("x", "go", { note: "nice" });
    const result = await world.resume();
    expect(result.status).toBe("succeeded");
    const [faces, film] = [...world.paidService.jobs.values()];
    const { assetId: asset_id } = faces!.outputs[2]!;
    expect(JSON.parse(film!.body).images).toEqual([{ source: "asset", asset_id }]);
    const [, one, go] = result.report.steps;
    expect(one).toMatchObject({ chosen: { step: "faces", index: 2 }, approval: { approved: true, note: null } });
    expect(go).toMatchObject({ approval: { approved: true, note: "nice" } });
    await expect(world.show.approve("x", "go")).rejects.toThrow(/go was already approved/);
  });

  test("names a take by its position or by its step, and nothing else", async () => {
    const world = await worldOfFailure();
    expect((await world.run(takesBy("person"))).pause?.reason).toBe("approval");
    const pick = (which: string | number) => world.show.approve("x", "face/pick", { pick: which });
    await expect(pick("face/4")).rejects.toThrow(
      'face/pick does not offer a result from step "face/4"; pick a number from 0 to 1, or the name of the step that produced the result: face/2, face/3.',
    );
    // A number in text might be meant to count from 0 or from 1; a take that failed is not shown.
    for (const none of ["1", "face/1", "", 2, -1, 0.5]) await expect(pick(none)).rejects.toThrow(/pick/);
    await pick("face/3");
    expect(pickOf(await world.resume())).toMatchObject({ chosen: { step: "face/3", index: 0 } });
  });

  test("against it fails the step with the note, and what uses it is skipped unpaid", async () => {
    const world = await openFakeShow();
    await world.run(gated);
    await world.show.reject("x", "one", { note: "all too grim" });
    const result = await world.resume();
    expect(statusesOf(result)).toEqual({ faces: "succeeded", one: "failed", go: "skipped", film: "skipped" });
    expect(result.report.steps[1]).toMatchObject({ reason: "rejected: all too grim", approval: { approved: false } });
    expect(world.paidService.jobs.size).toBe(1);
  });

  test("takes effect at once while other steps are still under way", async () => {
    const { promise: slow, resolve: release } = Promise.withResolvers<void>();
    const busy = pipelineOf("busy", ({ job, task, approve }) => {
      const face = approve("go", job("face", models.image, { prompt }));
      const waits = task("waits", {}, () => slow);
      return { film: job("film", models.image, { prompt: "with it", images: [face] }), waited: waits.value };
    });
    const world = await openFakeShow();
    const handle = await world.show.run(busy, {}, { id: "x", outDir: world.outDir });
    const seen: string[] = [];
    const watching = (async () => {
      for await (const update of handle.events()) {
        if ("type" in update) continue;
        const { event } = update;
        if (event.type === "step.started" && event.step === "go") await world.show.approve("x", "go");
        if (event.type === "job.completed") seen.push(event.step);
        if (event.type === "job.completed" && event.step === "film") release();
      }
    })();
    const result = await during(world.clock, handle.result());
    await watching;
    expect(seen).toEqual(["face", "film"]);
    expect(result.status).toBe("succeeded");
  });

  test("about a value lets just that value pass", async () => {
    const world = await openFakeShow({ says: () => '{"lines":["one","two"]}' });
    const told = pipelineOf("told", ({ chat, approve, task }) => {
      const schema = z.object({ lines: z.array(z.string()) });
      const story = chat("story", "chat-1", { prompt }, { schema, maxCost: "1" });
      const line = approve("line", story.at("lines").at(1));
      return { loud: task("loud", { line }, (given) => given.line.toUpperCase()).value };
    });
    expect((await world.run(told)).pause?.reason).toBe("approval");
    await world.show.approve("x", "line");
    expect(await world.resume({ pipeline: told })).toMatchObject({ status: "succeeded", outputs: { loud: "TWO" } });
  });
});
