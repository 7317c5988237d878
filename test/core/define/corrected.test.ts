import { describe, expect, test } from "vitest";
import { z } from "zod";
import { corrected, draft, pipeline, redraft } from "../../../src/core/define/index.ts";
import { kindOfPath } from "../../../src/core/define/steps/upload.ts";
import type { Json } from "../../../src/core/plan/plan.ts";

/** What a pipeline of this schema is built with. */
function seeing(input: z.ZodType) {
  const seen: unknown[] = [];
  const made = pipeline("p", {
    input,
    build: ({ input: given }: { readonly input: unknown }) => {
      seen.push(given);
      return {};
    },
  } as never);
  return { made, seen };
}

const schema = z.object({
  day: z.coerce.date(),
  title: z.string().transform((text) => `${text}!`),
  size: z.object({ w: z.number().max(9), h: z.number(), unit: z.string().default("px") }),
  tags: z.array(z.string()).optional(),
  fps: z.number().default(24),
});
/** As the journal has it: parsed once. */
const before: Json = { day: "1970-01-01T00:00:00.000Z", title: "one!", size: { w: 1, h: 2, unit: "px" } };

describe("an input that was parsed before", () => {
  test("is parsed again for what JSON cannot hold and what is new in the schema, and no transform is done twice", () => {
    const { made, seen } = seeing(schema);
    const { parsedInput, pipeline: name } = redraft(made, before);
    expect(seen).toEqual([{ day: new Date(0), title: "one!", size: { w: 1, h: 2, unit: "px" }, fps: 24 }]);
    expect([name, parsedInput]).toEqual(["p", before]);
  });

  test("is taken as it is where the schema does not take it any more", () => {
    const { made, seen } = seeing(z.object({ title: z.number() }));
    redraft(made, before);
    expect(seen).toEqual([before]);
    const list = seeing(z.array(z.string().transform((text) => `${text}!`)));
    redraft(list.made, ["a!"]);
    expect(list.seen).toEqual([["a!"]]);
  });
});

describe("an input that is corrected", () => {
  const correct = (changes: Json, input: z.ZodType = schema, was: Json = before) => {
    const { made, seen } = seeing(input);
    const { draft: drafted, problems } = corrected(made, was, changes);
    return { seen: seen[0], parsed: drafted?.parsedInput ?? null, problems };
  };

  test("is merged field by field, and only what was changed is parsed as a new input is", () => {
    const { seen, parsed, problems } = correct({ title: "two", size: { w: 5 } });
    expect(seen).toEqual({ day: new Date(0), title: "two!", size: { w: 5, h: 2, unit: "px" }, fps: 24 });
    expect(parsed).toEqual({
      day: "1970-01-01T00:00:00.000Z",
      title: "two!",
      size: { w: 5, h: 2, unit: "px" },
      fps: 24,
    });
    expect(problems).toEqual([]);
    expect(correct({ tags: ["a"], fps: 30 }).seen).toMatchObject({ title: "one!", tags: ["a"], fps: 30 });
    expect(correct({ tags: ["b"] }, schema, { ...before, tags: ["a", "c"] }).seen).toMatchObject({ tags: ["b"] });
    expect(correct({}).seen).toMatchObject({ title: "one!" });
  });

  test("that is no object is replaced", () => {
    const text = z.string().transform((value) => `${value}!`);
    expect(correct("two", text, "one!").seen).toBe("two!");
    expect(correct({ a: 1 }, z.any(), "one").seen).toEqual({ a: 1 });
    expect(correct(["a"], z.any(), { a: 1 }).seen).toEqual(["a"]);
  });

  test("is refused for what is wrong with the changes, and not for what was there before", () => {
    const field = (name: string) => expect.objectContaining({ code: "input", step: null, field: name });
    expect(correct({ size: { w: 10 } })).toEqual({ seen: undefined, parsed: null, problems: [field("input.size.w")] });
    expect(correct({ titel: "x" })).toMatchObject({ parsed: null, problems: [{ field: "input.titel" }] });
    const strict = z.object({ a: z.string().regex(/^x$/), b: z.number(), c: z.number().optional() });
    const was = { a: "y", b: 1 };
    expect(correct({ b: 2 }, strict, was)).toMatchObject({ seen: { a: "y", b: 2 }, problems: [] });
    expect(correct({ b: "2" }, strict, was).problems).toEqual([field("input.b")]);
    const whole = strict.refine(({ b }) => b < 5, "too much");
    expect(correct({ b: 9 }, whole, { a: "x", b: 1 }).problems).toEqual([field("input")]);
  });
});

