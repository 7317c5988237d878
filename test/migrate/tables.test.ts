import { expect, test } from "vitest";
import { described } from "../../src/core/catalog/catalog.ts";
import { type Catalog, catalogOf } from "../../src/core/catalog/index.ts";
import { largeCatalog } from "../support/large-catalog/index.ts";
import { id, migrateBodies } from "./support/migrate-one.ts";

const large = largeCatalog(7);
const tabled = new Set(large.models.filter(({ rows }) => rows.length > 0).map((model) => model.id));

/** The models that publish a table, as a service describes them. */
const catalog: Catalog = catalogOf(
  large.entries.flatMap((entry) => {
    if (!tabled.has(entry.id)) return [];
    const { modality, input_schema } = entry as unknown as { modality: string; input_schema: Record<string, unknown> };
    const base = { name: entry.id, description: null, priceDescription: null, outputSchema: null };
    return [described({ ...base, id: entry.id, modality, inputSchema: input_schema })];
  }),
);

const FRAMES = [{}, { start_keyframe_id: id(1) }, { start_keyframe_id: id(1), end_keyframe_id: id(2) }];
const FILM = { text_prompt: "a kite", aspect_ratio: "16:9" };
const SETTINGS = [{}, { resolution: "4K", duration_ms: 10_000 }];
const PICTURES = [{}, { start_keyframe_id: id(1) }, { reference_image_ids: [id(1), id(2)] }];
const VIDEOS = SETTINGS.flatMap((settings) =>
  [
    ...FRAMES,
    { reference_image_ids: [id(1)] },
    { video_id: id(3) },
    { video_id: id(3), reference_image_ids: [id(1)] },
  ].map((media) => ({
    type: "video",
    ...media,
    generated_video_inputs: { ...FILM, ...settings },
  })),
);
const IMAGES = PICTURES.flatMap((media) =>
  [{}, { aspect_ratio: "16:9" }, { aspect_ratio: "1:1", resolution: "2K" }].map((settings) => ({
    type: "image",
    text_prompt: "a kite",
    ...media,
    ...settings,
  })),
);

test("each job on a model with a table is a combination that the table accepts", () => {
  expect(catalog.models()).toHaveLength(37);
  const broken: string[] = [];
  let jobs = 0;
  for (const model of catalog.models()) {
    for (const body of model.modality === "image" ? IMAGES : VIDEOS) {
      const { steps, migration } = migrateBodies([{ ...body, model_slug: "v2/it" }], {
        catalog,
        map: { "v2/it": model.id },
      });
      const made = Object.values(steps).filter((input) => typeof input === "object");
      jobs += made.length;
      if (made.length === 0)
        broken.push(
          `${model.id} ${JSON.stringify(body)}: ${JSON.stringify(migration.report.bodies[0]?.fields[0]?.why)}`,
        );
    }
  }
  expect(broken).toEqual([]);
  expect(jobs).toBeGreaterThan(250);
});
