import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { described } from "../../src/core/catalog/catalog.ts";
import { catalogOf } from "../../src/core/catalog/index.ts";
import { placeholderMedium } from "../../src/core/kit/placeholder-media.ts";
import { mediaReference } from "../../src/local-service/catalog/model.ts";
import { probe } from "../../src/local-service/render/index.ts";
import { estimateMigration, sampleInput } from "../../src/migrate/index.ts";
import { localShow } from "../support/local-show.ts";
import { id, migrateBodies } from "./support/migrate-one.ts";
import { evaluate } from "./support/planned.ts";

/* A job is priced with placeholders that its model takes, whatever it asks of the length and size of its media. */

const media = (media_type: "image" | "video" | "audio", role: string, bounds: object = {}) =>
  mediaReference({ media_type, role, max_file_size_bytes: 100_000_000, description: "", ...bounds });

const list = (media_type: "image" | "video", bounds: object = {}) => ({
  type: "array",
  minItems: 1,
  maxItems: 3,
  items: media(media_type, "reference", bounds),
});

const text = { type: "string", maxLength: 2500 };

/** Models that make films of films, with limits as services publish them. */
const FILM_MODELS: Readonly<Record<string, object>> = {
  "acme-restyle-1": { source_video: media("video", "input_video", { min_duration_ms: 3000, max_duration_ms: 15_000 }) },
  "acme-motion-control-2": {
    source_video: media("video", "input_video", {
      min_duration_ms: 3000,
      max_duration_ms: 30_000,
      min_dimension_px: 340,
    }),
    start_image: media("image", "start_frame", { min_dimension_px: 340, max_dimension_px: 3850 }),
  },
  "acme-relight-1": {
    source_video: media("video", "input_video", { min_duration_ms: 1000, max_duration_ms: 2000 }),
    images: { ...list("image"), maxItems: 1 },
  },
  "acme-edit-3": {
    source_video: media("video", "input_video", {
      min_duration_ms: 3500,
      min_dimension_px: 720,
      max_aspect_ratio: 0.9,
    }),
    images: list("image", { min_dimension_px: 1100 }),
  },
  "acme-upscaler-1": { source_video: media("video", "input_video", { max_duration_ms: 20_000 }) },
};

const entries = Object.entries(FILM_MODELS).map(([model, properties]) => ({
  ...{ id: model, modality: "video", name: model, description: null, price_description: "" },
  input_schema: {
    type: "object",
    additionalProperties: false,
    required: Object.keys(properties),
    properties: { ...properties, ...(model.includes("upscal") ? {} : { prompt: text }) },
  },
}));

const catalog = catalogOf(
  entries.map(({ input_schema: inputSchema, price_description: priceDescription, ...entry }) =>
    described({ ...entry, priceDescription, inputSchema, outputSchema: null }),
  ),
);

const world = localShow({ catalog: entries });

const film = { text_prompt: "the same, in snow" };
const BODIES = {
  video: { type: "video", video_id: id(1), generated_video_inputs: film },
  "video with pictures": { type: "video", video_id: id(1), reference_image_ids: [id(2)], generated_video_inputs: film },
  video_to_video: { type: "video_to_video", video_id: id(1), prompt: "in snow" },
  motion_control: { type: "motion_control", video_id: id(1), start_keyframe_id: id(2), generated_video_inputs: film },
  video_upscale: { type: "video_upscale", video_id: id(1) },
};

const cases = Object.keys(FILM_MODELS).flatMap((model) => {
  return Object.keys(BODIES).map((body) => [model, body as keyof typeof BODIES] as const);
});

describe("a migrated job", () => {
  test("of a film is priced on every model that takes films", async () => {
    const unpriced: string[] = [];
    let jobs = 0;
    for (const [model, body] of cases) {
      const { migration } = migrateBodies([{ ...BODIES[body], model_slug: "v2/it" }], {
        catalog,
        map: { "v2/it": model },
      });
      if (migration.source === null) continue;
      const pipeline = evaluate(migration.source, catalog);
      const input = await sampleInput(migration.report.inputs, { folder: world.folder, voice: "" });
      const priced = await estimateMigration(migration, world.show, { pipeline, service: "here", input });
      jobs += priced.report.price?.steps.length ?? 0;
      if (priced.report.price?.max == null) unpriced.push(`${model}, ${body}: ${priced.report.price?.why}`);
    }
    expect(unpriced).toEqual([]);
    expect(jobs).toBeGreaterThanOrEqual(15);
  });

  test("names the limits of the file to supply, the strictest of those who take it", () => {
    const bodies = [BODIES.video_to_video, BODIES.motion_control].map((body, at) => ({
      ...body,
      model_slug: `v2/${at}`,
    }));
    const map = { "v2/0": "acme-restyle-1", "v2/1": "acme-motion-control-2" };
    const { migration } = migrateBodies(bodies, { catalog, map });
    expect(migration.report.inputs.find(({ limits }) => limits?.["max_duration_ms"])?.limits).toEqual({
      min_duration_ms: 3000,
      max_duration_ms: 15_000,
      min_dimension_px: 340,
      max_file_size_bytes: 100_000_000,
    });
  });
});

test.each([
  ["video", { min_duration_ms: 3000 }, { durationMs: 3000, width: 512, height: 512, fps: 24 }],
  ["video", { max_duration_ms: 50, max_dimension_px: 64 }, { durationMs: 50, width: 64, height: 64 }],
  ["video", { min_aspect_ratio: 1.7, min_dimension_px: 720 }, { width: 1224, height: 720 }],
  ["image", { min_dimension_px: 600, max_aspect_ratio: 0.5 }, { width: 600, height: 1200 }],
  ["audio", { min_duration_ms: 8000 }, { durationMs: 8000 }],
] as const)("a placeholder for %s within %j can be decoded, and is as it is asked for", async (kind, bounds, found) => {
  const path = join(world.folder, `placeholder-${kind}`);
  await writeFile(path, placeholderMedium(kind, { durationMs: 2000, ratio: 1 }, bounds));
  expect(await probe(path)).toMatchObject({ ok: true, kind, ...found });
});
