import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { combinationProblems, combinationTable } from "../../../src/core/catalog/combination-table.ts";
import { draft, pipeline } from "../../../src/core/define/index.ts";
import type { FamilyInput } from "../../../src/core/families/index.ts";
import { type JsonSchema, makePlan } from "../../../src/core/plan/index.ts";
import type { Json } from "../../../src/core/plan/plan.ts";
import { ask, start } from "../../local-service/support/service.ts";
import { tableText } from "../../support/large-catalog/index.ts";
import { catalogWith, entryOf } from "../families/support.ts";

const runs = Number(process.env.SHOWRUNNER_TEST_RUNS ?? 100);
const HEADING = "Accepted field combinations (one per input mode):";
const picture = {
  type: "object",
  media_type: "image",
  role: "reference",
  discriminator: { propertyName: "source" },
  oneOf: [
    { type: "object", properties: { source: { const: "url" }, url: { type: "string" } }, required: ["source", "url"] },
    { type: "object", properties: { source: { const: "asset" }, asset_id: {} }, required: ["source", "asset_id"] },
  ],
};
const asset = { source: "asset", asset_id: "asset_00000000-0000-4000-8000-000000000000" };

/** A film model with two levels, as services publish them. */
const film = (rows: readonly string[], more: object = {}): JsonSchema => ({
  type: "object",
  additionalProperties: false,
  description: `A film.\n\n${HEADING}\n${rows.join("\n")}`,
  required: ["duration_ms"],
  properties: {
    prompt: { type: "string" },
    duration_ms: { type: "integer", enum: [6000, 10_000] },
    quality: { type: "string", enum: ["standard", "pro"], default: "standard" },
    resolution: { type: "string", enum: ["720p", "1080p", "4K"] },
    multi_prompt: { type: "array", items: { type: "object", properties: { duration_ms: { type: "integer" } } } },
    start_image: picture,
    images: { type: "array", items: picture },
    ...more,
  },
});
const ROWS = [
  "(1) requires: start_image; must omit: images; accepts quality: pro; resolution: 1080p | 4K",
  "(2) requires: images; must omit: start_image; accepts quality: standard; resolution: 720p",
];

function planned(input: object, schema: JsonSchema, { id = "reel-1", families = [] as readonly FamilyInput[] } = {}) {
  const made = makePlan(
    draft(
      pipeline("p", {
        input: z.unknown(),
        build: ({ job }) => ({ film: job("film", id, input as { readonly [field: string]: Json }) }),
      }),
      {},
    ).draft!,
    { catalog: catalogWith([entryOf(id, schema)], families), files: new Map() },
  );
  return made.ok ? [] : made.problems;
}

const pro = { duration_ms: 6000, start_image: asset, quality: "pro" };

