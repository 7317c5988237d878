import { describe, expect, test } from "vitest";
import type { CatalogModel, JsonSchema } from "../../../src/core/plan/catalog-port.ts";
import { schemaAt } from "../../../src/core/plan/kinds/kind.ts";
import type { Json } from "../../../src/core/plan/plan.ts";
import {
  applicable,
  itemSchemas,
  localRef,
  maxOutputsOf,
  mostSeed,
  outputsOf,
  propertySchemas,
  type SchemaLocation,
  schemaLocation,
  suggestedValues,
  yieldsOf,
} from "../../../src/core/plan/schema.ts";

/** The place at a path of names and positions; null where the schema knows of none. */
function at(schema: JsonSchema, ...path: readonly (string | number)[]): SchemaLocation | null {
  let location: SchemaLocation | null = schemaLocation(schema);
  for (const key of path) location = (typeof key === "number" ? location?.item(key) : location?.property(key)) ?? null;
  return location;
}
const takes = (schema: JsonSchema, ...path: readonly (string | number)[]) => at(schema, ...path)?.takes ?? null;
const ofField = (field: JsonSchema, name = "field") => takes({ properties: { [name]: field } }, name);
const reference = {
  oneOf: [{ properties: { source: {}, url: {} } }, { properties: { source: {}, asset_id: {} } }],
};
const json = (...types: readonly string[]) => ({ what: "json", types });
const media = (kinds: readonly string[], maxBytes: number | null = null, listBytes = maxBytes) => ({
  ...{ what: "media", kinds, maxBytes },
  bounds: listBytes === null ? {} : { max_file_size_bytes: listBytes },
});

describe("a reference within a schema", () => {
  const root = {
    $defs: { "a/b": { type: "string" }, "c~d": { type: "null" }, "e f": { type: "array" }, list: [1] },
    type: "object",
  };

  test.each([
    ["#", root],
    ["#/$defs/a~1b", root.$defs["a/b"]],
    ["#/$defs/c~0d", root.$defs["c~d"]],
    ["#/$defs/e%20f", root.$defs["e f"]],
    ["#/$defs/list", null],
    ["#/$defs/none", null],
    ["#/$defs/toString", null],
    ["#/type/length", null],
    ["#/$defs/%zz", null],
    ["other.json#/$defs/list", null],
    [7, null],
  ])("%s", (ref, target) => {
    expect(localRef(root, ref)).toBe(target);
  });

  test("leads to all parts that may apply: branches, conditions and what they refer to, each once", () => {
    const [a, b, c, d, e] = ["a", "b", "c", "d", "e"].map((title): JsonSchema => ({ title }));
    const schema: JsonSchema = {
      allOf: [a, 1, null],
      anyOf: [b],
      oneOf: [{ $ref: "#/$defs/c" }, a],
      ...JSON.parse('{"then":{"title":"d"}}'),
      else: e,
      not: { title: "no" },
      $defs: { c },
    };
    expect(applicable(schema, schema)).toEqual([schema, a, b, { $ref: "#/$defs/c" }, c, d, e]);
    const endless: JsonSchema = { $ref: "#", anyOf: [{ $ref: "#" }] };
    expect(applicable(endless, endless)).toHaveLength(2);
    const wide: JsonSchema = { anyOf: Array.from({ length: 300 }, (_, index) => ({ title: `${index}` })) };
    expect(applicable(wide, wide)).toHaveLength(200);
  });

  test("names properties and items, else what is said of all others", () => {
    const [own, other, first] = [{ title: "own" }, { title: "other" }, { title: "first" }];
    const parts: JsonSchema[] = [
      { properties: { a: own, b: true }, additionalProperties: other },
      { properties: [own], additionalProperties: false },
      { prefixItems: [first], items: other },
      { items: false },
    ];
    expect(propertySchemas(parts, "a")).toEqual([own]);
    expect(propertySchemas(parts, "b")).toEqual([other]);
    expect(propertySchemas(parts, "toString")).toEqual([other]);
    expect(itemSchemas(parts, 0)).toEqual([first]);
    expect(itemSchemas(parts, 1)).toEqual([other]);
  });
});

