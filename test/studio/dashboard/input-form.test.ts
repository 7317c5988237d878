import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { file } from "../../../src/index.ts";
import type { Control } from "../../../src/studio/dashboard/views/document.ts";
import { inputForm } from "../../../src/studio/dashboard/views/input-form.ts";

const controlOf = (schema: z.ZodType): Control | undefined =>
  inputForm(z.object({ field: schema })).fields?.[0]?.control;

const text = { type: "text", minLength: 0, maxLength: null };

test.each<readonly [string, z.ZodType, Control]>([
  ["a text", z.string().min(2).max(9), { type: "text", minLength: 2, maxLength: 9 }],
  ["a whole number", z.int().min(2).max(8), { type: "number", isInteger: true, min: 2, max: 8 }],
  ["any whole number", z.int(), { type: "number", isInteger: true, min: null, max: null }],
  ["a number", z.number(), { type: "number", isInteger: false, min: null, max: null }],
  ["a boolean", z.boolean(), { type: "switch" }],
  ["a choice", z.enum(["16:9", "9:16"]), { type: "choice", values: ["16:9", "9:16"] }],
  [
    "a text with suggestions",
    z.union([z.enum(["en", "de"]), z.string()]),
    { ...(text as Control & { readonly type: "text" }), suggested: ["en", "de"] },
  ],
  ["a choice of literals", z.union([z.literal(1), z.literal("b")]), { type: "choice", values: [1, "b"] }],
  ["a file with a default", file("audio").default("/a.wav"), { type: "file", kind: "audio" }],
  ["files", z.array(file("image")).max(3), { type: "list", item: { type: "file", kind: "image" }, min: 0, max: 3 }],
  ["texts, at least one", z.array(z.string()).min(1), { type: "list", item: text as Control, min: 1, max: null }],
  ["a record", z.record(z.string(), z.string()), { type: "json" }],
  ["one of several shapes", z.union([z.string(), z.object({ a: z.string() })]), { type: "json" }],
  [
    "a group",
    z.object({ x: z.string().describe("Across").optional() }),
    { type: "group", fields: [{ name: "x", description: "Across", required: false, control: text as Control }] },
  ],
])("%s has its control", (_name, schema, control) => {
  expect(controlOf(schema)).toEqual(control);
});

describe("the input to begin with", () => {
  test("holds defaults and what is required, and leaves out what is optional", () => {
    const schema = z.object({
      look: z.string().default("a fox"),
      ratio: z.enum(["1:1", "16:9"]),
      seconds: z.int().min(3),
      note: z.string().optional(),
      lines: z.array(z.string()).min(1),
    });
    expect(JSON.parse(inputForm(schema).sample)).toEqual({ look: "a fox", ratio: "1:1", seconds: 3, lines: [""] });
  });

  test("no object, or a schema that JSON Schema cannot say: JSON alone", () => {
    expect(inputForm(z.array(z.string()))).toEqual({ sample: "[]", fields: null });
    expect(inputForm(z.lazy(() => z.never())).fields).toBeNull();
  });

  const leaf: fc.Arbitrary<z.ZodType> = fc.oneof(
    fc.constant(z.string()),
    fc.constant(z.int().min(3)),
    fc.constant(z.boolean()),
    fc.constant(z.enum(["a", "b"])),
    fc.constant(file("image") as unknown as z.ZodType),
    fc.constant(z.record(z.string(), z.int())),
  );
  const { schema } = fc.letrec<{ schema: z.ZodType }>((tie) => ({
    schema: fc.oneof(
      { depthSize: "small" },
      leaf,
      fc
        .array(tie("schema"), { maxLength: 3 })
        .map((all) => z.object(Object.fromEntries(all.map((one, n) => [`f${n}`, one])))),
      fc.tuple(tie("schema"), fc.nat(2)).map(([item, min]) => z.array(item).min(min)),
      tie("schema").map((one) => one.optional()),
    ),
  }));

  test("is what the schema accepts, but for blanks that a person fills in", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom("a", "b", "c"), schema), (shape) => {
        const input = z.object(shape);
        const found = input.safeParse(JSON.parse(inputForm(input).sample));
        // The path of a file is the only blank that none of these schemas takes.
        const isBlank = (message: string) => /must be the path|expected string to have/.test(message);
        const wrong = found.error?.issues.filter(({ message }) => !isBlank(message)) ?? [];
        expect(wrong).toEqual([]);
      }),
    );
  });
});
