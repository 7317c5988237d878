import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { folder, migratedRecipes } from "../../scripts/migrated-recipes.ts";
import { isPipeline } from "../../src/core/define/index.ts";

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
    'node "Film to start from": no step uses reference_image_ids[0] (video-1 accepts no reference images)',
    'node "Film to start from": no step uses video_id (video-1 accepts no video to start from)',
    'node "Restyle" was not migrated: no v3 model in the catalog supports video_to_video',
  ],
  "storyboard-lines": ["line 6 was not migrated: no v3 model in the catalog supports text_to_sound"],
};

test.each(recipes)(
  "$name produces on the local service what v2 would have produced",
  ({ name, migration: { report } }) => {
    const differences = MISSING[name] ?? [];
    expect(report.verification).toMatchObject({ ok: differences.length === 0, status: "succeeded", differences });
    expect(report.verification?.found.length).toBeGreaterThan(0);
    expect(report.price?.min).toMatch(/^\d+\.\d{2,6}$/);
  },
);

test("the batch with inline speech has nothing left to decide", () => {
  const { report } = recipes.find(({ name }) => name === "avatar-batch")!.migration;
  expect(report.decisions).toEqual([]);
  expect(report.problems).toEqual([]);
});

test("the report of hard-cases gives the reason of a body that stays open once", () => {
  const report = readFileSync(join(folder, "hard-cases", "report.md"), "utf8");
  const [, body = ""] = report.split("### Body 6");
  expect(body.slice(0, body.indexOf("### Body 7")).split("supports video").length - 1).toBe(1);
});
