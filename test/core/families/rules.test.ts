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
    expect(familyProblems(sized("720p", "4k"), pro("720p"), [tier])).toMatchObject([{ code: "enum", allowed: ["4k"] }]);
  });
});

const message = "do otherwise";
const listOf = (n: object) => ({ type: "array", items: { properties: { n } } });

/** Fields of every form that rules meet: enumerated, with a default, open, and a list. */
const FIELDS: JsonSchema = {
  properties: {
    a: { enum: ["x", "Y"] },
    b: { default: "y" },
    open: { anyOf: [{ enum: ["x"] }, { type: "string" }] },
    list: listOf({ default: 2 }),
  },
};
const needsA: FamilyRule = { kind: "requires", fields: ["a"], message };
const notBoth: FamilyRule = { kind: "forbids", fields: ["a"], when: { field: "open" }, message };
const one: FamilyRule = { kind: "one_of", fields: ["a", "open"], message };
const oneOrPreset: FamilyRule = { kind: "one_of", fields: ["a", "b"], message };
const ofX: FamilyRule = { kind: "values", field: "a", values: ["X"], message };
const whenB: FamilyRule = { kind: "requires", fields: ["a"], when: { field: "b", is: ["Y", 1] }, message };
const atMost5: FamilyRule = { kind: "max_sum", field: "list", of: "n", max: 5, message };

/** What the one judge says: of a rule and an input, the field and the code that are told; null for nothing. */
const VERDICTS: readonly (readonly [rule: object, input: object, verdict: string | null])[] = [
  [needsA, {}, "a required"],
  [needsA, { a: null }, "a required"],
  [needsA, { a: "x" }, null],
  [{ ...needsA, fields: ["b"] }, {}, null],
  [{ ...needsA, fields: ["a", "none"] }, {}, null],
  [notBoth, { a: "x", open: "z" }, "a exclusive"],
  [notBoth, { a: "x" }, null],
  [notBoth, { a: "x", open: null }, null],
  [{ ...notBoth, when: { field: "none" } }, { a: "x", none: 1 }, null],
  [one, {}, "a required"],
  [one, { a: "x", open: "z" }, "open exclusive"],
  [one, { open: "z" }, null],
  [oneOrPreset, {}, null],
  [oneOrPreset, { a: "x", b: "z" }, "b exclusive"],
  [ofX, { a: "x" }, null],
  [ofX, { a: "Y" }, "a enum"],
  [ofX, {}, null],
  [{ ...ofX, values: ["never"] }, { a: "Y" }, null],
  [{ ...ofX, field: "open" }, { open: "other" }, "open enum"],
  [{ ...ofX, field: "b" }, {}, "b enum"],
  [whenB, {}, "a required"],
  [whenB, { b: "z" }, null],
  [whenB, { b: 1 }, "a required"],
  [atMost5, { list: [{ n: 3 }, { n: 2 }] }, null],
  [atMost5, { list: [{ n: 4 }, {}] }, "list max_sum"],
  [atMost5, { list: [{ n: 5 }, null, "x", { n: "y" }] }, null],
  [atMost5, { list: "x" }, null],
  [{ ...atMost5, of: "none" }, { list: [{ n: 9 }] }, null],
];

/** The same fields as a schema may state them elsewhere than at its top. */
const PLACES: readonly (readonly [place: string, schema: JsonSchema])[] = [
  ["at the top", FIELDS],
  ["in allOf", { allOf: [FIELDS] }],
  ["in a branch", { oneOf: [FIELDS] }],
  ["behind a reference", { $ref: "#/$defs/all", $defs: { all: FIELDS } }],
];

describe("the one judge of planner and local service", () => {
  test.each(PLACES)("judges each rule by its table of verdicts, with the fields %s", (_, schema) => {
    const verdicts = VERDICTS.map(([rule, input]) => {
      const [first, ...more] = familyProblems(schema, input, [rule as FamilyRule]);
      expect(more).toEqual([]);
      return first === undefined ? null : `${first.field.replace("input.", "")} ${first.code}`;
    });
    expect(verdicts).toEqual(VERDICTS.map(([, , verdict]) => verdict));
  });

  test("names the values of what is missing and of what is wrong, where they are a closed set", () => {
    expect(familyProblems(FIELDS, {}, [needsA])).toMatchObject([{ allowed: ["x", "Y"] }]);
    expect(familyProblems(FIELDS, { a: "Y" }, [ofX])).toMatchObject([{ allowed: ["x"] }]);
    expect(familyProblems(FIELDS, {}, [{ ...needsA, fields: ["open"] } as FamilyRule])[0]).not.toHaveProperty(
      "allowed",
    );
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
