import { describe, expect, test } from "vitest";
import { type Catalog, type CatalogModel, catalogOf, type JsonSchema } from "../../src/core/catalog/index.ts";
import { findBySlug } from "../../src/migrate/models/choose.ts";
import { viewOf } from "../../src/migrate/models/view.ts";
import { MEDIA_REFERENCE } from "../support/large-catalog/fields.ts";
import { CATALOG, SLUGS } from "./fixtures/slugs.ts";
import { id, migrateBodies } from "./support/migrate-one.ts";

/* A level that v2 was paid for, such as the pro of a slug, is kept, or a person is asked. */

type Rows = readonly string[];
const frame = (role: string): JsonSchema => ({ ...MEDIA_REFERENCE, media_type: "image", role });

function tabled(modelId: string, modality: string, own: { readonly [name: string]: JsonSchema }, rows: Rows) {
  const lines = rows.map((row, index) => `(${index + 1}) ${row}`);
  const description = rows.length === 0 ? "" : `Accepted field combinations (one per input mode):\n${lines.join("\n")}`;
  const properties = { prompt: { type: "string" }, start_image: frame("start_frame"), ...own };
  const inputSchema = { type: "object", additionalProperties: false, description, required: [], properties };
  const base = { id: modelId, modality, name: modelId, description: null, priceDescription: null, outputSchema: {} };
  return { ...base, inputSchema, state: "live" } as CatalogModel;
}

const oneOf = (...values: readonly (string | number)[]): JsonSchema => ({ type: typeof values[0], enum: values });
const levels = (...values: readonly string[]): JsonSchema => ({ ...oneOf(...values), default: values[0]! });

/** As services publish them. */
const PUBLISHED = [
  tabled(
    "minimax-hailuo-02",
    "video",
    {
      quality: levels("standard", "pro"),
      resolution: oneOf("768p", "1080p"),
      duration_ms: oneOf(6000, 10_000),
      end_image: frame("end_frame"),
    },
    [
      "requires: prompt, start_image; must omit: end_image; accepts duration_ms: 6000; quality: pro; resolution: 1080p",
      "requires: prompt; must omit: end_image, start_image; accepts duration_ms: 6000; quality: pro; resolution: 1080p",
      "requires: duration_ms, prompt, start_image; must omit: end_image; accepts quality: standard; resolution: 768p",
      "requires: duration_ms, prompt; must omit: end_image, start_image; accepts quality: standard; resolution: 768p",
    ],
  ),
  tabled(
    "minimax-hailuo-23",
    "video",
    {
      quality: levels("standard", "pro", "fast-standard", "fast-pro"),
      resolution: oneOf("768p", "1080p"),
      duration_ms: oneOf(6000, 10_000),
    },
    [
      "requires: prompt, start_image; accepts duration_ms: 6000; quality: pro | fast-pro; resolution: 1080p",
      "requires: duration_ms, prompt, start_image; accepts quality: standard | fast-standard; resolution: 768p",
      "requires: prompt; must omit: start_image; accepts duration_ms: 6000; quality: pro; resolution: 1080p",
      "requires: duration_ms, prompt; must omit: start_image; accepts quality: standard; resolution: 768p",
    ],
  ),
  tabled(
    "kling-v3",
    "video",
    {
      quality: levels("standard", "pro"),
      resolution: oneOf("720p", "1080p", "4K"),
      duration_ms: oneOf(5000, 10_000),
      aspect_ratio: oneOf("16:9", "9:16"),
    },
    [
      "requires: aspect_ratio, duration_ms, resolution, start_image; accepts quality: pro; resolution: 1080p | 4K",
      "requires: aspect_ratio, duration_ms, resolution; must omit: start_image; accepts quality: pro; resolution: 1080p | 4K",
      "requires: aspect_ratio, duration_ms, start_image; accepts quality: standard; resolution: 720p",
      "requires: aspect_ratio, duration_ms; must omit: start_image; accepts quality: standard; resolution: 720p",
    ],
  ),
];

