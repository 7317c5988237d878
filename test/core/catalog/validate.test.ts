import { describe, expect, test } from "vitest";
import { validateInput } from "../../../src/core/catalog/index.ts";
import type { JsonSchema } from "../../../src/core/plan/index.ts";
import type { Json } from "../../../src/core/plan/plan.ts";
import { builtInCatalog } from "../../support/built-in-catalog.ts";

const catalog = builtInCatalog();
const ofModel = (id: string, input: Json) => lines(validateInput(catalog.model(id)!, input));
const ofSchema = (inputSchema: JsonSchema, input: Json) => lines(validateInput({ id: "m", inputSchema }, input));
const lines = (problems: ReturnType<typeof validateInput>) =>
  problems.map(({ code, field, message }) => `${code} ${field}: ${message}`);

const video = { aspect_ratio: "16:9", duration_ms: 3000, prompt: "x" };
const asset = { source: "asset", asset_id: "asset_1" };

const rule = (condition: JsonSchema, then: JsonSchema): JsonSchema => ({ if: condition, then });

describe("the combination rules of the video model", () => {
  test.each<[string, Json, string[]]>([
    ["everything in order", { ...video, quality: "pro", resolution: "4K", start_image: asset, end_image: asset }, []],
    [
      "pro without a resolution",
      { ...video, quality: "pro" },
      ['required input.resolution: is required when quality is "pro"'],
    ],
    [
      "pro at 720p",
      { ...video, quality: "pro", resolution: "720p" },
      ['enum input.resolution: "720p" is not one of 1080p, 4K when quality is "pro"'],
    ],
    [
      "standard at 1080p",
      { ...video, quality: "standard", resolution: "1080p" },
      ['enum input.resolution: must be 720p, not "1080p" unless quality is "pro"'],
    ],
    [
      "an end frame alone",
      { ...video, end_image: asset },
      ["required input.start_image: is required when end_image is given"],
    ],
    [
      "prompt and shots",
      { ...video, multi_prompt: [{ prompt: "y" }] },
      ["choice input: give exactly one of prompt, multi_prompt; prompt and multi_prompt are given"],
    ],
    [
      "neither prompt nor shots",
      { aspect_ratio: "16:9", duration_ms: 3000 },
      ["choice input: give exactly one of prompt, multi_prompt; none is given"],
    ],
    [
      "shots that are too long with their defaults",
      {
        aspect_ratio: "16:9",
        duration_ms: 3000,
        multi_prompt: [{ prompt: "a", duration_ms: 11_000 }, { prompt: "b" }],
      },
      ["max_total_duration_ms input.multi_prompt: lasts 16000 ms in total; at most 15000 ms are allowed"],
    ],
    [
      "a misspelt field in a shot",
      { aspect_ratio: "16:9", duration_ms: 3000, multi_prompt: [{ promt: "a" }] },
      [
        "required input.multi_prompt[0].prompt: is required",
        "unknown-field input.multi_prompt[0].promt: unknown field; did you mean prompt?",
      ],
    ],
    ["a blank prompt", { ...video, prompt: " \n " }, ["pattern input.prompt: needs at least one visible character"]],
    [
      "a prompt that is too long",
      { ...video, prompt: "x".repeat(2501) },
      ["maxLength input.prompt: has 2501 characters; at most 2500 are allowed"],
    ],
    ["a number as text", { ...video, cfg_scale: "1" }, ["type input.cfg_scale: must be a number, not text"]],
    ["a number too large", { ...video, cfg_scale: 2 }, ["maximum input.cfg_scale: must be at most 1, not 2"]],
  ])("%s", (_name, input, expected) => {
    expect(ofModel("video-1", input).sort()).toEqual(expected.sort());
  });

  test("a bad value and a rule about it are one problem, with the narrower list", () => {
    expect(ofModel("video-1", { ...video, quality: "pro", resolution: "8K" })).toEqual([
      'enum input.resolution: "8K" is not one of 1080p, 4K when quality is "pro"',
    ]);
  });
});

describe("a choice between forms", () => {
  const reference = (discriminated: boolean): JsonSchema => ({
    ...(discriminated && {
      type: "object",
      required: ["source"],
      discriminator: { propertyName: "source", mapping: {} },
    }),
    oneOf: [form("url", "url"), form("asset", "asset_id")],
  });
  const form = (source: string, field: string) => ({
    type: "object",
    additionalProperties: false,
    required: ["source", field],
    properties: { source: { const: source }, [field]: { type: "string" } },
  });

  test.each([true, false])("is told by the form that was meant (discriminated: %s)", (discriminated) => {
    const schema = { type: "object", properties: { image: reference(discriminated) } };
    expect(ofSchema(schema, { image: { source: "asset", asset_id: "a", extra: 1 } })).toEqual([
      "unknown-field input.image.extra: unknown field; fields are: source, asset_id",
    ]);
    expect(ofSchema(schema, { image: { source: "asset" } })).toEqual(["required input.image.asset_id: is required"]);
  });

  test("of types says the types", () => {
    const schema = { type: "object", properties: { x: { anyOf: [{ type: "string" }, { type: "array" }] } } };
    expect(ofSchema(schema, { x: 5 })).toEqual(["type input.x: must be text or a list"]);
  });

  test("that is met twice says so", () => {
    const schema = { type: "object", properties: { x: { oneOf: [{ minimum: 1 }, { minimum: 2 }] } } };
    expect(ofSchema(schema, { x: 5 })).toEqual([
      "choice input.x: matches several of the accepted forms, but must match only one",
    ]);
  });

  test("tells the mistakes of one list item only for that item", () => {
    const item = { oneOf: [form("url", "url"), form("asset", "asset_id")] };
    const schema = { type: "object", properties: { list: { type: "array", items: item } } };
    const good = { source: "url", url: "u" };
    expect(ofSchema(schema, { list: [good, { source: "url", url: 5 }, good] })).toEqual([
      "type input.list[1].url: must be text, not a whole number",
    ]);
  });
});

