import { existsSync } from "node:fs";
import { readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { greyPng, plainWav } from "../../../src/core/kit/placeholder-media.ts";
import type { LocalFile, Pipeline, TaskContext } from "../../../src/index.ts";
import { during, models, OUTPUT_BYTES, openFakeShow, pipelineOf, stepOf } from "../../support/engine.ts";

const picture = greyPng(512);

/** A pipeline of one task that declares one picture. */
function taskOf(run: (context: TaskContext) => unknown, more: { attempts?: number; version?: string } = {}): Pipeline {
  return pipelineOf("one-task", ({ task }) => ({
    made: task("make", {}, (_, context) => run(context), { files: { sheet: "image" }, ...more }).file("sheet"),
  }));
}

test("a task reads outputs of jobs, writes declared files, and a job consumes those", async () => {
  const seen: { readonly faces: readonly LocalFile[]; readonly note: string }[] = [];
  const folders: string[] = [];
  const show = pipelineOf("joins", ({ job, task }) => {
    const faces = job("faces", models.image, { prompt: "two faces", num_outputs: 2 });
    const joined = task(
      "join",
      { faces: faces.outputs(), note: "side by side" },
      async (input, { file, folder, progress }) => {
        seen.push(input);
        folders.push(folder, ...(await readdir(folder)));
        progress(7);
        await writeFile(file("sheet"), picture);
        return { count: input.faces.length };
      },
      { files: { sheet: "image" } },
    );
    const big = job("big", models.image, { prompt: "bigger", images: [joined] });
    return { sheet: joined, big, facts: joined.value };
  });
  const world = await openFakeShow();
  const handle = await world.show.run(show, {}, { id: "x", outDir: world.outDir });
  const fractions: (number | null)[] = [];
  const watching = (async () => {
    for await (const update of handle.events())
      if ("type" in update && update.step === "join") fractions.push(update.fraction);
  })();
  const result = await during(world.clock, handle.result());
  await watching;
  expect(result).toMatchObject({ status: "succeeded", outputs: { facts: { count: 2 } } });
  if (result.status !== "succeeded") throw new Error(result.status);
  expect(result.outputs.sheet).toMatchObject({ width: 512, height: 512, contentType: "image/png" });
  expect(await readFile(result.outputs.sheet.path)).toEqual(Buffer.from(picture));
  const faces = [{ contentType: "image/png", sizeBytes: OUTPUT_BYTES }, {}];
  expect(seen[0]).toMatchObject({ note: "side by side", faces });
  expect([...world.paidService.uploads.values()]).toContain(Buffer.from(picture).toString("hex"));
  expect(folders).toHaveLength(1);
  expect(existsSync(folders[0]!)).toBe(false);
  expect(fractions).toEqual([1]);
  expect(stepOf(result, "join").outputs[0]).toMatchObject({
    ...{ status: "COMPLETED", asset_id: null, width: 512, file: "sheet.png" },
  });
});

const write =
  (bytes: Uint8Array | string) =>
  async ({ file }: TaskContext) =>
    writeFile(file("sheet"), bytes);
const circle: { self?: unknown } = {};
circle.self = circle;
const cases: readonly [string, (context: TaskContext) => unknown, RegExp][] = [
  ["no file", () => {}, /did not write its file "sheet"/],
  ["an empty file", write(""), /"sheet" is empty/],
  ["no media", write("hello there"), /"sheet" should be image, but it is not in a recognized media format/],
  ["another kind", write(plainWav(20)), /should be image, but it is audio\/wav/],
  ["half a picture", write(picture.slice(0, 60)), /should be image, but it is truncated \(image\/png\)/],
  ["a link", ({ file }) => symlink("/etc/hostname", file("sheet")), /"sheet" is not a plain file/],
  ["an undeclared file", ({ file }) => file("film"), /the file "film" is not declared by make, which declares sheet/],
  ["no number", () => ({ score: Number.NaN }), /is not JSON: it contains NaN/],
  ["a function", () => ({ later: () => 1 }), /is not JSON: it contains a function/],
  ["a circle", () => circle, /is not JSON: /],
  ["too much", () => "x".repeat(1024 * 1024), /exceeds 1048576 bytes; write large results to a file/],
  ["its own words", () => Promise.reject(new Error("the moon is down")), /^the moon is down$/],
  ["a secret", () => Promise.reject(new Error("GET https://x.test/a?sig=s3cret")), /^GET https:\/\/x\.test\/a$/],
  ["no error at all", () => Promise.reject("just text"), /^just text$/],
];
test.each(cases)("a task that does not do what it declares fails, and says which: %s", async (_name, run, reason) => {
  const world = await openFakeShow();
  const step = { status: "failed", reason: expect.stringMatching(reason) };
  expect(await world.run(taskOf(run))).toMatchObject({ status: "failed", report: { steps: [step] } });
});

test("a failed try is repeated as often as the step allows, each in an empty folder", async () => {
  let tries = 0;
  const found: string[] = [];
  const world = await openFakeShow();
  const flaky = taskOf(
    async ({ file, folder }) => {
      found.push(...(await readdir(folder)));
      await writeFile(file("sheet"), picture);
      if (++tries < 3) throw new Error(`try ${tries}`);
    },
    { attempts: 3 },
  );
  const attempts = [{ error: "try 1" }, { error: "try 2" }];
  expect(await world.run(flaky)).toMatchObject({ status: "succeeded", report: { steps: [{ attempts }] } });
  expect(found).toEqual([]);
});

test("a stop tells the task and does not wait for one that does not listen; resuming runs it again", async () => {
  let tries = 0;
  let told = false;
  const { promise: started, resolve: start } = Promise.withResolvers<void>();
  const stubborn = taskOf(async ({ signal, file }) => {
    signal.addEventListener("abort", () => {
      told = true;
    });
    start();
    if (++tries === 1) await new Promise(() => {});
    await writeFile(file("sheet"), picture);
  });
  const world = await openFakeShow();
  const handle = await world.show.run(stubborn, {}, { id: "x", outDir: world.outDir });
  await started;
  await during(world.clock, handle.stop());
  expect(await handle.result()).toMatchObject({ status: "paused", pause: { reason: "stopped" } });
  expect(told).toBe(true);
  expect(await world.resume({ pipeline: stubborn })).toMatchObject({ status: "succeeded" });
  expect(tries).toBe(2);
});

describe("a run whose code is not here", () => {
  const show = (version: string) =>
    pipelineOf("needs-code", ({ job, task }) => {
      const face = job("face", models.image, { prompt: "a face" });
      return { size: task("measure", { face }, ({ face: one }) => one.sizeBytes, { version }).value };
    });

  async function stoppedBeforeTask() {
    const world = await openFakeShow();
    const handle = await world.show.run(show("1"), {}, { id: "x", outDir: world.outDir });
    await during(world.clock, handle.stop());
    return world;
  }

  test("does all it can, pauses, and says how to go on; with the code it ends without another job", async () => {
    const world = await stoppedBeforeTask();
    const message = /but no pipeline was passed. Resume .*: showrunner resume x --file pipeline.ts/;
    expect((await world.resume()).pause).toMatchObject({ reason: "code", message: expect.stringMatching(message) });
    const result = await world.resume({ pipeline: show("1") });
    expect(result).toMatchObject({ status: "succeeded", outputs: { size: OUTPUT_BYTES } });
    expect(world.paidService.jobs.size).toBe(1);
  });

  test("is not finished by a function of another version, nor by another pipeline", async () => {
    const world = await stoppedBeforeTask();
    const other = await world.resume({ pipeline: show("2") });
    expect(other.pause).toMatchObject({ reason: "drift", message: expect.stringMatching(/changed: measure/) });
    const foreign = pipelineOf("other", ({ task }) => ({ made: task("else", {}, () => 1) }));
    expect((await world.resume({ pipeline: foreign })).status).toBe("paused");
    expect(world.paidService.jobs.size).toBeLessThanOrEqual(1);
  });
});