describe("a place in a model's input", () => {
  test("takes media where it is annotated so, or has the two forms of a reference", () => {
    expect(ofField({ media_type: "image" })).toEqual(media(["image"]));
    expect(ofField({ media_type: ["video", "image", "cloud"] })).toEqual(media(["image", "video"]));
    expect(ofField({ media_type: "cloud" })).toEqual(media([]));
    expect(ofField(reference)).toEqual(media([]));
    expect(ofField({ anyOf: reference.oneOf })).toEqual(media([]));
    expect(ofField({ oneOf: reference.oneOf.slice(0, 1) })).toEqual(json());
    expect(ofField({ oneOf: reference.oneOf.slice(1) })).toEqual(json());
    expect(ofField({ oneOf: [{ properties: { url: {} } }, { properties: { asset_id: {} } }] })).toEqual(json());
    const defs = { url: reference.oneOf[0], asset: reference.oneOf[1] };
    const field = { oneOf: [{ $ref: "#/$defs/url" }, { $ref: "#/$defs/asset" }] };
    expect(takes({ $defs: defs, properties: { field } } as unknown as JsonSchema, "field")).toEqual(media([]));
  });

  test("takes files of the smallest size that a part of it allows", () => {
    const parts = [{ max_file_size_bytes: 20 }, { max_file_size_bytes: 10 }, { max_file_size_bytes: "5" }];
    expect(ofField({ media_type: "audio", allOf: parts })).toEqual(media(["audio"], 10));
  });

  test("within a list of media takes what the list says, unless it says so itself", () => {
    const list = (items: JsonSchema) => ({
      properties: { images: { media_type: "image", max_file_size_bytes: 9, items } },
    });
    expect(takes(list({}), "images", 3)).toEqual(media(["image"], 9));
    expect(takes(list(reference), "images", 0)).toEqual(media(["image"], null, 9));
    expect(takes(list({ media_type: "video" }), "images", 0)).toEqual(media(["video"], null, 9));
    expect(takes({ properties: { texts: { items: { type: "string" } } } }, "texts", 0)).toEqual(json("string"));
    expect(takes({ properties: { texts: {} } }, "texts", 0)).toBeNull();
  });

  test.each([
    ["voice", { type: "string" }, true],
    ["voice_id", {}, true],
    ["my_voice", { type: ["null", "string"] }, true],
    ["narrator_voice_id", {}, true],
    ["voices", {}, false],
    ["voice_url", {}, false],
    ["invoice", {}, false],
    ["speaker", { format: "voice_id" }, true],
    ["speaker", { pattern: "^voice_[a-z]+$" }, true],
    ["speaker", { pattern: "^x$" }, false],
    ["speaker", { type: "string" }, false],
    ["voice", { type: "integer" }, false],
    ["voice", { enum: ["anna"] }, false],
    ["voice", { const: "anna" }, false],
  ])("takes a voice by its name or its mark: %s %j", (name, schema, is) => {
    expect(ofField(schema as JsonSchema, name)?.what === "voice").toBe(is);
  });

  test("named for several voices has items that take one each", () => {
    expect(takes({ properties: { voices: { items: { type: "string" } } } }, "voices", 70)).toEqual({ what: "voice" });
  });

  test.each([
    [{ enum: ["a", "b", "a"], type: "string" }, ["a", "b"]],
    [{ const: 5 }, [5]],
    [{ anyOf: [{ enum: [1] }, { const: null }] }, [1, null]],
    [{ type: "boolean" }, [true, false]],
    [{ type: "integer", minimum: 3 }, [3]],
    [{ type: "number" }, [1]],
    [{ type: "array" }, [[]]],
    [{ type: "object" }, [{}]],
    [{ type: "null" }, [null]],
    [{ type: ["integer", "null"] }, [1]],
    [{ type: "string", minimum: 3 }, ["x"]],
    [{ enum: [] }, ["x"]],
    [{}, ["x"]],
  ])("has examples of what it takes: %j", (schema, examples) => {
    const location = at({ properties: { field: schema as JsonSchema } }, "field")!;
    expect(location.examples()).toEqual(examples);
    expect(location.examples()).toBe(location.examples());
  });

  test("is the same object each time", () => {
    const schema = { properties: { a: { items: {} } } };
    expect(at(schema, "a", 1)).toBe(at(schema, "a", 1));
    expect(at(schema, "b")).toBe(at(schema, "b"));
    expect(at(schema, "a", 0)).not.toBe(at(schema, "a", 1));
  });
});