describe("a published table of combinations", () => {
  test.each([
    [{ ...pro, resolution: "4K" }],
    [{ ...pro, resolution: "4k" }, film(ROWS, { resolution: { type: "string", enum: ["4k"] } })],
    // What a row accepts may be left out.
    [pro],
    [{ duration_ms: 6000, images: [asset] }],
    [{ duration_ms: 6000, images: [asset], quality: null, prompt: "x" }, film(ROWS, { quality: {} })],
  ])("accepts %j, which a row does", (input, schema = film(ROWS)) => {
    expect(planned(input, schema)).toEqual([]);
  });

  test("refuses what no row accepts with the field and the nearest rows", () => {
    const message = (rows: string) =>
      `the fields do not match any of the 2 combinations that reel-1 accepts; nearest: ${rows}`;
    expect(planned({ ...pro, resolution: "720p" }, film(ROWS))).toEqual([
      {
        code: "combination-table",
        step: "film",
        field: "input.resolution",
        message: message(
          '(1) needs resolution 1080p or 4K, not "720p"; (2) needs images and does not allow start_image and needs quality standard, not "pro"',
        ),
        allowed: ["1080p", "4K"],
      },
    ]);
    expect(planned({ duration_ms: 6000 }, film(ROWS))).toMatchObject([
      { code: "combination-table", field: "input.images", message: expect.stringContaining("(2) needs images; (1)") },
    ]);
    expect(planned({ ...pro, images: [asset] }, film(ROWS))).toMatchObject([{ field: "input.images" }]);
  });

  test("says that a default is what stands against every row", () => {
    const wrong = { duration_ms: 6000, start_image: asset };
    expect(planned(wrong, film(ROWS))).toMatchObject([
      {
        code: "combination-by-default",
        field: "input.quality",
        message: expect.stringContaining('(1) needs quality pro, not "standard", its default'),
      },
    ]);
  });

  test("is told beside what the schema says, and never of a field that the schema refuses already", () => {
    const { duration_ms: _, ...short } = pro;
    expect(planned({ ...short, resolution: "720p" }, film(ROWS)).map(({ code }) => code)).toEqual([
      "required",
      "combination-table",
    ]);
    expect(planned({ ...pro, resolution: "8K" }, film(ROWS)).map(({ code }) => code)).toEqual(["enum"]);
  });

  test("counts results that do not exist yet as given, whatever their value", () => {
    const made = (build: Parameters<typeof pipeline>[1]["build"]) => {
      const drafted = draft(pipeline("p", { input: z.unknown(), build }), {}).draft!;
      const still: JsonSchema = { type: "object", properties: { prompt: { type: "string" } } };
      const catalog = catalogWith([entryOf("reel-1", film(ROWS)), entryOf("still-1", still, "image")]);
      const outcome = makePlan(drafted, { catalog, files: new Map() });
      return outcome.ok ? [] : outcome.problems.map(({ step, code, field }) => `${step} ${code} ${field}`);
    };
    const said = made(({ job, chat }) => {
      const still = job("still", "still-1", { prompt: "x" });
      const size = chat(
        "size",
        "chat-1",
        { prompt: "x" },
        { schema: z.object({ size: z.string(), level: z.string() }) },
      );
      const rest = { duration_ms: 6000, resolution: size.at("size"), quality: size.at("level") };
      return {
        fine: job("fine", "reel-1", { ...rest, start_image: still } as never),
        both: job("both", "reel-1", { ...rest, start_image: still, images: [still] } as never),
        none: job("none", "reel-1", rest as never),
      };
    });
    expect(said).toEqual(["both combination-table input.images", "none combination-table input.start_image"]);
  });

  test.each([
    ["(2) needs images"],
    ["(2) requires: images, ; must omit: start_image"],
    ["(2) requires: images; omit: start_image"],
    ["(2) requires: images; accepts quality"],
    ["(2) requires: images; accepts quality: pro |"],
    ["(2) requires: images; accepts quality: pro; quality: standard"],
    ["(2) requires: images; accepts resolution: 720p;"],
  ])("with the row %j refuses nothing: an input may fulfil just that one", (row) => {
    const schema = film([ROWS[0]!, row]);
    expect(combinationTable(schema)).toMatchObject({ unread: [row], isWhole: false });
    expect(planned({ duration_ms: 6000 }, schema)).toEqual([]);
  });

  test("that cannot be read is said by the local service once, and refuses nothing there", async () => {
    const schema = film([ROWS[0]!, "(2) needs images"]);
    const service = await start({ catalog: [entryOf("reel-1", schema)] });
    const { status } = await ask(service, "POST", "/models/reel-1/estimate", {
      body: { input: { duration_ms: 6000 } },
    });
    expect(status).toBe(200);
    expect(service.stats().unread_tables).toEqual([expect.stringMatching(/reel-1's .*\(2\) needs images/)]);
  });

  test("ends at an empty line, and a line without a number is no row of it", () => {
    const ended = film([...ROWS, "Defaults count.", "", "(3) anything"]);
    expect(combinationTable(ended)).toMatchObject({ unread: ["Defaults count."], isWhole: true });
    expect(planned({ duration_ms: 6000 }, ended)).toHaveLength(1);
    expect(combinationTable(film([]))).toMatchObject({ rows: [] });
    expect(planned({ duration_ms: 6000 }, film([]))).toEqual([]);
    expect(combinationTable({ description: "Which field combinations are accepted: see (1)" })).toBeNull();
  });

  test("with more rows than a check may read refuses nothing", () => {
    const endless = film(Array.from({ length: 501 }, (_, index) => `(${index + 1}) requires: start_image`));
    expect(planned({ duration_ms: 6000 }, endless)).toEqual([]);
    expect(combinationTable(endless)).toMatchObject({ unread: ["(501) requires: start_image"], isWhole: false });
  });

  test("is refused by the local service, estimate and submit, with every field of the nearest row", async () => {
    const service = await start({ catalog: [entryOf("reel-1", film(ROWS))] });
    for (const path of ["/models/reel-1/estimate", "/models/reel-1"]) {
      const { status, body } = await ask(service, "POST", path, { body: { input: { duration_ms: 6000 } } });
      expect([status, body.error.code, body.error.param]).toEqual([400, "INVALID_ARGUMENT", "input.images"]);
      expect(body.error.details).toEqual([
        {
          field: "input.images",
          message: "input.images: is required in this combination",
          reason: "combination",
          allowed: null,
        },
      ]);
    }
    expect(service.stats()).toMatchObject({ jobs_created: 0, unread_tables: [] });
  });
});

describe("rules of a family", () => {
  const asked = { duration_ms: 6000, images: [asset], resolution: "720p" };

  test("that are built in yield to the table: kling without a prompt", async () => {
    const service = await start({ catalog: [entryOf("kling-3", film(ROWS)), entryOf("kling-26", film(ROWS))] });
    for (const id of ["kling-3", "kling-26"]) {
      expect(planned(asked, film(ROWS), { id })).toEqual([]);
      const { body } = await ask(service, "POST", `/models/${id}/estimate`, { body: { input: { ...asked } } });
      expect(body.error?.details.map(({ reason }: { reason: string }) => reason)).toEqual(["not_found"]);
    }
  });

  test("that are built in keep what no table says: a sum", () => {
    const long = { ...asked, multi_prompt: [{ duration_ms: 10_000 }, { duration_ms: 6000 }] };
    expect(planned(long, film(ROWS), { id: "kling-3" })).toMatchObject([{ code: "max_sum" }]);
  });

  test("that a file gives hold beside it", () => {
    const rules = [{ kind: "requires" as const, fields: ["prompt"], message: "house rule" }];
    expect(planned(asked, film(ROWS), { id: "kling-3", families: [{ name: "kling-3", rules }] })).toMatchObject([
      { code: "required", field: "input.prompt" },
    ]);
  });
});

const names = ["a", "b", "c", "d_1"] as const;
const values = ["x", "X", "16:9", "6000", "true"] as const;
const list = fc.uniqueArray(fc.constantFrom(...names), { minLength: 1, maxLength: 3 });
const accepted = fc.dictionary(
  fc.constantFrom(...names),
  fc.uniqueArray(fc.constantFrom(...values), { minLength: 1, maxLength: 3 }),
  { maxKeys: 3 },
);
const anyRow = fc.record({ requires: list, omits: fc.oneof(fc.constant([]), list), accepts: accepted });
const anyRows = fc.array(anyRow, { minLength: 1, maxLength: 5 });

describe("the judge of planner and local service", () => {
  test("a table is read as it was written", () => {
    fc.assert(
      fc.property(anyRows, (rows) => {
        const table = combinationTable({ description: `Words.\n\n${tableText(rows)}\n\nMore words.` })!;
        expect(table).toMatchObject({ unread: [], isWhole: true });
        const read = table.rows.map(({ requires, omits, accepts }) => ({
          ...{ requires, omits },
          accepts: Object.fromEntries(accepts),
        }));
        expect(read).toEqual(rows);
      }),
      { numRuns: runs },
    );
  });

  test("refuses an input exactly where no row holds, and names a field of the nearest row", () => {
    const value = fc.constantFrom<Json>("x", "y", "16:9", 6000, true, null);
    const anyInput = fc.record({ a: value, b: value, c: value, d_1: value }, { requiredKeys: [] });
    const presets = fc.record({ a: value, b: value, c: value }, { requiredKeys: [] });
    const verdicts = { fine: 0, refused: 0 };
    fc.assert(
      fc.property(anyRows, anyInput, presets, (rows, input, given) => {
        const own = input as Record<string, Json>;
        const preset = (name: string) => (given as Record<string, Json>)[name] ?? null;
        const effective = (name: string) => own[name] ?? preset(name);
        const missesOf = ({ requires, omits, accepts }: (typeof rows)[number]): readonly string[] => [
          ...requires.filter((name) => effective(name) === null),
          ...(omits as readonly string[]).filter((name) => (own[name] ?? null) !== null),
          ...Object.entries(accepts).flatMap(([name, allowed]) => {
            const now = String(effective(name) ?? allowed[0]).toLowerCase();
            return allowed.some((one) => one.toLowerCase() === now) ? [] : [name];
          }),
        ];
        const misses = rows.map(missesOf).sort((a, b) => a.length - b.length);
        const schema = {
          description: tableText(rows),
          properties: Object.fromEntries(names.map((name) => [name, { default: preset(name) }])),
        };
        const said = combinationProblems({ id: "m", inputSchema: schema }, input, { pending: [], free: new Set() });
        expect(said.length).toBe(misses[0]!.length > 0 ? 1 : 0);
        const nearest = misses.filter(({ length }) => length === misses[0]!.length).flat();
        for (const { field } of said) expect(nearest.map((name) => `input.${name}`)).toContain(field);
        verdicts[said.length > 0 ? "refused" : "fine"] += 1;
      }),
      { numRuns: runs },
    );
    expect(Math.min(verdicts.fine, verdicts.refused)).toBeGreaterThan(runs / 10);
  });

  test("reads any broken table without an error", () => {
    const spoil = fc.tuple(
      fc.nat(),
      fc.constantFrom("", ";", ",", "|", ":", "\n", "\n\n", " ", "\t", "requires:", "(9) "),
    );
    fc.assert(
      fc.property(anyRows, spoil, (rows, [place, mark]) => {
        const text = tableText(rows);
        const at = place % text.length;
        const table = combinationTable({ description: text.slice(0, at) + mark + text.slice(at) });
        expect((table?.rows.length ?? 0) + (table?.unread.length ?? 0)).toBeLessThanOrEqual(rows.length + 1);
      }),
      { numRuns: runs },
    );
  });
});