test("an input whose schema throws, or may not answer at once, is a problem that says so", () => {
  const said = (input: z.ZodType) => draft(seeing(input).made, "x");
  const problem = (message: string) => ({
    draft: null,
    problems: [{ code: "input-schema", step: null, field: null, message }],
  });
  const thrown = z.string().transform(() => {
    throw new Error("no");
  });
  expect(said(thrown)).toEqual(problem("the input schema of p threw an error: no"));
  const { problems } = said(z.string().refine(async () => true));
  expect(problems[0]!.message).toMatch(
    /^the input schema of p threw an error: .*; refinements and transforms cannot be async$/s,
  );
});

test("a pipeline is refused for what it can never be run with", () => {
  const refused = (name: string, own: object) => () =>
    pipeline(name, { input: z.object({}), build: () => ({}), ...own } as never);
  const rule = 'its name may contain letters, digits, ".", "_" and "-", and must begin with a letter or digit';
  expect(refused("a b", {})).toThrow(`pipeline "a b": ${rule}`);
  expect(refused("p", { input: {} })).toThrow("`input` must be a zod schema, such as z.object({})");
  expect(refused("p", { input: undefined })).toThrow("`input` must be a zod schema");
  expect(refused("p", { build: 1 })).toThrow("`build` must be a function that returns handles");
  expect(refused("p", { prune: 1 })).toThrow("`prune` must be true or false");
  expect(refused("p", { onFailure: "never" })).toThrow(/^pipeline "p": /);
  expect(pipeline("p", { input: z.object({}), build: () => ({}) })).toMatchObject({
    onFailure: null,
    prune: true,
    consent: null,
  });
});

test.each([
  ["a.png", "image"],
  ["a.JPG", "image"],
  ["b.jpeg", "image"],
  ["a.webp", "image"],
  ["a.gif", "image"],
  ["a.avif", "image"],
  ["my.films/a.mp4", "video"],
  ["a.mov", "video"],
  ["a.webm", "video"],
  ["a.mkv", "video"],
  ["a.mp3", "audio"],
  ["a.wav", "audio"],
  ["a.m4a", "audio"],
  ["a.aac", "audio"],
  ["a.flac", "audio"],
  ["a.ogg", "audio"],
  ["a.opus", "audio"],
  ["a.txt", null],
  ["png", null],
  ["a.png/b", null],
  ["a.", null],
])("the ending of %s promises %s", (path, kind) => {
  expect(kindOfPath(path)).toBe(kind);
});

function nested(levels: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < levels; level++) value = level % 2 === 0 ? [value] : { a: value };
  return value;
}

describe("an input that cannot be stored is refused before the schema and `build` see it", () => {
  const { made, seen } = seeing(
    z.looseObject({
      text: z
        .string()
        .transform((text) => JSON.parse(text))
        .optional(),
    }),
  );
  const deep = "is nested deeper than 500 levels";
  const cyclic: { self?: unknown } = {};
  cyclic.self = cyclic;

  test.each([
    [{ any: nested(1_500) }, "input.any", deep],
    [{ any: nested(100_000) }, "input.any", deep],
    [{ any: [{ n: Number.POSITIVE_INFINITY }] }, "input.any[0].n", "must be a finite number, not Infinity"],
    [{ any: Number.NaN }, "input.any", "must be a finite number, not NaN"],
  ])("%#", (input, field, message) => {
    const problems = [{ code: "input", step: null, field, message }];
    expect(draft(made, input)).toEqual({ draft: null, problems });
    expect(corrected(made, {}, input as Json)).toEqual({ draft: null, problems });
    expect(seen).toEqual([]);
  });

  test("even if a transform makes it so deep", () => {
    const text = "[".repeat(1_500) + "]".repeat(1_500);
    expect(draft(made, { text }).problems).toMatchObject([{ field: "input.text", message: deep }]);
  });

  test("and 499 levels, cycles and shared values are accepted", () => {
    const shared = nested(50);
    expect(draft(made, { any: nested(499), cyclic, both: [shared, shared] }).problems).toEqual([]);
  });
});
