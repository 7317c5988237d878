import { Ajv2020 } from "ajv/dist/2020.js";
import formatsPlugin from "ajv-formats";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { tokenize } from "../../../src/local-service/chat/chat-job.ts";
import { answerTo } from "../../../src/local-service/chat/engine/answer.ts";
import { OWN_CHAT_MODEL } from "../../../src/local-service/chat/models.ts";
import { readChatRequest } from "../../../src/local-service/chat/request.ts";
import { anyCharacter } from "../../support/any-character.ts";
import { words } from "../../support/word-list.ts";
import { read, start } from "../support/service.ts";

function answer(content: string, more: object = {}): string {
  const body = { model: "chat-1", messages: [{ role: "user", content }], ...more };
  return answerTo(readChatRequest(body, OWN_CHAT_MODEL));
}

const format = (schema: object) => ({
  response_format: { type: "json_schema", json_schema: { name: "answer", schema } },
});

const json = (content: string, schema: object) => JSON.parse(answer(content, format(schema)));

function fits(schema: object, value: unknown): boolean {
  const ajv = new Ajv2020({ strict: false, logger: false });
  formatsPlugin.default(ajv);
  return ajv.validate(schema, value);
}

describe("a schema is answered with a value that fits", () => {
  const cases: Readonly<Record<string, object>> = {
    "one value": { const: { a: [1] } },
    "a choice of types": { type: ["null", "integer"], minimum: 5, exclusiveMaximum: 7 },
    "bounds and steps": { type: "number", exclusiveMinimum: 0, maximum: 1, multipleOf: 0.05 },
    "a narrow open interval": { type: "number", exclusiveMinimum: 0.2, exclusiveMaximum: 0.3 },
    lengths: { type: "string", minLength: 400, maxLength: 410 },
    "a short text": { type: "string", maxLength: 4 },
    "a pattern": { type: "string", pattern: "^[A-Z]{3}-\\d{4}$" },
    "a pattern with a length": { type: "string", pattern: "^[a-z]+$", minLength: 12, maxLength: 14 },
    "unlike items": { type: "array", items: { enum: ["a", "b", "c", "d"] }, minItems: 4, uniqueItems: true },
    "a tuple": { type: "array", prefixItems: [{ type: "string" }, { type: "integer" }], items: false, minItems: 2 },
    "an old tuple": { type: "array", items: [{ type: "string" }, { type: "integer" }], additionalItems: false },
    "an item of a kind": { type: "array", items: { type: "integer" }, contains: { const: 99 } },
    "a map": { type: "object", additionalProperties: { type: "integer" }, minProperties: 3 },
    "a reference": {
      $ref: "#/$defs/shot",
      $defs: { shot: { type: "object", properties: { a: { type: "string" } }, required: ["a"] } },
    },
    "itself within itself": {
      type: "object",
      required: ["name"],
      properties: { name: { type: "string" }, parts: { type: "array", items: { $ref: "#" } } },
    },
    "one of two, apart": {
      type: "object",
      properties: { a: { type: "string" }, b: { type: "string" } },
      oneOf: [{ required: ["a"] }, { required: ["b"] }],
    },
    "a condition": {
      type: "object",
      required: ["tier"],
      properties: { tier: { enum: ["pro", "standard"] }, size: { enum: ["720p", "4K"] } },
      if: { properties: { tier: { const: "pro" } } },
      // biome-ignore lint/suspicious/noThenProperty: a JSON Schema keyword
      then: { properties: { size: { const: "4K" } }, required: ["size"] },
    },
    "all of several": {
      allOf: [
        { type: "object", required: ["x"], properties: { x: { type: "integer" } } },
        { properties: { x: { minimum: 40 } } },
      ],
    },
  };

  test.each(Object.entries(cases))("%s", (_name, schema) => {
    const value = json("Three shots of a mill at night.", schema);
    const modern = "additionalItems" in schema ? { ...cases["a tuple"], minItems: 0 } : schema;
    expect(fits(modern, value), JSON.stringify(value)).toBe(true);
  });

  test.each(words("date time date-time duration email hostname ipv4 ipv6 uri uri-reference uuid json-pointer regex"))(
    "the format %s",
    (name) => {
      const schema = { type: "array", minItems: 3, items: { type: "string", format: name } };
      expect(fits(schema, json("A mill at night.", schema))).toBe(true);
    },
  );

  test("a name is read by its whole words, and a list has three elements within its bounds", () => {
    const text = { type: "string" };
    const names = ["narration", "operation", "duration_note", "decoration", "aspect_ratio"];
    const properties = {
      ...Object.fromEntries(names.map((name) => [name, text])),
      shots: { type: "array", items: text },
      scenes: { type: "array", items: text, minItems: 4 },
      takes: { type: "array", items: text, maxItems: 2 },
    };
    const required = [...names, "shots", "scenes", "takes"];
    const value = json("Write 4 shots about a fox.", { type: "object", properties, required });
    expect(names.filter((name) => value[name] === "16:9")).toEqual(["aspect_ratio"]);
    expect([value.shots.length, value.scenes.length, value.takes.length]).toEqual([3, 4, 2]);
    expect(new Set(value.scenes).size).toBe(4);
  });

  test("every built-in model's own input schema", async () => {
    const service = await start();
    const { data } = await read(service, "/models");
    expect(data.length).toBeGreaterThan(4);
    for (const { id } of data) {
      const { input_schema } = await read(service, `/models/${id}`);
      const value = json("Plan a film about a fox who finds a lamp in the snow, 9:16.", input_schema);
      expect(Object.keys(value).length, id).toBeGreaterThan(0);
      if ("aspect_ratio" in value) expect(value.aspect_ratio).toBe("9:16");
    }
  });

  const leaf: fc.Arbitrary<object> = fc.oneof(
    fc.record({ type: fc.constant("integer"), minimum: fc.integer({ min: -50, max: 50 }) }),
    fc.record({ type: fc.constant("string"), maxLength: fc.integer({ min: 1, max: 30 }) }),
    fc.record({ enum: fc.uniqueArray(fc.string({ minLength: 1 }), { minLength: 1, maxLength: 4 }) }),
    fc.constant({ type: "boolean" }),
    fc.constant({ type: ["string", "null"] }),
  );
  const { schema: anySchema } = fc.letrec<{ schema: object }>((tie) => ({
    schema: fc.oneof(
      { maxDepth: 4, depthSize: "small" },
      leaf,
      fc.record({ type: fc.constant("array"), items: tie("schema"), minItems: fc.nat(3) }),
      fc.dictionary(fc.stringMatching(/^[a-z]{1,8}$/), tie("schema"), { minKeys: 1, maxKeys: 4 }).map((properties) => ({
        type: "object",
        properties,
        required: Object.keys(properties),
        additionalProperties: false,
      })),
      fc.array(tie("schema"), { minLength: 1, maxLength: 3 }).map((anyOf) => ({ anyOf })),
    ),
  }));

  test("any schema of objects, lists, choices and bounds", () => {
    const property = fc.property(anySchema, fc.string(), (schema, prompt) => {
      expect(fits(schema, json(`About ${prompt}`, schema))).toBe(true);
    });
    fc.assert(property, { numRuns: Number(process.env["SHOWRUNNER_TEST_RUNS"] ?? 12) });
  });
});

