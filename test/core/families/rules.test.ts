import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { JsonSchema } from "../../../src/core/catalog/index.ts";
import { familyProblems } from "../../../src/core/catalog/validate/family-rules.ts";
import { draft, pipeline } from "../../../src/core/define/index.ts";
import { type FamilyInput, type FamilyRule, OURS } from "../../../src/core/families/index.ts";
import { makePlan } from "../../../src/core/plan/index.ts";
import type { Json } from "../../../src/core/plan/plan.ts";
import type { LocalService } from "../../../src/local-service/index.ts";
import { familyCheck } from "../../../src/local-service/validate/family-rules.ts";
import { ask, start } from "../../local-service/support/service.ts";
import { catalogWith, entryOf, film, WORDS_ONLY } from "./support.ts";

const runs = Number(process.env.SHOWRUNNER_TEST_RUNS ?? 50);
const picture = { source: "asset", asset_id: "asset_00000000-0000-4000-8000-000000000000" };

/** What a plan says of an input: step, field and message of each problem. */
function planned(id: string, input: object, families?: readonly FamilyInput[], schema: JsonSchema = WORDS_ONLY) {
  const said = pipeline("p", {
    input: z.unknown(),
    build: ({ job }) => ({ film: job("film", id, input as { readonly [field: string]: Json }) }),
  });
  const catalog = catalogWith([entryOf(id, schema)], families);
  const made = makePlan(draft(said, {}).draft!, { catalog, files: new Map() });
  return made.ok ? [] : made.problems;
}

/** What the local service says of it. */
async function estimated(service: LocalService, id: string, input: object) {
  const { status, body } = await ask(service, "POST", `/models/${id}/estimate`, { body: { input } });
  return status === 200 ? [] : (body.error.details as { readonly field: string; readonly message: string }[]);
}

const shots = (...lengths: readonly (number | undefined)[]) =>
  lengths.map((duration_ms) => ({ prompt: "x", ...(duration_ms !== undefined && { duration_ms }) }));

/** Each rule of kling 3 with an input that keeps to it, one that does not, and the field that is told. */
const table: readonly (readonly [rule: string, right: object, wrong: object, field: string])[] = [
  ["quality pro needs resolution", { quality: "pro", resolution: "1080p" }, { quality: "pro" }, "input.resolution"],
  [
    "quality pro is 1080p or 4K",
    { quality: "pro", resolution: "4K" },
    { quality: "pro", resolution: "720p" },
    "input.resolution",
  ],
  [
    "quality standard is 720p",
    { quality: "standard", resolution: "720p" },
    { quality: "standard", resolution: "4K" },
    "input.resolution",
  ],
  ["no quality is quality standard", { resolution: "720p" }, { resolution: "1080p" }, "input.resolution"],
  ["prompt or shots", {}, { prompt: undefined }, "input.prompt"],
  [
    "not prompt and shots",
    { prompt: undefined, multi_prompt: shots(1000) },
    { multi_prompt: shots(1000) },
    "input.multi_prompt",
  ],
  [
    "shots last 15 s at most",
    { prompt: undefined, multi_prompt: shots(5000, 10_000) },
    { prompt: undefined, multi_prompt: shots(6000, 10_000) },
    "input.multi_prompt",
  ],
  [
    "a shot without a length lasts 5 s",
    { prompt: undefined, multi_prompt: shots(10_000, undefined) },
    { prompt: undefined, multi_prompt: shots(11_000, undefined) },
    "input.multi_prompt",
  ],
];

const given = (more: object) => JSON.parse(JSON.stringify({ ...film, prompt: "a boat", ...more })) as object;

const tier: FamilyRule = { kind: "values", field: "resolution", values: ["1080p", "4K"], message: "give another" };

