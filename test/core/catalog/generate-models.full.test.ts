import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { fieldDocs, valueNames } from "../../../src/core/catalog/codegen.ts";
import { catalogOf, generateModels, parseSnapshot, snapshotText } from "../../../src/core/catalog/index.ts";
import type { CatalogModel, JsonSchema } from "../../../src/core/plan/index.ts";
import { ownCatalog } from "../../support/built-in-catalog.ts";
import { typeCheck } from "../../support/type-check.ts";

const root = resolve(import.meta.dirname, "../../..");

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
  test("of the recipes are what the local service has of its own", () => {
    const live = ownCatalog()
      .models()
      .filter(({ state }) => state === "live");
    expect(readFileSync(join(root, "recipes/models.ts"), "utf8")).toBe(generateModels(catalogOf(live)));
  });

  test("do not change when the catalog is written, read or listed in another order", () => {
    const models = ownCatalog().models();
    const source = generateModels(catalogOf(models));
    expect(generateModels(catalogOf(models.toReversed()))).toBe(source);
    const text = snapshotText(catalogOf(models));
    expect(snapshotText(parseSnapshot(text))).toBe(text);
    expect(generateModels(parseSnapshot(text))).toBe(source);
  });

  test("are named by their id, version and all; only a first version may be left out", () => {
    const names = (...ids: readonly string[]) => [...valueNames(ids.map((id) => ({ id }))).values()];
    expect(names("elevenlabs-v3", "elevenlabs-v2", "wan-2-7", "seedance-1-5-pro", "gpt-4o", "3d")).toEqual([
      ...["elevenlabsV3", "elevenlabsV2", "wan27", "seedance15Pro", "gpt4o", "_3d"],
    ]);
    expect(names("voice-clone-1", "video-1", "video-2.1", "veo-3-1")).toEqual([
      "voiceClone",
      "video",
      "video21",
      "veo31",
    ]);
    expect(names("wan-2-7", "wan-27", "wan")).toEqual(["wan_2_7", "wan_27", "wan"]);
    expect(names("a-b", "a.b", "A_B")).toEqual(["a$2d$b", "a$2e$b", "$41$$5f$$42$"]);
  });

  test("never share a name, in any case, and a name stays its model's when others that do not clash come and go", () => {
    const piece = fc.constantFrom("a", "b", "A", "v1", "1", "2", "27", "7", "-", "_", ".", "/", "é", "$", "2d", "$2d$");
    const id = fc.array(piece, { minLength: 1, maxLength: 7 }).map((pieces) => pieces.join(""));
    const identifier = /^[A-Za-z_$][\w$]*$/;
    fc.assert(
      fc.property(fc.uniqueArray(id, { maxLength: 12 }), fc.nat(), (ids, seed) => {
        const names = valueNames(ids.map((one) => ({ id: one })));
        const lower = [...names.values()].map((name) => name.toLowerCase());
        expect(new Set(lower).size).toBe(ids.length);
        for (const name of names.values()) expect(name).toMatch(identifier);
        const turned = [...ids.slice(seed % (ids.length + 1)), ...ids.slice(0, seed % (ids.length + 1))].reverse();
        expect(new Map(valueNames(turned.map((one) => ({ id: one }))))).toEqual(new Map(names));
        // Every letter and digit of the id is in its name, in order, but a first version's 1.
        for (const [one, name] of names) {
          if (name.includes("$")) continue;
          const kept = one.replace(/[^A-Za-z0-9]/g, "").toLowerCase();
          expect([kept, kept.replace(/1$/, ""), "model"]).toContain(name.replace(/[^A-Za-z0-9]/g, "").toLowerCase());
        }
      }),
      { numRuns: 3000 },
    );
  });

  test("of a new model leave every other name as it was, unless the two would be the same", () => {
    const before = valueNames([{ id: "video-1" }, { id: "wan-2-7" }]);
    const after = valueNames([{ id: "video-1" }, { id: "video-2" }, { id: "wan-2-7" }, { id: "wan-3" }]);
    for (const [id, name] of before) expect(after.get(id)).toBe(name);
  });

  test("say each fact of a field once, with units that people read", () => {
    const docs = (schema: JsonSchema) => fieldDocs([schema]).join(" ");
    const prompt = { type: "string", description: "What to show. At most 2500 characters.", maxLength: 2500 };
    expect(docs(prompt)).toBe("What to show. At most 2500 characters.");
    expect(docs({ ...prompt, description: "Up to 2,500 characters", minLength: 1 })).toBe(
      "Up to 2,500 characters. At least 1 character.",
    );
    expect(docs({ ...prompt, description: "What to show; see chapter 2500" })).toBe(
      "What to show; see chapter 2500. At most 2,500 characters.",
    );
    expect(docs({ max_file_size_bytes: 10_485_760, max_duration_ms: 120_000, min_duration_ms: 1_500 })).toBe(
      "At most 10 MiB. At least 1,500 ms. At most 120 s.",
    );
    expect(docs({ description: "A picture, at most 10 MB", max_file_size_bytes: 10_485_760 })).toBe(
      "A picture, at most 10 MB.",
    );
    expect(docs({ max_file_size_bytes: 1000, minimum: 0.7, maximum: 4_294_967_295, default: "a" })).toBe(
      'Default "a". At least 0.7. At most 4294967295. At most 1,000 bytes.',
    );
    expect(docs({ description: "Speed, default 1", default: 1 })).toBe("Speed, default 1.");
  });

  test("say which fields go together, a row a line", () => {
    const description =
      "A film.\n\nAccepted field combinations:\n(1) requires: a */\n(1) requires: a; must omit: b\n(2) requires: b";
    expect(generated(model("film-1", { a: {}, b: {} }, { schema: { description } }))).toContain(
      "/**\n * Input of film-1. Accepted combinations of fields:\n * - (1) requires: a; must omit: b\n * - (2) requires: b\n */",
    );
  });

  test("of tuples have as many places as the schema", () => {
    const tuple = (more: object, types = ["number", "number"]) => {
      const schema = { type: "array", prefixItems: types.map((type) => ({ type })), ...more };
      return /list\?: OrValue<(.*)>;/.exec(generated(model("m-1", { list: schema })))?.[1];
    };
    expect(tuple({ minItems: 2, maxItems: 2 })).toBe("readonly [number, number]");
    expect(tuple({ minItems: 2, items: false })).toBe("readonly [number, number]");
    expect(tuple({ minItems: 1, maxItems: 2 })).toBe("readonly [number, number?]");
    expect(tuple({ items: false })).toBe("readonly [number?, number?]");
    expect(tuple({ minItems: 1, maxItems: 1 })).toBe("readonly [number]");
    expect(tuple({ minItems: 2, items: { type: "string" } })).toBe(
      "readonly [number, number, ...(string | Value<string>)[]]",
    );
    expect(tuple({})).toBe("readonly [number?, number?, ...(unknown)[]]");
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

  test("compile whatever a property is called, and hide no mark that reorders what is read", async () => {
    const media = { type: "object", media_type: "image", oneOf: [], role: "reference" };
    const names = ["/**", "a", "*/", "// x", "/* y */", "`z`", "\u202e"];
    const properties = Object.fromEntries(names.map((name) => [name, name === "a" ? media : { type: "string" }]));
    const described = { name: "/** x */ \u202e", description: "*/ /**" };
    const models = generated(model("odd", properties, described));
    expect(models).not.toMatch(/[\u202a-\u202e\u2066-\u2069]/);
    expect(await compile(models, use('job("x", models.odd, { "/**": "1", "\\u202e": "2" });'))).toBe("");
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
