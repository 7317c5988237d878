import { describe, expect, test } from "vitest";
import { findBySlug } from "../../src/migrate/models/slug.ts";
import { type ModelView, viewOf } from "../../src/migrate/models/view.ts";
import { CATALOG, SLUGS } from "./fixtures/slugs.ts";

const viewsOf = (kind: keyof typeof CATALOG) => CATALOG[kind].split(/\s+/).map((id) => modelView(id, kind));
const views = { image: viewsOf("image"), video: viewsOf("video"), audio: viewsOf("audio") };

function modelView(entry: string, modality: string): ModelView {
  const [, id = "", levels] = /^([^[]+)(?:\[(.*)\])?$/.exec(entry) ?? [];
  const quality = levels === undefined ? {} : { quality: { type: "string", enum: levels.split(",") } };
  const inputSchema = {
    type: "object",
    additionalProperties: false,
    properties: { prompt: { type: "string" }, ...quality },
  };
  const base = { id, modality, name: id, description: null, priceDescription: null, outputSchema: {} };
  return viewOf({ ...base, inputSchema, state: "live" })!;
}

const exactIdOf = (slug: string, kind: keyof typeof CATALOG) => {
  const { match } = findBySlug(slug, views[kind]);
  return match?.confidence === "exact" ? match.view.id : null;
};

describe("slugs of v2 documents", () => {
  test("are at least 200, each once, and name ids of the catalog", () => {
    const ids = Object.values(views).flatMap((list) => list.map(({ id }) => id));
    expect(SLUGS.length).toBeGreaterThanOrEqual(200);
    expect(new Set(SLUGS.map(([slug]) => slug)).size).toBe(SLUGS.length);
    expect(SLUGS.filter(([, , id]) => id !== "?" && !ids.includes(id))).toEqual([]);
  });

  test("no wrong family, version or tier is chosen without a question", () => {
    const wrong = SLUGS.flatMap(([slug, kind, id]) => {
      const taken = exactIdOf(slug, kind);
      return taken === null || taken === id ? [] : [`${slug}: ${taken}, not ${id}`];
    });
    expect(wrong).toEqual([]);
  });

  test("at least nine of ten with an exact counterpart need no question", () => {
    const exact = SLUGS.filter(([, , id]) => id !== "?");
    const asked = exact.filter(([slug, kind, id]) => exactIdOf(slug, kind) !== id).map(([slug]) => slug);
    expect([asked.length / exact.length <= 0.1, asked]).toEqual([true, asked]);
  });

  test("a model of another version is never offered as similar, and the versions that there are are named", () => {
    const { match, otherVersions } = findBySlug("fal/kling-15-pro-i2v", views.video);
    expect(match).toBe(null);
    expect(otherVersions).toContain("kling-16");
  });

  test.each([
    ["fal/kling-26-pro-t2v", "video", "kling-26", "pro"],
    ["openai/gpt-image-2-high", "image", "gpt-image-2", "high"],
    ["fal/kling-25-turbo-pro-i2v", "video", "kling-25-turbo", "pro"],
    ["google/nano-banana-pro-i2i", "image", "nano-banana-pro", null],
    ["minimax/minimax-hailuo-23-fast-pro-i2v", "video", "hailuo-23-fast", "pro"],
  ] as const)("%s is %s %s with quality %s", (slug, kind, id, quality) => {
    const { match } = findBySlug(slug, views[kind]);
    expect([match?.view.id, match?.quality, match?.confidence]).toEqual([id, quality, "exact"]);
  });

  test("a doubt is told part by part", () => {
    expect(findBySlug("fal/kling-25-pro-i2v", views.video).match).toMatchObject({
      confidence: "similar",
      why: "kling, version 25, turbo; but the slug does not say turbo",
    });
  });
});