describe("a schema that cannot be answered is refused, in bounded time", () => {
  const nested = (depth: number): object =>
    depth === 0 ? { type: "string" } : { type: "array", minItems: 9, items: nested(depth - 1) };
  test.each<[string, object]>([
    ["contradicts itself", { type: "integer", minimum: 3, maximum: 2 }],
    ["is no schema", { type: "nonsense" }],
    ["refers elsewhere", { $ref: "https://example.com/schema.json" }],
    ["refers to itself without end", { $ref: "#" }],
    ["contains itself without end", { type: "object", required: ["a"], properties: { a: { $ref: "#" } } }],
    ["asks for too many values", nested(9)],
    ["never ends", { type: "string", pattern: "^(\\w+\\s?)+[^\\s\\S]$", minLength: 60, maxLength: 90 }],
    ["has a pattern of endless text", { type: "string", pattern: "^(a{30000}){30000}b$" }],
  ])("because it %s", (_why, schema) => {
    const body = expect.objectContaining({ code: "INVALID_ARGUMENT", param: "response_format.json_schema.schema" });
    expect(() => answer("A mill.", format(schema))).toThrow(expect.objectContaining({ body }));
  });
});

describe("without a schema the answer is in words", () => {
  test.each([
    ["Reply with the single word: OK", "OK"],
    ['Answer only with "yes"', "yes"],
  ])("%s", (asked, said) => expect(answer(asked)).toBe(said));

  test("anything else by a sentence that says that it is simulated, and to what", () => {
    expect(answer("Give me 5 ideas for a party")).toBe("Simulated answer to: Give me 5 ideas for a party");
    expect(answer(`Tell of ${"a very long road ".repeat(50)}`).length).toBeLessThan(160);
    expect(answer("")).toBe("Simulated answer");
  });

  test("anything at all gets some text, and its tokens joined are the text", () => {
    const property = fc.property(fc.string({ unit: anyCharacter, maxLength: 300 }), (text) => {
      const said = answer(text);
      expect(said.length).toBeGreaterThan(0);
      expect(tokenize(said).join("")).toBe(said);
      expect(tokenize(text).join("")).toBe(text);
    });
    fc.assert(property, { numRuns: Number(process.env["SHOWRUNNER_TEST_RUNS"] ?? 12) });
  });
});
