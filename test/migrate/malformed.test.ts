import { truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type MigrationReport, migrateV2, migrateV2File } from "../../src/migrate/index.ts";
import { readV2File } from "../../src/migrate/read/read-file.ts";
import { ownCatalog } from "../support/built-in-catalog.ts";
import { isFull } from "../support/sample.ts";
import { newFolder } from "../support/temporary-folder.ts";
import { anyBody } from "./support/arbitraries.ts";

const catalog = ownCatalog();
const folder = newFolder();

const good = { type: "image", text_prompt: "a lighthouse" };

/** Each problem as `place line:column message`. */
function said({ problems }: MigrationReport): readonly string[] {
  return problems.map(({ at, line, column, message }) => `${at} ${line}:${column} ${message}`);
}

const report = (text: string) => migrateV2(text, { catalog }).report;

describe("a document that holds no bodies", () => {
  test.each<[name: string, text: string, message: string]>([
    ["nothing", " \n ", "the document 1:1 the text is empty"],
    [
      "HTML",
      "\n <!doctype html>",
      "the document 2:2 is HTML or XML, not JSON; it may be an error page saved instead of the bodies",
    ],
    ["no JSON", '{\n  "type": image\n}', "the document 2:11 is not valid JSON: Unexpected token 'i'"],
    [
      "cut-off JSON",
      '[{"type": "image"',
      "the document 1:18 is not valid JSON: Expected ',' or '}' after property value",
    ],
    ["a number", "7", "body 1 1:1 is a number, not a v2 body; a body is an object with a type"],
    ["an empty list", "[]", "the document 1:1 the list is empty; provide at least one v2 body"],
    [
      "a v3 body",
      '{"input": {"prompt": "x"}, "idempotency_key": "k"}',
      "body 1 1:1 is a v3 request or response, so there is nothing to migrate; you can use the request's input as is in a pipeline",
    ],
    [
      "what v2 answers to a bad body",
      '{"detail": [{"loc": ["body"], "msg": "bad", "type": "x"}]}',
      "body 1 1:1 is a v2 error response, not a request body; pass the body that was sent",
    ],
    [
      "a flow that calls nothing",
      '{"nodes": [{"name": "Wait"}]}',
      "the flow 1:11 no node calls v2's POST /generations endpoint",
    ],
  ])("%s: says what and where", (_name, text, message) => {
    expect(said(report(text))).toEqual([message]);
    expect(migrateV2(text, { catalog })).toMatchObject({ source: null });
  });
});

describe("bad bodies beside good ones", () => {
  test("a key that stands twice is told; what a parser forgets is not dropped in silence", () => {
    const twice = '[\n  {"type": "image", "text_prompt": "one",\n   "text_prompt": "two", "a": {"type": 1}}\n]';
    expect(said(report(twice))).toEqual([
      'the document 3:4 "text_prompt" appears twice in one object; only the last one is migrated',
    ]);
    const lines = `${JSON.stringify(good)}\n{"type": "image", "seed": 1, "se\\u0065d": 2, "text_prompt": "x"}`;
    expect(said(report(lines))).toEqual([
      'line 2 2:30 "seed" appears twice in one object; only the last one is migrated',
    ]);
  });

  test("a broken list is told as a list, although its last line could stand alone", () => {
    expect(said(report('[\n{"type": "image"},\n{"type": oops},\n{"type": "image", "text_prompt": "x"}\n]'))).toEqual([
      "the document 3:10 is not valid JSON: Unexpected token 'o'",
    ]);
  });

  test("are told one by one with line, column and field; the good ones are migrated", () => {
    const text = JSON.stringify(
      [
        good,
        { type: "image" },
        { type: "sculpture", text_prompt: "x" },
        { type: "image", text_prompt: 3, seed: 1.5 },
        {
          type: "video",
          generated_video_inputs: { text_prompt: "x", multi_prompt: [{ prompt: "a", duration_ms: 100 }] },
        },
        "no body",
        { type: "text_to_speech", voice_id: "v", text: "x", stability: 2 },
        good,
      ],
      null,
      2,
    );
    const { report: found } = migrateV2(text, { catalog });
    expect(found.steps.map(({ name }) => name)).toEqual(["image-1", "image-7"]);
    const types =
      "the types are image, image_to_image, video, text_to_speech, text_to_sound, speech_to_speech, voice_clone, " +
      "audio_isolation, image_upscale, video_upscale, video_to_video, motion_control";
    expect(said(found)).toEqual([
      "body 2 6:3 text_prompt is required",
      `body 3 10:13 "sculpture" is not a v2 body type; ${types}`,
      "body 4 15:20 text_prompt must be text, not the number 3",
      "body 4 16:13 seed must be a whole number, not the number 1.5",
      "body 5 25:26 generated_video_inputs.multi_prompt[0].duration_ms is 100; v2 accepts 3000 to 15000",
      "body 6 30:3 is a string, not a v2 body; a body is an object with a type",
      "body 7 35:18 stability is 2; v2 accepts 0 to 1",
    ]);
  });

  test("JSON Lines: a bad line is a problem of that line alone", () => {
    const lines = [
      JSON.stringify(good),
      "{oops",
      "",
      JSON.stringify({ type: "image", text_prompt: 1 }),
      JSON.stringify(good),
    ];
    const { report: found } = migrateV2(lines.join("\n"), { catalog });
    expect(found.format).toBe("lines");
    expect(found.steps.length).toBe(2);
    expect(said(found)).toEqual([
      "line 2 2:2 is not valid JSON: Expected property name or '}'",
      "line 4 4:31 text_prompt must be text, not the number 1",
    ]);
  });

  test("ids that run in a circle are named with their fields; what hangs on them becomes a file to supply", () => {
    const [a, b, c] = ["a", "b", "c"].map((one) => `${one.repeat(8)}-0000-4000-8000-000000000000`);
    const image = (reserved: string | undefined, uses: string | undefined) => ({
      ...good,
      reserved_asset_id: reserved,
      reference_image_ids: [uses],
    });
    const { report: found } = migrateV2(JSON.stringify([image(a, b), image(b, a), image(c, c), image(undefined, a)]), {
      catalog,
    });
    expect(found.problems.map(({ code, message }) => [code, message.replace(/^.*: /, "")])).toEqual([
      ["cyclic-ids", "body 1 (reference_image_ids[0]) → body 2 (reference_image_ids[0]) → body 1"],
      ["cyclic-ids", "body 3 (reference_image_ids[0]) → body 3"],
    ]);
    expect(found.steps.map(({ name }) => name)).toEqual(["image-4"]);
    expect(found.inputs).toMatchObject([{ is: "file", kind: "image" }]);
  });

  test("a field that v2 does not know is dropped with a hint, not in silence", () => {
    const [body] = report(JSON.stringify({ ...good, negative_promt: "x", __proto__x: { deep: [1] } })).bodies;
    expect(body?.fields.filter(({ outcome }) => outcome === "dropped").map(({ field, why }) => [field, why])).toEqual([
      ["negative_promt", "image has no such field in v2; did you mean negative_prompt?"],
      ["__proto__x", "image has no such field in v2"],
    ]);
  });

  test("names like those of object prototypes are fields as any other", () => {
    const text = '{"type": "image", "text_prompt": "x", "__proto__": 1, "constructor": {"a": 2}, "toString": 3}';
    const fields = report(text).bodies[0]?.fields.map(({ field }) => field);
    expect(fields).toEqual(expect.arrayContaining(["__proto__", "constructor", "toString"]));
  });
});

