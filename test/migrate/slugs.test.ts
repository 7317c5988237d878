import { describe, expect, test } from "vitest";
import { coerce } from "../../src/migrate/fields/coerce.ts";
import { findBySlug } from "../../src/migrate/models/choose.ts";
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
    const spelt = ["seedream-40", "seedream-45"].map((id) => modelView(id, "image"));
    expect(findBySlug("bytedance/seedream-4", spelt).match?.confidence).not.toBe("exact");
  });

  /** What stands in catalogs and in v2 documents for one version, and for one set of levels. */
  const VERSIONS = [
    ["4.0", "4-0", "40"],
    ["4.5", "4-5", "45"],
    ["5.0", "5-0", "50"],
    ["1.0", "1-0", "1"],
    ["2", "2.0"],
    ["10", "10.0"],
    ["3"],
  ];
  const TIERS = ["", "-pro", "-turbo", "-lite-max"];
  const LEVELS = [
    { levels: "", said: "" },
    { levels: "standard,pro", said: "pro" },
    { levels: "fast,pro,fast-pro", said: "fast-pro" },
    { levels: "low,high,high-fast", said: "high" },
    { levels: "fast-1080p,fast,1080p", said: "fast-1080p" },
  ];

  test("of any version, tier and level, in any spelling, are the one model that has them, and no other", () => {
    const wrong: string[] = [];
    for (const [at] of (VERSIONS[0] ?? []).entries()) {
      for (const { levels, said } of LEVELS) {
        // A tier that is a level as well would be said by either.
        const tiers = TIERS.filter((tier) => !tier.split("-").some((word) => word !== "" && levels.includes(word)));
        const models = VERSIONS.flatMap((spellings, version) =>
          tiers.map((tier) => ({ version, tier, id: `seedream-${spellings[at % spellings.length]}${tier}` })),
        );
        const all = models.map((model) => ({
          ...model,
          view: modelView(levels === "" ? model.id : `${model.id}[${levels}]`, "image"),
        }));
        for (const { version, tier, id } of all) {
          for (const spelling of VERSIONS[version] ?? []) {
            for (const slug of [
              `bytedance/seedream-${spelling}${tier}`,
              `seedream${spelling}${tier}`,
              `bytedance/seedream-v${spelling}${tier}-t2i`,
            ]) {
              const { match } = findBySlug(
                said === "" ? slug : `${slug}-${said}`,
                all.map(({ view }) => view),
              );
              const found = [match?.view.id, match?.confidence, match?.quality ?? ""].join();
              if (found !== [id, "exact", said].join()) wrong.push(`${slug} ${said} among ${id}[${levels}]: ${found}`);
            }
          }
        }
      }
    }
    expect(wrong).toEqual([]);
  });

  test.each([
    ["1K", ["540p", "720p", "1080p"], "1080p"],
    ["1024x1024", ["1K", "2K", "4K"], "1K"],
    ["2048x2048", ["1K", "2K", "4K"], "2K"],
    ["2K", ["720p", "1080p", "4K"], "1080p"],
    ["4K", ["720p", "1080p"], "1080p"],
  ])("a resolution of %s among %j is %s", (asked, allowed, fitted) => {
    const inputSchema = { type: "object", properties: { resolution: { enum: allowed } } };
    const base = { id: "m", modality: "image", name: "m", description: null, priceDescription: null, outputSchema: {} };
    const field = viewOf({ ...base, inputSchema, state: "live" })!.fields.get("resolution")!;
    expect(coerce(field, asked)).toMatchObject({ fits: true, value: fitted });
  });

  test("a doubt is told part by part", () => {
    expect(findBySlug("fal/kling-25-pro-i2v", views.video).match).toMatchObject({
      confidence: "similar",
      why: "kling, version 25, turbo; but the slug does not contain turbo",
    });
  });
});
