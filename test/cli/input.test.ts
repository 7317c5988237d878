import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { values } from "../../src/cli/input/flag-values.ts";
import { readInput } from "../../src/cli/input/read-input.ts";
import { parseJson } from "../../src/core/kit/json-text.ts";

const folder = mkdtempSync(join(tmpdir(), "showrunner-input-"));
const here = { cwd: folder, ask: null };

describe("--input and -i", () => {
  test("no flag gives an empty object", async () => {
    expect(await readInput({}, here)).toEqual({});
  });

  test("a file is read relative to the working directory", async () => {
    writeFileSync(join(folder, "in.json"), '\uFEFF{"look": "a sailor"}');
    expect(await readInput({ input: "@in.json" }, here)).toEqual({ look: "a sailor" });
  });

  test("-i overrides the input: text with =, JSON with :=, dots into objects", async () => {
    const i = ["look=a = b", "takes:=3", "voice.name=ann", "voice.tags:=[1]"];
    expect(await readInput({ input: '{"look": "x", "keep": true}', i }, here)).toEqual({
      look: "a = b",
      keep: true,
      takes: 3,
      voice: { name: "ann", tags: [1] },
    });
  });

  test("-i reads a table by the names in its first line, and JSON; other text may begin with @", async () => {
    writeFileSync(join(folder, "products.csv"), '\uFEFFsku, look\nmug,a blue mug\n\ncap,"a cap, red"\n');
    writeFileSync(join(folder, "takes.json"), "[1, 2]");
    const i = ["products=@products.csv", "takes=@takes.json", "handle=@ann"];
    expect(await readInput({ i }, here)).toEqual({
      products: [
        { sku: "mug", look: "a blue mug" },
        { sku: "cap", look: "a cap, red" },
      ],
      takes: [1, 2],
      handle: "@ann",
    });
  });

  test("a table whose row lacks a cell is refused with its line", async () => {
    writeFileSync(join(folder, "short.csv"), "sku,look\nmug\n");
    await expect(readInput({ i: ["products=@short.csv"] }, here)).rejects.toThrow(
      /short\.csv has mistakes:\n {2}line 2: has 1 cell, but the header has 2/,
    );
    await expect(readInput({ i: ["products=@none.csv"] }, here)).rejects.toThrow(/none\.csv does not exist/);
  });

  test("a value may hold line breaks", async () => {
    expect(await readInput({ i: ["script=one\ntwo"] }, here)).toEqual({ script: "one\ntwo" });
  });

  test("a name has at most 100 dotted levels, and one of 20,000 is refused, not followed", async () => {
    const levels = (count: number) => [`${Array(count).fill("a").join(".")}=x`];
    let value: unknown = await readInput({ i: levels(100) }, here);
    for (let level = 0; level < 100; level++) value = (value as { readonly a: unknown }).a;
    expect(value).toBe("x");
    for (const count of [101, 20_000]) {
      const refusal = readInput({ i: levels(count) }, here);
      await expect(refusal).rejects.toMatchObject({
        message: expect.stringContaining(`has ${count} levels; the maximum is 100`),
        next: "set the whole value with :=",
      });
    }
  });

  test("an assignment to __proto__ sets a field and nothing else", async () => {
    const input = await readInput({ i: ["__proto__.polluted=yes"] }, here);
    expect(Object.hasOwn(input as object, "__proto__")).toBe(true);
    expect(({} as { polluted?: string }).polluted).toBeUndefined();
  });

  test.each([
    ['{"a":1,}', "line 1, column 8"],
    ['{"a": nope}', "line 1, column 8"],
    ['{\n  "a": 1\n  "b": 2\n}', "line 3, column 3"],
    ["", "line 1, column 1"],
    ['{"a": "open', "line 1, column 12"],
  ])("bad JSON %j names the place: %s", async (input, place) => {
    await expect(readInput({ input }, here)).rejects.toThrow(place);
  });

  test("bad JSON in a file names the file and marks the mistake with a caret", async () => {
    writeFileSync(join(folder, "bad.json"), '{"look": x}');
    await expect(readInput({ input: "@bad.json" }, here)).rejects.toThrow(
      /bad\.json is not.*\n {2}\{"look": x\}\n {11}\^/,
    );
  });

  test.each([
    [{ input: "@none.json" }, "does not exist"],
    [{ i: ["look"] }, "is not an assignment"],
    [{ i: ["a:={"] }, "-i a is not valid JSON"],
    [
      { i: ["a:=1e999"] },
      "-i a has an unusable value at line 1, column 1: 1e999 is too large to be stored as a number",
    ],
    [{ input: '{"b": "1e999", "a": [1, -1e999]}' }, "at line 1, column 25: -1e999 is too large"],
    [{ input: `${"[".repeat(1500)}${"]".repeat(1500)}` }, "column 501: is nested deeper than 500 levels"],
    [{ input: "[1]", i: ["a=b"] }, "--input is not an object"],
    [{ i: ["a=b", "a.c=d"] }, "which is not an object"],
  ])("%j is refused: %s", async (flags, message) => {
    await expect(readInput(flags, here)).rejects.toMatchObject({
      code: "INPUT_INVALID",
      message: expect.stringContaining(message),
      next: expect.any(String),
    });
  });

  test("the position named is where the text stops being JSON", () => {
    fc.assert(
      fc.property(fc.json(), fc.nat(), (json, seed) => {
        const at = seed % (json.length + 1);
        const outcome = parseJson(`${json.slice(0, at)}@${json.slice(at)}`);
        if ("value" in outcome) return; // inside a string anything goes
        expect(outcome.mistake.line).toBe(1);
        expect(outcome.mistake.column).toBeLessThanOrEqual(at + 1);
      }),
    );
  });
});

describe("--concurrency", () => {
  test("is a number, or limits by name", () => {
    expect(values.limits("--concurrency", "8")).toBe(8);
    expect(values.limits("--concurrency", "total=8,video=2")).toEqual({ total: 8, video: 2 });
  });

  test.each(["", "0", "video", "video=0", "-1", "1.5"])("%j is refused", (text) => {
    expect(() => values.limits("--concurrency", text)).toThrow("a limit must be a whole number of jobs, at least 1");
  });
});