describe("rules between fields", () => {
  test.each<[string, JsonSchema, Json, string[]]>([
    [
      "not together",
      { not: { required: ["seed", "variation"] } },
      { seed: 1, variation: 2 },
      ["combination input: seed and variation cannot be combined"],
    ],
    [
      "a field that is excluded by another",
      rule({ required: ["audio"] }, { properties: { language: false } }),
      { audio: "a", language: "en" },
      ["combination input.language: is not allowed when audio is given"],
    ],
    [
      "either of two values",
      rule({ properties: { mode: { enum: ["a", "b"] } }, required: ["mode"] }, { required: ["level"] }),
      { mode: "b" },
      ['required input.level: is required when mode is "a" or "b"'],
    ],
    [
      "a condition that has no short form",
      rule({ properties: { text: { minLength: 5 } }, required: ["text"] }, { required: ["voice"] }),
      { text: "longer" },
      ["required input.voice: is required with the current values of the other fields"],
    ],
    [
      "a condition behind a reference",
      { $ref: "#/$defs/rule", $defs: { rule: rule({ required: ["a"] }, { required: ["b"] }) } },
      { a: 1 },
      ["required input.b: is required when a is given"],
    ],
  ])("%s", (_name, schema, input, expected) => {
    expect(ofSchema({ type: "object", ...schema }, input)).toEqual(expected);
  });
});

describe("a schema from outside", () => {
  const good = { prompt: "x" };

  test.each<[string, JsonSchema]>([
    ["has a type that does not exist", { type: "thing" }],
    ["refers to what it does not have", { $ref: "#/$defs/none" }],
    ["refers to another document", { $ref: "https://example.com/schema.json" }],
    ["has a pattern that is none", { type: "object", properties: { prompt: { type: "string", pattern: "(" } } }],
  ])("that %s is a problem of its model, not a crash", (_name, schema) => {
    const [problem, ...more] = validateInput({ id: "broken-1", inputSchema: schema }, good);
    expect(more).toEqual([]);
    expect(problem).toMatchObject({ code: "model-schema", field: "model" });
    expect(problem!.message).toContain("broken-1");
  });

  test.each<[string, JsonSchema]>([
    ["names another dialect", { $schema: "http://json-schema.org/draft-07/schema#", type: "object" }],
    ["carries an id that others carry too", { $id: "input", type: "object" }],
    ["carries words that nobody knows", { type: "object", "x-order": ["prompt"], properties: { prompt: { role: 5 } } }],
    ["refers to itself", { type: "object", properties: { prompt: true, child: { $ref: "#" } } }],
    [
      "has properties that are named like keywords",
      { type: "object", properties: { prompt: true, $id: { type: "string" }, discriminator: { type: "object" } } },
    ],
  ])("that %s still checks", (_name, inputSchema) => {
    expect(validateInput({ id: "m", inputSchema }, good)).toEqual([]);
    expect(validateInput({ id: "m", inputSchema: { ...inputSchema } }, 5)).toMatchObject([{ code: "type" }]);
  });

  test("that unfolds without end is left folded", () => {
    const doubling = Object.fromEntries(
      Array.from({ length: 30 }, (_, i) => [
        `d${i}`,
        { type: "object", properties: { a: { $ref: `#/$defs/d${i + 1}` }, b: { $ref: `#/$defs/d${i + 1}` } } },
      ]),
    );
    const inputSchema = { $ref: "#/$defs/d0", $defs: { ...doubling, d30: { type: "string" } } };
    expect(ofSchema(inputSchema, { a: 5 })).toEqual(["type input.a: must be an object, not a whole number"]);
  });
});

describe("a schema that asks for too much work", () => {
  const choices = (fields: number, each: number): JsonSchema => ({
    type: "object",
    properties: Object.fromEntries(
      Array.from({ length: fields }, (_, field) => [
        `f${field}`,
        { anyOf: Array.from({ length: each }, (_, one) => ({ const: `${field}-${one}` })) },
      ]),
    ),
  });

  test.each([
    ["by its fields", choices(2_000, 20)],
    ["by what one field may be", choices(1, 20_000)],
  ])("%s is refused before it is compiled, and names the model", (_what, schema) => {
    const [problem, ...others] = ofSchema(schema, { f0: "x" });
    expect(others).toEqual([]);
    expect(problem).toMatch(
      /^model-schema model: the input schema of m cannot be used \(it has more than 5000 nodes\)/,
    );
  });

  test("by its depth is a problem of the model too", () => {
    const deep = JSON.parse(`${'{"not":'.repeat(50_000)}true${"}".repeat(50_000)}`) as JsonSchema;
    expect(ofSchema(deep, {})).toEqual([expect.stringMatching(/^model-schema model: the input schema of m cannot be/)]);
  });

  test("by references that unfold, or are checked, ever again ends in time", () => {
    const doubling = Object.fromEntries(
      Array.from({ length: 40 }, (_, level) => {
        const next = { $ref: `#/$defs/d${level + 1}` };
        return [`d${level}`, { allOf: [next, next] }];
      }),
    );
    const schema = { $ref: "#/$defs/d0", $defs: { ...doubling, d40: { type: "object" } } };
    expect(ofSchema(schema, {})).toEqual([
      expect.stringMatching(/^model-schema model: .*takes more than \d+ ms.*choose another model/),
    ]);
  });

  test("is one that no model comes near", () => {
    expect(ofSchema(choices(40, 20), { f0: "0-3", f1: "x" })).toEqual([expect.stringContaining("input.f1")]);
  });
});