/** The table of slugs as a catalog; each level has resolutions and lengths of its own, as above. */
const OTHERS = (["image", "video"] as const).flatMap((modality) =>
  CATALOG[modality].split(/\s+/).map((entry) => {
    const [, modelId = "", listed] = /^([^[]+)(?:\[(.*)\])?$/.exec(entry) ?? [];
    const sizes = modality === "image" ? ["1K", "2K", "4K"] : ["720p", "1080p", "4K"];
    const own = { resolution: oneOf(...sizes), duration_ms: oneOf(5000, 10_000) };
    const names = listed?.split(",") ?? [];
    if (names.length === 0) return tabled(modelId, modality, own, []);
    const rows = names.map((level, at) => {
      const size = at === 0 ? sizes[0] : sizes.slice(1).join(" | ");
      return `requires: prompt; accepts quality: ${level}; resolution: ${size}${at === 0 ? "" : "; duration_ms: 5000"}`;
    });
    return tabled(modelId, modality, { ...own, quality: levels(...names) }, rows);
  }),
);

const RESOLUTIONS = {
  image: [undefined, "512x512", "1K", "2K", "4K", "2048x2048"],
  video: [undefined, "480p", "540p", "720p", "768p", "1080p", "2K", "4K"],
};

function bodiesOf(slug: string, kind: "image" | "video"): readonly object[] {
  return RESOLUTIONS[kind].flatMap((resolution): readonly object[] => {
    const size = resolution === undefined ? {} : { resolution };
    if (kind === "image") return [{ type: "image", model_slug: slug, text_prompt: "a kite", ...size }];
    return [{}, { start_keyframe_id: id(1) }].flatMap((frames) =>
      [{}, { duration_ms: 10_000 }].map((length) => {
        const inputs = { text_prompt: "a kite", aspect_ratio: "16:9", ...size, ...length };
        return { type: "video", model_slug: slug, ...frames, generated_video_inputs: inputs };
      }),
    );
  });
}

/** Every body whose level is another than its slug's, or told as another than it is sent, without a question. */
function silently(slug: string, kind: "image" | "video", catalog: Catalog): readonly string[] {
  const views = catalog.models().map((model) => viewOf(model)!);
  const { match } = findBySlug(
    slug,
    views.filter(({ yields }) => yields === kind),
  );
  // One is enough where there is no level to lose.
  const bodies = bodiesOf(slug, kind).slice(0, match?.quality == null ? 1 : undefined);
  const { migration, steps } = migrateBodies(bodies, { catalog });
  return migration.report.bodies.flatMap(({ fields, outputs }, at) => {
    const sent = steps[outputs[0]!] as { readonly quality?: string; readonly resolution?: string };
    const { newValue, why } = fields.find(({ field }) => field === "model_slug")!;
    const quality = sent.quality ?? match?.view.fields.get("quality")?.preset;
    const [, told] = /, quality (.*)$/.exec(String(newValue)) ?? [];
    const isAsked = fields.some(({ field, outcome, why: reason }) => {
      return outcome === "decision" && (field === "model_slug" || /the slug contains/.test(reason ?? ""));
    });
    const isKept = match?.quality == null || quality === match.quality;
    const isTold = told === undefined || told === sent.quality;
    const isClaimed = !isKept && /as its quality/.test(why ?? "");
    if ((isKept || isAsked) && isTold && !isClaimed) return [];
    return [`${JSON.stringify(bodies[at])}: ${sent.quality} at ${sent.resolution}; ${newValue}: ${why}`];
  });
}

describe("the level that a slug names", () => {
  const own = catalogOf(PUBLISHED);

  test.each([
    ["minimax/hailuo-02-pro", "pro"],
    ["minimax/hailuo-2.3-fast-pro", "fast-pro"],
    ["minimax/hailuo-2.3-pro", "pro"],
    ["fal/kling-v3-pro-t2v", "pro"],
    ["fal/kling-v3-standard-i2v", "standard"],
  ])("%s is never sent at another than %s without a question, at no resolution and length", (slug, level) => {
    expect(
      findBySlug(
        slug,
        PUBLISHED.map((model) => viewOf(model)!),
      ).match?.quality,
    ).toBe(level);
    expect(silently(slug, "video", own)).toEqual([]);
  });

  test("a length that the level does not make is told with what would make it", () => {
    const inputs = { text_prompt: "a kite", duration_ms: 10_000 };
    const body = { type: "video", model_slug: "minimax/hailuo-02-pro", generated_video_inputs: inputs };
    const { steps, field } = migrateBodies([body], { catalog: own });
    expect(steps["video-1"]).toMatchObject({ quality: "standard", duration_ms: 10_000 });
    expect(field("model_slug")).toMatchObject({ newValue: "minimax-hailuo-02, quality standard" });
    expect(field("generated_video_inputs.quality")).toMatchObject({
      outcome: "decision",
      why: expect.stringContaining("the slug contains pro, which minimax-hailuo-02 does not offer with these fields"),
    });
  });

  test("a resolution that the level does not make is told with those that it makes", () => {
    const inputs = { text_prompt: "a kite", aspect_ratio: "16:9", duration_ms: 5000, resolution: "720p" };
    const body = { type: "video", model_slug: "fal/kling-v3-pro-t2v", generated_video_inputs: inputs };
    const { field } = migrateBodies([body], { catalog: own });
    expect(field("generated_video_inputs.resolution")).toMatchObject({
      outcome: "decision",
      why: "the slug contains pro, which kling-v3 does not offer at 720p; quality standard is used for now; pro is available at 1080p, 4K",
      choices: ["quality standard at 720p", "pro at another resolution"],
    });
  });

  test("is kept on the model that a person maps the slug to", () => {
    const body = { type: "image", model_slug: "acme/brush-2-pro", text_prompt: "a kite" };
    const { steps, field } = migrateBodies([body], { map: { "acme/brush-2-pro": "image-1" } });
    expect(steps["image-1"]).toMatchObject({ quality: "pro" });
    expect(field("model_slug")).toMatchObject({ outcome: "converted", newValue: "image-1, quality pro" });
  });

  test("a resolution in the slug is sent, where the body has none", () => {
    const catalog = catalogOf([tabled("acme-1-pro", "video", { resolution: oneOf("480p", "720p", "1080p") }, [])]);
    const body = { type: "video", model_slug: "x/acme-1-pro-1080p-t2v", generated_video_inputs: { text_prompt: "a" } };
    const { steps, field } = migrateBodies([body], { catalog });
    expect(steps["video-1"]).toMatchObject({ resolution: "1080p" });
    expect(field("generated_video_inputs.resolution")).toMatchObject({ outcome: "defaulted", newValue: "1080p" });
  });

  test("no slug of the table is sent at another level without a question", () => {
    const catalog = catalogOf(OTHERS);
    const found = SLUGS.flatMap(([slug, kind]) => (kind === "audio" ? [] : silently(slug, kind, catalog)));
    expect(found).toEqual([]);
  });
});