describe("the rules of a family that no schema states", () => {
  test.each(table)("%s: plan and local service say the same", async (_rule, right, wrong, field) => {
    const service = await start({ catalog: [entryOf("kling-3")] });
    expect([planned("kling-3", given(right)), await estimated(service, "kling-3", given(right))]).toEqual([[], []]);
    const inPlan = planned("kling-3", given(wrong));
    expect(inPlan).toMatchObject([{ step: "film", field, message: expect.stringContaining(OURS) }]);
    const inService = await estimated(service, "kling-3", given(wrong));
    expect(inService).toMatchObject([{ field, message: expect.stringContaining(OURS) }]);
    expect(inService[0]!.message).toMatch(new RegExp(`^${field}`));
  });

  test("a last frame needs a first one", async () => {
    const service = await start({ catalog: [entryOf("kling-3")] });
    const wrong = given({ end_image: picture });
    expect(planned("kling-3", given({ end_image: picture, start_image: picture }))).toEqual([]);
    expect(planned("kling-3", wrong)).toMatchObject([{ code: "required", field: "input.start_image" }]);
    const said = await estimated(service, "kling-3", wrong);
    expect(said).toContainEqual(expect.objectContaining({ field: "input.start_image", reason: "required" }));
  });

  test("a submit is refused as an estimate is, in the envelope of every other refusal, and nothing is charged", async () => {
    const service = await start({ catalog: [entryOf("kling-3")] });
    const { status, body } = await ask(service, "POST", "/models/kling-3", {
      body: { input: given({ quality: "pro" }) },
    });
    expect(status).toBe(400);
    expect(body.error).toMatchObject({
      code: "INVALID_ARGUMENT",
      param: "input.resolution",
      details: [{ field: "input.resolution", reason: "required", allowed: ["720p", "1080p", "4K"] }],
    });
    expect(service.stats().jobs_created).toBe(0);
  });

  test("all of them are told at once, beside what the schema says", () => {
    const wrong = {
      aspect_ratio: "4:3",
      quality: "pro",
      multi_prompt: shots(15_000, 15_000),
      end_image: picture,
      prompt: "x",
    };
    expect(
      planned("kling-3", wrong)
        .map(({ code, field }) => `${code} ${field}`)
        .sort(),
    ).toEqual([
      "enum input.aspect_ratio",
      "exclusive input.multi_prompt",
      "max_sum input.multi_prompt",
      "required input.duration_ms",
      "required input.resolution",
      "required input.start_image",
    ]);
  });

  test("a value of another step is not judged by its placeholder, but excludes what it excludes", () => {
    const said = pipeline("p", {
      input: z.unknown(),
      build({ chat, job }) {
        const plot = chat(
          "plot",
          "chat-1",
          { prompt: "x" },
          { schema: z.object({ size: z.string(), text: z.string() }) },
        );
        const sized = job("sized", "kling-3", {
          ...film,
          prompt: "x",
          quality: "pro",
          resolution: plot.at("size"),
        } as never);
        const both = job("both", "kling-3", { ...film, multi_prompt: shots(1000), prompt: plot.at("text") } as never);
        return { sized, both };
      },
    });
    const made = makePlan(draft(said, {}).draft!, { catalog: catalogWith([entryOf("kling-3")]), files: new Map() });
    expect(made).toMatchObject({
      ok: false,
      problems: [{ step: "both", code: "exclusive", field: "input.multi_prompt" }],
    });
  });

  test("a model of no family, and one whose schema lacks the fields, are checked by their schemas alone", async () => {
    const {
      resolution: _,
      start_image: __,
      ...fewer
    } = WORDS_ONLY["properties"] as { readonly [name: string]: JsonSchema };
    const bare: JsonSchema = { ...WORDS_ONLY, properties: fewer };
    const service = await start({ catalog: [entryOf("kling-3", bare), entryOf("reel-9")] });
    const wrong = given({ quality: "pro", end_image: picture });
    const unfilmed = given({ prompt: undefined });
    expect([planned("kling-3", wrong, [], bare), planned("reel-9", wrong), planned("reel-9", unfilmed)]).toEqual([
      [],
      [],
      [],
    ]);
    expect(await estimated(service, "kling-3", given({ quality: "pro" }))).toEqual([]);
    expect(await estimated(service, "reel-9", unfilmed)).toEqual([]);
  });

  test("a schema that states the rule itself has the only word", async () => {
    const schema: JsonSchema = { ...WORDS_ONLY, oneOf: [{ required: ["prompt"] }, { required: ["multi_prompt"] }] };
    const service = await start({ catalog: [entryOf("kling-3", schema)] });
    const wrong = given({ prompt: undefined });
    expect(planned("kling-3", wrong, [], schema)).toMatchObject([{ code: "choice", field: "input" }]);
    const said = await estimated(service, "kling-3", wrong);
    expect(said).toHaveLength(1);
    expect(said[0]!.message).not.toContain(OURS);
  });

  test("an empty list in a file switches the rules of a family off, on both sides", async () => {
    const families: readonly FamilyInput[] = [{ name: "kling-3", rules: [] }];
    const service = await start({ catalog: [entryOf("kling-3")], families });
    for (const [, , wrong] of table) {
      expect(planned("kling-3", given(wrong), families)).toEqual([]);
      expect(await estimated(service, "kling-3", given(wrong))).toEqual([]);
    }
  });

  test("rules never ask for a value that the schema does not accept, and compare text without regard to case", () => {
    const properties = WORDS_ONLY["properties"] as { readonly [name: string]: JsonSchema };
    const sized = (...sizes: readonly string[]): JsonSchema => ({
      ...WORDS_ONLY,
      properties: { ...properties, resolution: { type: "string", enum: sizes } },
    });
    const pro = (resolution: string) => given({ quality: "pro", resolution });
    expect(planned("kling-3", pro("4k"), [], sized("720p", "4k"))).toEqual([]);
    expect(planned("kling-3", pro("small"), [], sized("small", "large"))).toEqual([]);
    const told = [{ code: "enum", allowed: ["4k"] }];
    expect(planned("kling-3", pro("720p"), [], sized("720p", "4k"))).toMatchObject(told);
    expect(familyCheck(sized("720p", "4k"), [tier])(pro("720p") as never)).toMatchObject([
      { reason: "enum", allowed: ["4k"] },
    ]);
  });
});

