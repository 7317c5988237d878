import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { folder, migratedRecipes } from "../../scripts/migrated-recipes.ts";
import { isPipeline } from "../../src/index.ts";

const recipes = await migratedRecipes(async (file) => {
  const { default: pipeline } = (await import(file)) as { readonly default: unknown };
  if (!isPipeline(pipeline)) throw new Error(`${file} exports no pipeline`);
  return pipeline;
});

test("there are three", () => {
  expect(recipes.map(({ name }) => name)).toEqual(["automation-flow", "avatar-batch", "storyboard-lines"]);
});

test.each(recipes)(
  "$name is what migrating its v2 document gives (node scripts/migrated-recipes.ts writes it)",
  ({ files }) => {
    for (const [path, text] of Object.entries(files)) {
      expect([path.slice(folder.length), readFileSync(path, "utf8")]).toEqual([path.slice(folder.length), text]);
    }
  },
);

test.each(recipes)("$name makes on the local service what v2 would have made", ({ migration: { report } }) => {
  expect(report.verification).toMatchObject({ ok: true, status: "succeeded", differences: [] });
  expect(report.verification?.found.length).toBeGreaterThan(0);
  expect(report.price?.min).toMatch(/^\d+\.\d{2,6}$/);
});

test("the batch with inline speech has nothing left to decide", () => {
  const { report } = recipes.find(({ name }) => name === "avatar-batch")!.migration;
  expect(report.decisions).toEqual([]);
  expect(report.problems).toEqual([]);
});