describe("hostile input", () => {
  test("slugs, languages and voices named like members of object prototypes are unknown ones", () => {
    for (const name of ["constructor", "__proto__", "toString", "vendor/hasOwnProperty"]) {
      const { bodies, problems } = report(
        JSON.stringify([
          { ...good, model_slug: name, resolution: name, aspect_ratio: name },
          { type: "text_to_speech", voice_id: name, text: "x", language: name },
        ]),
      );
      expect(problems).toEqual([]);
      const outcome = (field: string) =>
        bodies.flatMap(({ fields }) => fields).find((one) => one.field === field)?.outcome;
      expect([name, outcome("model_slug"), outcome("language")]).toEqual([name, "decision", "decision"]);
    }
  });

  test("a batch size on a type that has none makes no jobs", () => {
    const { bodies, steps } = report(
      JSON.stringify({ type: "text_to_speech", voice_id: "v", text: "x", batch_size: 1e9 }),
    );
    expect(steps.length).toBe(1);
    expect(bodies[0]?.fields.find(({ field }) => field === "batch_size")).toMatchObject({ outcome: "dropped" });
  });

  test("braces that open and never close are text, a million of them", () => {
    const braces = "{{".repeat(500_000);
    const flow = {
      nodes: [
        { name: "a", parameters: { method: "POST", url: `https://x/generations${braces}`, jsonBody: "{}" } },
        {
          name: "b",
          parameters: {
            method: "POST",
            url: "https://x/generations",
            jsonBody: `={"type": "image", "text_prompt": "${braces}"}`,
          },
        },
      ],
    };
    expect(report(JSON.stringify({ ...good, text_prompt: `{{a}} ${braces}` })).bodies.length).toBe(1);
    expect(migrateV2(flow, { catalog }).report.steps.length).toBe(1);
  });

  test("bodies that v2 would refuse stand in the report as they were, every field once", () => {
    const refused = { type: "image", text_prompt: 3, seed: 1, extra: { a: [1] } };
    const { bodies } = report(JSON.stringify([refused, { type: "sculpture", x: 1 }]));
    expect(bodies.map(({ status, body }) => [status, body])).toEqual([
      ["refused", refused],
      ["refused", { type: "sculpture", x: 1 }],
    ]);
    expect(bodies[0]?.fields.map(({ field, outcome }) => [field, outcome])).toEqual(
      Object.keys(refused).map((key) => [key, "dropped"]),
    );
  });
});