const names = ["a", "b", "c", "list"] as const;
const name = fc.constantFrom(...names);
const scalar = fc.constantFrom<string | number>("x", "X", "y", 1, 2);
const when = fc.option(
  fc.record({ field: name, is: fc.array(scalar, { minLength: 1, maxLength: 2 }) }, { requiredKeys: ["field"] }),
  { nil: undefined },
);
const fieldNames = fc.uniqueArray(fc.constantFrom(...names, "none"), { minLength: 2, maxLength: 3 });
const message = fc.constant("do otherwise");
const anyRule: fc.Arbitrary<FamilyRule> = fc.oneof(
  fc.record({
    kind: fc.constantFrom("requires" as const, "forbids" as const, "one_of" as const),
    fields: fieldNames,
    message,
    when,
  }),
  fc.record({
    kind: fc.constant("values" as const),
    field: name,
    values: fc.array(scalar, { minLength: 1 }),
    message,
    when,
  }),
  fc.record({
    kind: fc.constant("max_sum" as const),
    field: name,
    of: fc.constantFrom("n", "none"),
    max: fc.integer({ min: 0, max: 9 }),
    message,
    when,
  }),
);
const preset = fc.option(scalar, { nil: undefined });
const anyField = fc.record({ enum: fc.array(scalar, { minLength: 1 }), default: preset }, { requiredKeys: [] });
const anySchema = fc
  .record({
    own: fc.record({ a: anyField, b: anyField, c: anyField }, { requiredKeys: ["a"] }),
    list: fc.option(fc.record({ default: fc.integer({ min: 0, max: 5 }) }, { requiredKeys: [] }), { nil: undefined }),
    place: fc.constantFrom("properties", "allOf", "oneOf", "$ref"),
  })
  .map(({ own, list, place }): JsonSchema => {
    const items = { type: "object", properties: { n: { $ref: "#/$defs/n" } } };
    const properties = { ...own, ...(list !== undefined && { list: { type: "array", items } }) };
    const defs = { $defs: { n: list ?? {}, all: { properties } } };
    if (place === "properties") return { ...defs, properties };
    return place === "$ref" ? { ...defs, $ref: "#/$defs/all" } : { ...defs, [place]: [{ properties }] };
  });
const item = fc.oneof(
  fc.record({ n: fc.oneof(fc.integer({ min: 0, max: 9 }), fc.constant("x")) }, { requiredKeys: [] }),
  fc.constant(null),
);
const value = fc.oneof(scalar, fc.constant(null));
const anyInput = fc.record(
  { a: value, b: value, c: value, list: fc.oneof(fc.array(item, { maxLength: 4 }), value) },
  { requiredKeys: [] },
);

describe("planner and local service, each with code of its own", () => {
  test("come to the same verdict on any rules, schema and input", () => {
    let broken = 0;
    fc.assert(
      fc.property(fc.array(anyRule, { minLength: 1, maxLength: 4 }), anySchema, anyInput, (rules, schema, input) => {
        const told = familyProblems(schema, input as Json, rules);
        const inService = familyCheck(schema, rules)(input);
        const fields = (list: readonly { readonly field: string }[]) =>
          [...new Set(list.map(({ field }) => field))].sort();
        expect(fields(told)).toEqual(fields(inService));
        if (inService.length > 0) broken += 1;
      }),
      { numRuns: runs },
    );
    // About one in nine; what must not be is that hardly any rule applied.
    expect(broken).toBeGreaterThan(runs / 20);
  });

  test("agree on any film of a kling 3", async () => {
    const service = await start({ catalog: [entryOf("kling-3")] });
    const anyFilm = fc.record(
      {
        prompt: fc.constant("a boat"),
        multi_prompt: fc.array(
          fc.record(
            { prompt: fc.constant("x"), duration_ms: fc.constantFrom(1000, 5000, 8000, 15_000) },
            { requiredKeys: ["prompt"] },
          ),
          { minLength: 1, maxLength: 6 },
        ),
        quality: fc.constantFrom("standard", "pro"),
        resolution: fc.constantFrom("720p", "1080p", "4K"),
        shot_type: fc.constantFrom("customize", "intelligent"),
      },
      { requiredKeys: [] },
    );
    await fc.assert(
      fc.asyncProperty(anyFilm, async (more) => {
        const input = { ...film, ...more };
        const fields = (list: readonly { readonly field: string | null }[]) => list.map(({ field }) => field).sort();
        expect(fields(planned("kling-3", input))).toEqual(fields(await estimated(service, "kling-3", input)));
      }),
      { numRuns: Math.min(runs, 100) },
    );
  });
});
