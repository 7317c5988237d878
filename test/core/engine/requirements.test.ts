import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { TaskOptions } from "../../../src/core/define/index.ts";
import { models, pipelineOf } from "../../support/engine.ts";
import { localShow } from "../../support/local-show.ts";

const world = localShow();
function needing(requires: NonNullable<TaskOptions["requires"]>) {
  return pipelineOf("needing", ({ job, task }) => {
    const picture = job("picture", models.image, { prompt: "A boat" });
    const one = task("one", { picture }, () => 1, { requires });
    const two = task("two", { one }, () => 2, { requires });
    return { two };
  });
}

test("what a task needs of the machine is a problem of the plan, before anything is paid", async () => {
  let asked = 0;
  const lacking = needing(async () => {
    asked++;
    return "there is no press. Install it: buy one";
  });
  const problem = { code: "missing-requirement", step: "one", field: "requires" };
  const message = "there is no press. Install it: buy one (so does two)";
  expect(await world.show.plan(lacking, {})).toMatchObject({ ok: false, problems: [{ ...problem, message }] });
  expect(asked).toBe(1);
  await expect(world.run(lacking)).rejects.toMatchObject({ problems: [{ ...problem, message }] });
  expect((await world.service.stats()).jobs_created).toBe(0);
});

test("a requirement that throws is a problem, and one that holds is none", async () => {
  const throwing = needing(() => {
    throw new Error("no door");
  });
  expect(await world.show.plan(throwing, {})).toMatchObject({
    ok: false,
    problems: [{ message: "has requirements that could not be checked: Error: no door (so does two)" }],
  });
  expect(
    await world.show.plan(
      needing(() => null),
      {},
    ),
  ).toMatchObject({ ok: true });
  expect(await world.show.plan(needing("ffmpeg" as never), {})).toMatchObject({
    ok: false,
    problems: [{ code: "bad-option", field: "requires", message: "`requires` must be a function" }, { step: "two" }],
  });
});

test("steps that are known late are asked when they are known, before any of them is paid", async () => {
  const late = pipelineOf("late", ({ task, expand }) => {
    const list = task("list", {}, () => ["a boat"]);
    const pictures = expand(
      "pictures",
      list,
      (prompts, methods) =>
        prompts.map((prompt, index) => {
          const picture = methods.job(`picture-${index}`, models.image, { prompt });
          const files = { sheet: "image" } as const;
          return methods.task(`sheet-${index}`, { picture }, () => 1, { files, requires: () => "there is no press" });
        }),
      { maxSteps: 2, yields: "image" },
    );
    return { pictures };
  });
  expect(JSON.stringify(await world.run(late))).toContain("there is no press");
  expect((await world.service.stats()).jobs_created).toBe(0);
});

test("a file of text is a result like any other", async () => {
  const lines = pipelineOf("lines", ({ task }) => {
    const write = async (text: string, path: string) => (await import("node:fs/promises")).writeFile(path, text);
    const one = task("srt", {}, (_, { file }) => write("1\n", file("lines.srt")), { files: { "lines.srt": "text" } });
    const size = task("size", { one }, ({ one }) => one.sizeBytes);
    return { lines: one, size };
  });
  const result = await world.run(lines);
  const outputs = result.outputs as { readonly lines: { readonly path: string }; readonly size: number };
  const { path } = outputs.lines;
  expect(path).toMatch(/lines\.srt$/);
  expect(readFileSync(path, "utf8")).toBe("1\n");
  expect(outputs.size).toBe(2);
  const broken = pipelineOf("broken", ({ task }) => ({
    notes: task(
      "notes",
      {},
      async (_, { file }) => (await import("node:fs/promises")).writeFile(file("notes"), new Uint8Array([0xff, 0])),
      { files: { notes: "text" } },
    ),
  }));
  expect(JSON.stringify(await world.run(broken))).toContain("its bytes are not UTF-8");
});
