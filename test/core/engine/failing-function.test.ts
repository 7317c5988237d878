import { expect, test } from "vitest";
import { reasonLines } from "../../../src/cli/commands/follow.ts";
import type { Pipeline, pipeline } from "../../../src/index.ts";
import { models, openFakeShow, pipelineOf, stepOf } from "../../support/engine.ts";

async function failed(build: Parameters<typeof pipeline>[1]["build"]) {
  const world = await openFakeShow();
  const of: Pipeline = pipelineOf("fails", build);
  return { ...world, result: await world.run(of) };
}

const broken = () => {
  throw new Error("no such layer");
};

test("a local function that throws is named by file and line in journal, report and terminal; its reason is the sentence alone", async () => {
  const { result, journal } = await failed(({ task }) => ({ made: task("make", {}, broken) }));
  const [step] = result.report.steps;
  expect(step).toMatchObject({ status: "failed", reason: "no such layer" });
  const site = step!.attempts.at(-1)!.site!;
  expect(site.replace(import.meta.filename, "here")).toMatch(/^here:\d+:\d+$/);
  expect(reasonLines(result.report.steps)).toEqual([`make failed: no such layer (at ${site})`]);
  const error = (await journal.read("x")).flatMap(({ event }) => (event.type === "task.failed" ? [event.error] : []));
  expect(error).toEqual([{ code: "TASK_FAILED", message: "no such layer", retryable: true, site }]);
});

test("so is one that scores", async () => {
  const scored = await failed(({ job, choose }) => ({
    best: choose("best", [job("a", models.image, { prompt: "a" })], { by: broken as () => number }),
  }));
  const best = stepOf(scored.result, "best");
  expect(best.attempts.at(-1)!.site).toContain(`${import.meta.filename}:`);
});

test("what throws a text, or fails without any code of the author, names no place", async () => {
  const { result } = await failed(({ task }) => ({
    made: task("make", {}, () => {
      throw "a text";
    }),
  }));
  const [attempt] = result.report.steps[0]!.attempts;
  expect(attempt).toMatchObject({ error: "a text" });
  expect(attempt).not.toHaveProperty("site");
});