test("values are suggestions only where a field takes any other text too", () => {
  const listed = { type: "string", enum: ["a"] };
  expect(suggestedValues({ anyOf: [listed, { type: "string" }] })).toEqual(["a"]);
  expect(suggestedValues({ anyOf: [listed, { type: "string", const: "b" }] })).toBeNull();
});

describe("a model", () => {
  const model = (more: object): CatalogModel =>
    ({ id: "m", modality: "audio", inputSchema: {}, outputSchema: {}, ...more }) as unknown as CatalogModel;
  const of = (...fields: readonly string[]) => ({ properties: Object.fromEntries(fields.map((name) => [name, {}])) });
  const output = (properties: object) => ({ outputSchema: { properties } });

  test("makes what its modality says; one that is not known makes nothing", () => {
    expect(["image", "video", "audio", "smell"].map((modality) => yieldsOf(model({ modality })))).toEqual([
      "image",
      "video",
      "audio",
      null,
    ]);
  });

  test.each([
    [output({ voice_id: { type: "string" } }), true],
    [output({ voice_id: { type: ["string", "null"] } }), false],
    [output({ voice_id: { type: "null" } }), false],
    [output({ url: { type: "null" } }), true],
    [output({ url: { const: null } }), true],
    [output({ url: { type: ["string", "null"] } }), false],
    [output({ voice_id: { type: "null" }, url: { type: "null" } }), true],
    [{ ...output({ voice_id: { type: "null" } }), name: "Voice clone" }, false],
    [{ inputSchema: of("audio", "name") }, true],
    [{ inputSchema: of("audio") }, false],
    [{ inputSchema: of("name") }, false],
    [{ inputSchema: of("audio", "name", "text") }, false],
    [{ inputSchema: of("audio", "name", "prompt") }, false],
    [{ inputSchema: of("audio", "name", "voice_id") }, false],
    [{ id: "voice-clone-2" }, true],
    [{ name: "Cloned voice" }, true],
    [{ id: "clone", name: "voiceless" }, true],
    [{ id: "song" }, false],
  ])("of audio makes a voice where its output, its input or its name says so: %j", (more, isVoice) => {
    expect(yieldsOf(model(more))).toBe(isVoice ? "voice" : "audio");
  });

  const counted = (schema: object) => model({ inputSchema: { properties: { num_outputs: schema } } });

  test("makes as many outputs as are asked for, else as its schema presets, else one", () => {
    const preset = counted({ anyOf: [{ default: "two" }, { default: 3 }] });
    expect(outputsOf({ num_outputs: 2 }, preset)).toBe(2);
    for (const input of [
      {},
      { num_outputs: 0 },
      { num_outputs: 1.5 },
      { num_outputs: "2" },
      null,
      "num_outputs",
    ] as const)
      expect(outputsOf(input as never, preset)).toBe(3);
    expect(outputsOf({}, counted({}))).toBe(1);
    expect(outputsOf({ num_outputs: 1 }, preset)).toBe(1);
  });

  test.each([
    [{ maximum: 4 }, 4],
    [{ maximum: 4, enum: [1, 6, 2] }, 4],
    [{ enum: [1, 6, "9"] }, 6],
    [{ const: 2 }, 2],
    [{ anyOf: [{ maximum: 8 }, { maximum: 5 }] }, 5],
    [{ maximum: 0, minimum: 1 }, null],
    [{}, null],
  ])("makes at most what its schema bounds: %j", (schema, most) => {
    expect(maxOutputsOf(counted(schema))).toBe(most);
  });

  test("makes one output where its schema counts none", () => {
    expect(maxOutputsOf(model({}))).toBe(1);
  });

  test("takes seeds up to the bound of its schema, or none", () => {
    const seeded = (schema: object) => model({ inputSchema: { anyOf: [{ properties: { seed: schema } }] } });
    expect(mostSeed(seeded({ maximum: 99 }))).toBe(99);
    expect(mostSeed(seeded({ maximum: "99" }))).toBe(Number.MAX_SAFE_INTEGER - 1);
    expect(mostSeed(seeded({}))).toBe(Number.MAX_SAFE_INTEGER - 1);
    expect(mostSeed(model({}))).toBeNull();
  });
});

