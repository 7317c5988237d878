import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { folder, migratedRecipes } from "../../scripts/migrated-recipes.ts";
import { isPipeline } from "../../src/index.ts";

const recipes = await migratedRecipes(async (file) => {
  const { default: pipeline } = (await import(file)) as { readonly default: unknown };
  if (!isPipeline(pipeline)) throw new Error(`${file} exports no pipeline`);
  return pipeline;
});

test("there are four", () => {
  expect(recipes.map(({ name }) => name)).toEqual([
    "automation-flow",
    "avatar-batch",
    "hard-cases",
    "storyboard-lines",
  ]);
});

test.each(recipes)(
  "$name is what migrating its v2 document gives (node scripts/migrated-recipes.ts writes it)",
  ({ files }) => {
    for (const [path, text] of Object.entries(files)) {
      expect([path.slice(folder.length), readFileSync(path, "utf8")]).toEqual([path.slice(folder.length), text]);
    }
  },
);

/** What v3 has no model for is told as missing; everything else is made. */
const MISSING: { readonly [name: string]: readonly string[] } = {
  "hard-cases": [
    'node "Film to start from": reference_image_ids[0] arrives in no step (video-1 takes no reference images)',
    'node "Film to start from": video_id arrives in no step (video-1 takes no film to start from)',
    'node "Restyle" is open: no v3 model of the catalog is known to do video_to_video',
  ],
  "storyboard-lines": ["line 6 is open: no v3 model of the catalog is known to do text_to_sound"],
};

test.each(recipes)("$name makes on the local service what v2 would have made", ({ name, migration: { report } }) => {
  const differences = MISSING[name] ?? [];
  expect(report.verification).toMatchObject({ ok: differences.length === 0, status: "succeeded", differences });
  expect(report.verification?.found.length).toBeGreaterThan(0);
  expect(report.price?.min).toMatch(/^\d+\.\d{2,6}$/);
});

test("the batch with inline speech has nothing left to decide", () => {
  const { report } = recipes.find(({ name }) => name === "avatar-batch")!.migration;
  expect(report.decisions).toEqual([]);
  expect(report.problems).toEqual([]);
});
