import fc from "fast-check";
import { expect, test } from "vitest";
import { validateInput } from "../../../src/core/catalog/catalog.ts";
import { readPattern } from "../../../src/core/catalog/validate/ajv.ts";
import { BEYOND, EXPLOSIVE, patterns, SPELLINGS, texts } from "../../support/patterns.ts";
import { isFull } from "../../support/sample.ts";

test("a plan checks a text against a pattern that explodes by backtracking in time that grows with the text [bounded patterns]", () => {
  for (const [pattern, text] of EXPLOSIVE) {
    const inputSchema = { type: "object", properties: { prompt: { type: "string", pattern } } };
    const problems = validateInput({ id: "m", inputSchema }, { prompt: text });
    expect([pattern, problems.map(({ code }) => code)]).toEqual([pattern, ["pattern"]]);
  }
});

test("spellings that the two engines differ in mean what JavaScript means by them", () => {
  for (const [pattern, text, fits] of SPELLINGS) {
    const { matcher, isLinear } = readPattern(pattern);
    expect([pattern, isLinear, matcher.test(text)]).toEqual([pattern, true, fits]);
  }
});

test("any pattern of the common grammar has the answer that JavaScript gives", () => {
  fc.assert(
    fc.property(patterns, texts, (pattern, text) => {
      expect([pattern, text, readPattern(pattern).matcher.test(text)]).toEqual([
        pattern,
        text,
        new RegExp(pattern).test(text),
      ]);
    }),
    { numRuns: isFull ? 30_000 : 300 },
  );
});

test("a pattern beyond the linear engine is checked too, and given up with a problem that says why", () => {
  for (const pattern of BEYOND) expect([pattern, readPattern(pattern).isLinear]).toEqual([pattern, false]);
  const inputSchema = { type: "object", properties: { prompt: { type: "string", pattern: "^(?=(a+)+$)a*$" } } };
  expect(validateInput({ id: "m", inputSchema }, { prompt: "aaa" })).toEqual([]);
  const [problem] = validateInput({ id: "m", inputSchema }, { prompt: `${"a".repeat(5000)}!` });
  expect(problem).toMatchObject({ code: "model-schema", message: expect.stringContaining("takes more than 1000 ms") });
});

test("two patterns of one schema stay two", () => {
  const inputSchema = {
    type: "object",
    properties: { a: { type: "string", pattern: "^x+$" }, b: { type: "string", pattern: "^y+$" } },
  };
  const problems = validateInput({ id: "m", inputSchema }, { a: "yy", b: "yy" });
  expect(problems.map(({ field }) => field)).toEqual(["input.a"]);
});
