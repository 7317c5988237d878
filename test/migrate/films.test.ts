import { describe, expect, test } from "vitest";
import { type Catalog, type CatalogModel, catalogOf } from "../../src/core/catalog/index.ts";
import { id, migrateBodies } from "./support/migrate-one.ts";
import { wideCatalog } from "./support/wide-catalog.ts";

const wide = wideCatalog();
const without = (...ids: readonly string[]) => catalogOf(wide.models().filter((model) => !ids.includes(model.id)));

/** The same model with a published table of combinations. */
function withTable({ inputSchema, ...model }: CatalogModel, ...rows: readonly string[]): CatalogModel {
  const lines = rows.map((row, index) => `(${index + 1}) ${row}`);
  const description = `Accepted field combinations (one per input mode):\n${lines.join("\n")}`;
  return { ...model, inputSchema: { ...inputSchema, description } };
}

const film = { text_prompt: "the same, in snow", aspect_ratio: "16:9", resolution: "720p", duration_ms: 5000 };
const BODIES: Readonly<Record<string, object>> = {
  "a film and words": { type: "video", video_id: id(1), generated_video_inputs: film },
  "a film, words and a picture": {
    type: "video",
    video_id: id(1),
    reference_image_ids: [id(2)],
    generated_video_inputs: film,
  },
  "a film, words and sound": { type: "video", video_id: id(1), audio_id: id(3), generated_video_inputs: film },
  "a film to restyle": { type: "video_to_video", video_id: id(1), prompt: "in snow" },
  "a film whose motion is taken": {
    type: "motion_control",
    video_id: id(1),
    start_keyframe_id: id(2),
    generated_video_inputs: film,
  },
};
const SLUGS = [
  null,
  "acme/video-1",
  "video-1",
  "acme/video-1-v2v",
  "acme/video-1-pro-i2v",
  "acme/avatar-1",
  "acme/restyle-1",
  "fal/nothing-like-it-v2v",
  id(9),
];
const CATALOGS: Readonly<Record<string, Catalog>> = {
  "two models for films": wide,
  "one that takes words": without("motion-1"),
  "one that takes a picture": without("restyle-1"),
  "one whose table takes films or pictures, pictures first": catalogOf(
    without("motion-1")
      .models()
      .map((model) => {
        if (model.id !== "restyle-1") return model;
        return withTable(
          model,
          "requires: images; must omit: source_video",
          "requires: source_video; must omit: images",
        );
      }),
  ),
};

describe("a body about a film keeps its film where a model takes films", () => {
  const cases = Object.keys(CATALOGS).flatMap((catalog) => {
    return Object.keys(BODIES).flatMap((body) => SLUGS.map((slug) => [catalog, body, slug] as const));
  });

  test.each(Object.keys(CATALOGS).map((name) => [name]))("%s", (name) => {
    const catalog = CATALOGS[name]!;
    const lost = cases
      .filter(([of]) => of === name)
      .flatMap(([, what, slug]) => {
        const { steps, field, migration } = migrateBodies(
          [{ ...BODIES[what], ...(slug !== null && { model_slug: slug }) }],
          { catalog },
        );
        const [step] = Object.values(steps).filter(
          (input) => typeof input === "object" && input !== null && "source_video" in input,
        );
        const isKept = step !== undefined && field("video_id")?.outcome === "converted";
        return isKept ? [] : [`${what}, ${slug}: ${JSON.stringify(field("video_id") ?? migration.report.bodies[0])}`];
      });
    expect(lost).toEqual([]);
  });

  test("a model that is not the one of the slug is to be confirmed, and says what it is taken for", () => {
    const body = { ...BODIES["a film and words"], model_slug: "acme/video-1" };
    const { field } = migrateBodies([body], { catalog: wide });
    expect(field("model_slug")).toMatchObject({ outcome: "decision", newValue: "restyle-1" });
  });

  test("an upscaler restyles nothing: without another model for films the body's own model is taken, and the film to decide", () => {
    const catalog = without("motion-1", "restyle-1");
    const body = { ...BODIES["a film, words and a picture"], model_slug: "acme/video-1" };
    const { field } = migrateBodies([body], { catalog });
    expect(field("model_slug")).toMatchObject({ outcome: "converted", newValue: "video-1" });
    expect(field("video_id")).toMatchObject({ outcome: "decision", isLost: true });
    expect(field("reference_image_ids[0]")).toMatchObject({ outcome: "decision", isLost: true });
  });
});