describe("a place in a value of a schema", () => {
  const schema: Json = {
    $defs: { hero: { type: "object", properties: { name: { type: "string" } }, additionalProperties: false } },
    type: "object",
    properties: {
      hero: { $ref: "#/$defs/hero" },
      open: { type: "object", properties: { a: {} } },
      names: { type: "array", items: { type: "string" } },
      pair: { prefixItems: [{ type: "number" }], items: false },
      choice: { enum: ["a", 1, null, [2], true] },
      fixed: { const: {} },
      any: {},
    },
    additionalProperties: false,
  };
  const missing = (...path: readonly (string | number)[]) => schemaAt(schema, path).missing;
  const types = (...path: readonly (string | number)[]) => schemaAt(schema, path).types;
  const top = ["hero", "open", "names", "pair", "choice", "fixed", "any"];

  test("is found by names and positions, through references, with the types that it allows", () => {
    expect(schemaAt(schema, ["hero", "name"])).toEqual({
      schema: { $defs: (schema as { $defs: Json }).$defs, type: "string" },
      types: ["string"],
      missing: null,
    });
    expect(types()).toEqual(["object"]);
    expect(types("names", 4)).toEqual(["string"]);
    expect(types("pair", 0)).toEqual(["number"]);
    expect(types("choice")).toEqual(["string", "number", "null", "array", "boolean"]);
    expect(types("fixed")).toEqual(["object"]);
    expect(types("any")).toEqual([]);
  });

  test("that no such value has is said with the names that there are", () => {
    expect(missing("villain")).toEqual({ key: "villain", allowed: top });
    expect(missing("hero", "age")).toEqual({ key: "age", allowed: ["name"] });
    expect(missing("hero", 0)).toEqual({ key: 0, allowed: ["name"] });
    expect(missing("names", "first")).toEqual({ key: "first", allowed: [] });
    expect(missing("pair", 1)).toEqual({ key: 1, allowed: [] });
    expect(missing("hero", "name", "first")).toEqual({ key: "first", allowed: [] });
    expect(missing("choice", "x")).toEqual({ key: "x", allowed: [] });
    expect(missing("names", -1)).toEqual({ key: -1, allowed: [] });
    expect(missing("names", 0.5)).toEqual({ key: 0.5, allowed: [] });
  });

  test("is nothing that is known where the schema is open, or there is none", () => {
    const nothing = { schema: null, types: [], missing: null };
    expect(schemaAt(schema, ["open", "b"])).toEqual(nothing);
    expect(schemaAt(schema, ["any", "b"])).toEqual(nothing);
    expect(schemaAt(schema, ["any", 3])).toEqual(nothing);
    for (const none of [null, true, [], "x"]) expect(schemaAt(none, ["a"])).toEqual(nothing);
    expect(schemaAt(null, [-1]).missing).toEqual({ key: -1, allowed: [] });
  });
});
