import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { catalogOf, generateModels, parseSnapshot, snapshotText } from "../../src/catalog/index.ts";
import type { CatalogModel, JsonSchema } from "../../src/plan/index.ts";
import { builtInCatalog } from "../support/built-in-catalog.ts";
import { typeCheck } from "../support/type-check.ts";

const root = resolve(import.meta.dirname, "../..");

const model = (id: string, properties: JsonSchema, more: Partial<CatalogModel> & { schema?: JsonSchema } = {}) => {
  const { schema, ...facts } = more;
  const inputSchema = { type: "object", additionalProperties: false, properties, ...schema };
  const base = { modality: "image", name: null, description: null, priceDescription: null, outputSchema: {} };
  return { id, ...base, inputSchema, state: "live", ...facts } satisfies CatalogModel;
};
const generated = (...models: readonly CatalogModel[]) => generateModels(catalogOf(models));

const compile = (models: string, source: string) => typeCheck({ "models.ts": models, "use.ts": source });

const use = (body: string) => `import { pipeline } from "showrunner";
import { z } from "zod";
import { models } from "./models.ts";
pipeline("p", { input: z.object({}), build({ job, upload }) {
${body}
return {}; } });
`;

describe("generated models", () => {
  test("of the recipes are what the built-in catalog gives now", () => {
    const live = builtInCatalog()
      .models()
      .filter(({ state }) => state === "live");
    expect(readFileSync(join(root, "recipes/models.ts"), "utf8")).toBe(generateModels(catalogOf(live)));
  });

  test("do not change when the catalog is written, read or listed in another order", () => {
    const models = builtInCatalog().models();
    const source = generateModels(catalogOf(models));
    expect(generateModels(catalogOf(models.toReversed()))).toBe(source);
    const text = snapshotText(catalogOf(models));
    expect(snapshotText(parseSnapshot(text))).toBe(text);
    expect(generateModels(parseSnapshot(text))).toBe(source);
  });

  test("keep their version where two live models would share a name, and names never clash", () => {
    const names = (...ids: readonly string[]) =>
      [...generated(...ids.map((id) => model(id, {}))).matchAll(/^ {2}(\w+): model/gm)].map((match) => match[1]);
    expect(names("video-1", "image-2")).toEqual(["image", "video"]);
    expect(names("video-1", "video-2.1")).toEqual(["video1", "video21"]);
    expect(names("a-b", "a.b", "A_B")).toEqual(["aB", "aB_2", "aB_3"].toSorted());
    expect(names("3d")).toEqual(["_3d"]);
  });

  test("mark a retired model with its successor", () => {
    const old = model("image-0", {}, { state: "retired", replacedBy: "image-1" });
    const source = generated(old, model("image-1", {}));
    expect(source).toContain("* @deprecated Retired; use models.image.\n   */\n  image0: model<");
  });

  test("quote what comes from outside so that it stays text", async () => {
    const evil = "*/ export const evil = 1; /* `";
    const source = generated(
      model(
        'x"; evil(); "',
        { 'a"b': { type: "string", description: evil, enum: [evil, '"; evil(); "'] } },
        { name: evil },
      ),
    );
    expect(source).not.toMatch(/^\s*export const evil/m);
    expect(await compile(source, use(""))).toBe("");
    expect(source).toContain(JSON.stringify('x"; evil(); "'));
  });

  test("type every form of schema, and hold the writer of a pipeline to it", async () => {
    const media = (kind: string) => ({
      media_type: kind,
      oneOf: [
        { type: "object", properties: { source: { const: "url" }, url: { type: "string" } } },
        { type: "object", properties: { source: { const: "asset" }, asset_id: { type: "string" } } },
      ],
    });
    const node = { type: "object", properties: { text: { type: "string" }, next: { $ref: "#/$defs/node" } } };
    const models = generated(
      model(
        "everything-1",
        {
          level: { type: "integer", enum: [1, 2] },
          maybe: { type: ["string", "null"] },
          pair: { type: "array", prefixItems: [{ type: "number" }, { type: "string" }], items: false },
          free: { type: "object", additionalProperties: { type: "number" } },
          chain: { $ref: "#/$defs/node" },
          either: { anyOf: [{ type: "string" }, { type: "array", items: { type: "string" } }] },
          sound: { media_type: "audio", oneOf: [media("audio"), { type: "array", items: media("audio") }] },
          pictures: { type: "array", items: media("image") },
          anything: {},
          preset_voice: { type: "string", enum: ["alto", "bass"] },
          generate_voice: { type: "boolean" },
          speaker: { type: ["string", "null"], pattern: "^voice_" },
        },
        { schema: { required: ["level"], allOf: [{ required: ["maybe"] }], $defs: { node } } },
      ),
      model("voice-clone-1", { audio: media("audio"), name: { type: "string" } }, { modality: "audio" }),
      model("sound-1", { text: { type: "string" }, voice_id: { type: "string" } }, { modality: "audio" }),
    );
    const good = use(`
      const a = job("a", models.sound, { text: "x", voice_id: "v" });
      const voice = job("v", models.voiceClone, { audio: a, name: "n" });
      const b = job("b", models.everything, { level: 2, maybe: null, pair: [1, "x"], free: { x: 1 }, sound: a,
        chain: { text: "x", next: { next: { text: "y" } } }, either: ["x"], preset_voice: "alto", generate_voice: true, speaker: voice, pictures: [upload("u", "a.png")], anything: {} });
      job("c", models.everything, { level: 1, maybe: "x", sound: [a, a], either: "x", pictures: b.outputs() });`);
    expect(await compile(models, good)).toBe("");
    const bad = use(`
      const a = job("a", models.sound, { text: "x", voice_id: "v" });
      job("1", models.everything, { level: 3, maybe: null });
      job("2", models.everything, { level: 1 });
      job("3", models.everything, { level: 1, maybe: null, pair: ["x", 1] });
      job("4", models.everything, { level: 1, maybe: null, chain: { next: { txt: "y" } } });
      job("5", models.everything, { level: 1, maybe: null, pictures: [a] });`);
    const said = await compile(models, bad);
    for (const line of [7, 8, 9, 10, 11]) expect(said).toMatch(new RegExp(`use\\.ts\\(${line},`));
    expect(said).toContain("Did you mean to write 'text'");
  });

  test("of 100 models with deep schemas compile", async () => {
    const deep = (level: number): JsonSchema =>
      level === 0
        ? { type: "string", enum: ["a", "b"] }
        : {
            type: "object",
            additionalProperties: false,
            required: ["one"],
            properties: { one: deep(level - 1), many: { type: "array", items: deep(level - 1) } },
          };
    const models = Array.from({ length: 100 }, (_, index) =>
      model(`family${index % 40}-${index}`, { prompt: { type: "string" }, settings: deep(1 + (index % 6)) }),
    );
    const source = generated(...models);
    expect(source.match(/: model</g)).toHaveLength(100);
    expect(await compile(source, use('job("x", models.family00, { prompt: "x", settings: { one: "a" } });'))).toBe("");
  });
});
