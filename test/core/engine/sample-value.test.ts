import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { sampleValue } from "../../../src/core/engine/price/placeholder-input.ts";
import type { Json } from "../../../src/core/plan/plan.ts";

const schemaOf = (schema: z.ZodType) => JSON.parse(JSON.stringify(z.toJSONSchema(schema))) as Json;

interface Tree {
  readonly value: string;
  readonly children: readonly Tree[];
}
const tree: z.ZodType<Tree> = z.object({
  value: z.string(),
  get children() {
    return z.array(tree);
  },
});

describe("a value that stands for an answer which does not exist yet meets the schema of the answer", () => {
  const prompts = z.array(z.object({ prompt: z.string() }));
  const cases: readonly [string, z.ZodType][] = [
    ["text", z.string()],
    ["short text", z.string().max(10)],
    ["long text", z.string().min(400).max(500)],
    ["a choice", z.enum(["calm", "wild"])],
    ["a literal", z.literal(7)],
    ["a whole number", z.int()],
    ["a positive number", z.number().positive()],
    ["a negative number", z.number().negative()],
    ["a number of a step", z.number().multipleOf(5).min(12).max(40)],
    ["a number between", z.number().gt(0).lt(1)],
    ["yes or no", z.boolean()],
    ["nothing", z.null()],
    ["maybe nothing", z.string().nullable()],
    ["either", z.union([z.object({ a: z.string() }), z.number()])],
    ["a list", prompts.min(3).max(5)],
    ["no list", z.array(z.string()).max(0)],
    ["a pair", z.tuple([z.string(), z.number()])],
    ["a record", z.record(z.string(), z.number())],
    ["addresses", z.object({ url: z.url(), email: z.email(), id: z.uuid(), at: z.iso.datetime(), day: z.iso.date() })],
    ["what may be left out", z.object({ a: z.string(), b: z.string().optional(), c: z.number().default(3) })],
    ["a shape within itself", tree],
  ];
  test.each(cases)("%s", (_name, schema) => {
    expect(schema.safeParse(sampleValue(schemaOf(schema))).error).toBeUndefined();
  });

  test("numbers of any bounds", () => {
    const bounds = fc.tuple(fc.integer({ min: -50, max: 50 }), fc.integer({ min: 1, max: 50 }), fc.boolean());
    fc.assert(
      fc.property(bounds, ([least, span, open]) => {
        const number = z.number();
        const schema = open ? number.gt(least).lt(least + span) : number.min(least).max(least + span);
        expect(schema.safeParse(sampleValue(schemaOf(schema))).success).toBe(true);
      }),
    );
  });
});

test("a place within it is found by its keys", () => {
  const schema = schemaOf(
    z.object({ scenes: z.array(z.object({ mood: z.enum(["calm", "wild"]), ms: z.int().min(5) })) }),
  );
  expect(sampleValue(schema, ["scenes", 0, "mood"])).toBe("calm");
  expect(sampleValue(schema, ["scenes", 3, "ms"])).toBe(5);
  expect(typeof sampleValue(schema, ["scenes", 0, "unheard"])).toBe("string");
  expect(sampleValue(schemaOf(z.record(z.string(), z.boolean())), ["any"])).toBe(true);
});

test("without a schema it is text of the length of a prompt", () => {
  expect(sampleValue(true)).toMatch(/^\w.{80,}$/);
});
