import { writeFileSync } from "node:fs";
import { utimes } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { openMediaStore } from "../../../src/core/engine/media/folder-store.ts";
import { attemptsOf, greyPng, models, openFakeShow, pipelineOf, stepOf } from "../../support/engine.ts";

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

test("a chat that is rerun and answers otherwise leads to other steps; those that were paid for stay listed", async () => {
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
  const { chargedMicros, chatChargedMicros } = world.paidService;
  expect((await world.journal.ledger("x")).settledMicros).toBe(chargedMicros + chatChargedMicros);
});

test("one step of an expansion that is rerun leaves the others as they are", async () => {
  const { paidService, resume, run } = await openFakeShow({ says: growing });
  await run(scenes);
  const again = await resume({ pipeline: scenes, rerun: ["shots/shot-1"] });
  expect(attemptsOf(again)).toMatchObject({ story: 1, "shots/shot-0": 1, "shots/shot-1": 2, poster: 1 });
  expect([again.status, paidService.chats.size]).toEqual(["succeeded", 1]);
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
  expect((await world.run(kinds)).status).toBe("succeeded");
  kind = after;
  const result = await world.resume({ pipeline: kinds, rerun: ["story"] });
  expect(result.status).toBe("succeeded");
  const paid = [before, after].filter((one) => one !== "task");
  const [chats, jobs] = ["chat", "job"].map((what) => paid.filter((one) => one === what).length);
  expect([paidService.chats.size, paidService.jobs.size]).toEqual([2 + chats!, 1 + jobs!]);
  expect(stepOf(result, "one/made").attempts.map(({ n }) => n)).toEqual(paid.map((_, index) => index + 1));
  expect(await journal.ledger("x")).toEqual({ heldMicros: 0, settledMicros: result.cost.micros });
});
