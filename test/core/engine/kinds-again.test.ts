import { writeFileSync } from "node:fs";
import { utimes } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { openMediaStore } from "../../../src/core/engine/media/folder-store.ts";
import { greyPng } from "../../../src/core/kit/placeholder-media.ts";
import { attemptsOf, models, openFakeShow, pipelineOf, stepOf } from "../../support/engine.ts";

const told = z.object({ scenes: z.array(z.string()) });

/** A chat's scenes, a picture of each, a sheet of all, and a poster of the sheet. */
const scenes = pipelineOf("scenes", ({ chat, expand, task, job }) => {
  const story = chat("story", "chat-1", { prompt: "tell" }, { schema: told, maxCost: "0.01" });
  const shots = expand(
    "shots",
    story.at("scenes"),
    (all, words) => all.map((prompt, index) => words.job(`shot-${index}`, models.image, { prompt })),
    { maxSteps: 5 },
  );
  const sheet = task(
    "sheet",
    { shots },
    (given, { file }) => {
      writeFileSync(file("sheet"), greyPng(512));
      return given.shots.length;
    },
    { files: { sheet: "image" } },
  );
  return { shots, count: sheet.value, poster: job("poster", models.image, { prompt: "poster", images: [sheet] }) };
});

const growing = (_: unknown, nth: number) => JSON.stringify({ scenes: ["boats", "gulls", "nets"].slice(0, 2 + nth) });

describe("rerun", () => {
  test("a chat that answers otherwise leads to other steps; those that were paid for stay listed", async () => {
    const world = await openFakeShow({ says: growing });
    expect(attemptsOf(await world.run(scenes))).toEqual({
      ...{ story: 1, shots: 0, sheet: 0, poster: 1, "shots/shot-0": 1, "shots/shot-1": 1 },
    });
    const again = await world.resume({ pipeline: scenes, rerun: ["story"] });
    expect(again).toMatchObject({ status: "succeeded", outputs: { count: 3 } });
    // The sheet came out the same, so that what takes it in is not paid for again.
    expect(attemptsOf(again)).toMatchObject({ story: 2, "shots/shot-2": 1, poster: 1 });
    const paths = again.report.steps.map(({ path }) => path);
    expect(new Set(paths).size).toBe(paths.length);
    expect((await world.journal.ledger("x")).settledMicros).toBe(
      world.paidService.chargedMicros + world.paidService.chatChargedMicros,
    );
  });

  test("one step of an expansion leaves the others as they are", async () => {
    const world = await openFakeShow({ says: growing });
    await world.run(scenes);
    const again = await world.resume({ pipeline: scenes, rerun: ["shots/shot-1"] });
    expect(again.status).toBe("succeeded");
    expect(attemptsOf(again)).toMatchObject({ story: 1, "shots/shot-0": 1, "shots/shot-1": 2, poster: 1 });
    expect(world.paidService.chats.size).toBe(1);
  });
});

test("garbage collection keeps files of tasks as long as their run", async () => {
  const world = await openFakeShow({ says: growing });
  const result = await world.run(scenes);
  const media = await openMediaStore(join(world.outDir, "../media"));
  for await (const sha256 of media.hashes()) await utimes(media.path(sha256), 1, 1);
  const { sha256 } = stepOf(result, "sheet").outputs[0]!;
  await world.show.gc();
  expect(await media.has(sha256!)).toBe(true);
  await world.clock.advance(60 * 24 * 3_600_000);
  expect((await world.show.gc()).runs).toEqual(["x"]);
  expect(await media.has(sha256!)).toBe(false);
});

test("a run that waits for a decision is never old enough to be collected", async () => {
  const world = await openFakeShow({ says: growing });
  const gated = pipelineOf("gated", ({ job, approve }) => ({
    face: approve("go", job("face", models.image, { prompt: "a face" })),
  }));
  expect((await world.run(gated)).pause?.reason).toBe("approval");
  await world.clock.advance(400 * 24 * 3_600_000);
  expect((await world.show.gc()).runs).toEqual([]);
});

/** The story's scenes say the kind of each step of the expansion. */
const kinds = pipelineOf("kinds", ({ chat, expand }) => {
  const story = chat("story", "chat-1", { prompt: "tell" }, { schema: told, maxCost: "0.01" });
  const one = expand(
    "one",
    story.at("scenes"),
    (all, words) => {
      const [kind] = all;
      if (kind === "job") words.job("made", models.image, { prompt: "a boat" });
      else if (kind === "task") words.task("made", {}, () => "a boat");
      else words.chat("made", "chat-1", { prompt: "a boat" }, { maxCost: "0.01" });
      return words.job("kept", models.image, { prompt: "a harbour" });
    },
    { maxSteps: 2 },
  );
  return { one };
});

test.each([
  ["job", "chat"],
  ["chat", "job"],
  ["job", "task"],
  ["task", "chat"],
])("a %s whose place a %s takes keeps its payments, and the new step pays once", async (before, after) => {
  let kind = before;
  const says = () => JSON.stringify({ scenes: [kind] });
  const world = await openFakeShow({ says, chatMicros: 1_234 });
  const { journal, paidService } = world;
  expect(await world.run(kinds)).toMatchObject({ status: "succeeded" });
  kind = after;
  const result = await world.resume({ pipeline: kinds, rerun: ["story"] });
  expect(result).toMatchObject({ status: "succeeded" });
  const paid = [before, after].filter((one) => one !== "task");
  expect(paidService.chats.size).toBe(2 + paid.filter((one) => one === "chat").length);
  expect(paidService.jobs.size).toBe(1 + paid.filter((one) => one === "job").length);
  expect(stepOf(result, "one/made").attempts.map(({ n }) => n)).toEqual(paid.map((_, index) => index + 1));
  expect(await journal.ledger("x")).toEqual({ heldMicros: 0, settledMicros: result.cost.micros });
});