describe("sizes", () => {
  const file = (name: string, text: string | Uint8Array) => {
    const path = join(folder, name);
    writeFileSync(path, text);
    return path;
  };

  test("a JSON document over the size is refused by its size before it is read", async () => {
    const path = file("large.json", JSON.stringify([good]));
    truncateSync(path, 50 * 1024 * 1024);
    const { report: found } = await migrateV2File(path, { catalog });
    expect(found.problems).toMatchObject([{ code: "too-large", line: 1 }]);
    expect(found.problems[0]?.message).toMatch(
      /^is 52428800 bytes; a JSON document can be at most 33554432\. Split it, or write it as JSON Lines/,
    );
  });

  test("JSON Lines of more bytes than a document may have are read line by line, and a line that is too long is named", async () => {
    const line = JSON.stringify({ ...good, text_prompt: "x".repeat(10_000) });
    const lines = Array.from({ length: 350 }, (_, index) => (index === 300 ? `${line}${" ".repeat(500_000)}` : line));
    const path = file("large.jsonl", lines.join("\n"));
    const read = await readV2File(path, { maxBytes: 3_000_000, maxLineBytes: 400_000 });
    expect(read.sources.length).toBe(349);
    expect(read.problems).toMatchObject([{ code: "too-large", line: 301, column: 1 }]);
  });

  test("bodies beyond what one pipeline holds are counted and told", async () => {
    const lines = `${JSON.stringify(good)}\n`.repeat(30);
    const cut = await readV2File(file("many.jsonl", lines), { maxBytes: 100, maxLines: 20 });
    expect(cut.sources.length).toBe(20);
    expect(cut.problems).toMatchObject([{ code: "too-many-bodies", line: 21 }]);
    const { report: found } = migrateV2(
      Array.from({ length: 7 }, () => good),
      { catalog, maxBodies: 5 },
    );
    expect(found.steps.length).toBe(5);
    expect(found.problems.map(({ at, message }) => `${at} ${message}`)).toEqual([
      "body 6 is the first of 2 bodies that exceed the limit of 5 per pipeline; split the document",
    ]);
  });

  test("bytes that are no UTF-8 are told with their line; UTF-16 and a byte order mark are read", async () => {
    const binary = Buffer.concat([Buffer.from('[\n{"type": "'), Buffer.from([0xff, 0xfe, 0x00]), Buffer.from('"}]')]);
    expect((await readV2File(file("binary.json", binary))).problems).toMatchObject([{ code: "not-json", line: 2 }]);
    const text = JSON.stringify(good);
    const marked = await readV2File(file("bom.json", `\uFEFF${text}`));
    const wide = await readV2File(file("utf16.json", Buffer.from(`\uFEFF${text}`, "utf16le")));
    expect([marked.sources.length, wide.sources.length]).toEqual([1, 1]);
  });

  test("a file that is not there is an error that says so", async () => {
    await expect(readV2File(join(folder, "none.json"))).rejects.toMatchObject({ code: "V2_FILE" });
    await expect(readV2File(folder)).rejects.toThrow(/is not a file/);
  });

  test("ten thousand bodies nested in chains, and lists nested ten thousand deep, need no deep stack", () => {
    const id = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`;
    const chain = Array.from({ length: 10_000 }, (_, n) => ({
      ...good,
      reserved_asset_id: id(n),
      reference_image_ids: [id(n + 1)],
    }));
    const { report: found } = migrateV2(chain, { catalog });
    expect([found.steps.length, found.problems]).toEqual([10_000, []]);
    expect(found.steps[0]?.name).toBe("image-10000");
    const deep = `{"type": "image", "text_prompt": "x", "extra": ${"[".repeat(10_000)}${"]".repeat(10_000)}}`;
    expect(report(deep).problems).toMatchObject([{ code: "too-deep", line: 1, column: 1 }]);
  });
});

test("no document whatsoever makes it throw, and every problem says something", () => {
  const damaged = fc
    .tuple(fc.array(anyBody, { maxLength: 3 }), fc.nat(400), fc.constantFrom("", "x", '"', "}", "\n", "\u0000"))
    .map(([bodies, at, put]) => {
      const text = JSON.stringify(bodies, null, 1);
      return text.slice(0, at) + put + text.slice(at + 1);
    });
  const shuffled = fc.jsonValue({ maxDepth: 4 }).map((value) => JSON.stringify(value));
  const typed = fc.tuple(anyBody, fc.jsonValue({ maxDepth: 2 }), fc.nat(20)).map(([body, value, at]) => {
    const entries = Object.entries(body);
    return JSON.stringify(
      Object.fromEntries(entries.map(([key, one], index) => [key, index === at % entries.length ? value : one])),
    );
  });
  fc.assert(
    fc.property(fc.oneof(damaged, shuffled, typed, fc.string()), (text) => {
      const { report: found, source } = migrateV2(text, { catalog });
      expect(source === null).toBe(found.steps.length === 0);
      if (found.bodies.length === 0) expect(found.problems.length).toBeGreaterThan(0);
      for (const { message, line } of found.problems) {
        expect(message.length).toBeGreaterThan(5);
        expect(line).toBeGreaterThan(0);
      }
    }),
    { ...(process.env.SHOWRUNNER_TEST_RUNS === undefined && { seed: 20_261_121 }), numRuns: isFull ? 400 : 50 },
  );
});
