import { describe, expect, test } from "vitest";
import { failurePolicy, OptionReader } from "../../../src/core/define/steps/options.ts";

/** A reader of the options of a step, with what it reports. */
function read(options: unknown, inherited: object = {}) {
  const said: string[] = [];
  const recorder = {
    report: ({ code, field, message }: { code: string; field: string; message: string }) =>
      void said.push(`${code} ${field}: ${message}`),
    ...{ onFailure: null, prune: true, ...inherited },
  };
  return { reader: new OptionReader(options as object, "step", recorder as never), said };
}

describe("the options of a step", () => {
  test.each([null, 5, "x", true])("must be an object: %j", (options) => {
    const { reader, said } = read(options);
    expect(said).toEqual(["bad-option options: the options must be an object, such as { attempts: 2 }"]);
    expect(reader.get("attempts")).toBeUndefined();
  });

  test("may be left out, or have some of those that there are", () => {
    expect(read(undefined).said).toEqual([]);
    const { reader, said } = read({ b: 1, after: 1, keep: 2, odd: 3 });
    reader.only("a job", ["b", "after"], ["keep", "after"]);
    expect(said).toEqual(["bad-option odd: odd is not an option of a job; its options are after, b, keep"]);
    expect(reader.get("b")).toBe(1);
  });

  const bounds = { least: 2, most: 9, preset: 3 };
  const range = "use a whole number from 2 to 9";
  test.each([
    [{}, 3, []],
    [{ n: 2 }, 2, []],
    [{ n: 9 }, 9, []],
    [{ n: 1 }, 3, [`bad-option n: n is 1; ${range}`]],
    [{ n: 10 }, 3, [`bad-option n: n is 10; ${range}`]],
    [{ n: 2.5 }, 3, [`bad-option n: n is 2.5; ${range}`]],
    [{ n: "4" }, 3, [`bad-option n: n is "4"; ${range}`]],
    [{ n: () => 4 }, 3, [expect.stringContaining("bad-option n: n is () => 4")]],
  ])("have whole numbers within bounds: %j", (options, count, problems) => {
    const { reader, said } = read(options);
    expect([reader.count("n", bounds), said]).toEqual([count, problems]);
  });

  test("without a preset must be given", () => {
    const { reader, said } = read({});
    reader.count("n", { ...bounds, preset: Number.NaN });
    expect(said).toEqual([`bad-option n: n is missing; ${range}`]);
  });

  test.each([
    [{}, null, []],
    [{ m: "1.50" }, 1_500_000, []],
    [{ m: 2 }, 2_000_000, []],
    [{ m: "dear" }, null, ['bad-option m: m is "dear"; use US dollars as a decimal string, such as "1.50"']],
  ])("have money in dollars: %j", (options, micros, problems) => {
    const { reader, said } = read(options);
    expect([reader.usd("m"), said]).toEqual([micros, problems]);
  });

  test.each([
    [{}, null, []],
    [{ t: "x" }, "x", []],
    [{ t: "" }, null, ['bad-option t: t is ""; use non-empty text']],
    [{ t: 5 }, null, ["bad-option t: t is 5; use non-empty text"]],
  ])("have text: %j", (options, text, problems) => {
    const { reader, said } = read(options);
    expect([reader.string("t"), said]).toEqual([text, problems]);
  });
});

describe("the policy of a step", () => {
  const plain = { attempts: 1, maxCostMicros: null, keep: true };

  test("is what it says, or what the pipeline says", () => {
    expect(read({}).reader.policy()).toEqual(plain);
    const all = {
      attempts: 100,
      maxCost: "0.10",
      keep: false,
      onFailure: { quorum: 2 },
      prune: false,
      consent: "mine",
    };
    expect(read(all).reader.policy()).toEqual({
      ...{
        attempts: 100,
        maxCostMicros: 100_000,
        keep: false,
        onFailure: { quorum: 2 },
        prune: false,
        consent: "mine",
      },
    });
    const inherited = { onFailure: "failFast", prune: false };
    expect(read({}, inherited).reader.policy()).toEqual({ ...plain, onFailure: "failFast", prune: false });
    expect(read({ onFailure: "continue", prune: true }, inherited).reader.policy()).toEqual({
      ...plain,
      onFailure: "continue",
    });
  });

  test("says all that is wrong with it at once", () => {
    const { reader, said } = read({ keep: 1, prune: "no", attempts: 0, onFailure: "never", consent: "" });
    reader.policy();
    expect(said).toEqual([
      "bad-option keep: `keep` must be true or false",
      'bad-option onFailure: onFailure is "never"; use "continue", "failFast" or quorum(n) with n of at least 1',
      "bad-option prune: `prune` must be true or false",
      'bad-option consent: consent is ""; use non-empty text',
      "bad-option attempts: attempts is 0; use a whole number from 1 to 100",
    ]);
    const many = read({ attempts: 101 });
    many.reader.policy();
    expect(many.said).toHaveLength(1);
  });

  test.each([
    ["continue", "continue"],
    ["failFast", "failFast"],
    [{ quorum: 1 }, { quorum: 1 }],
    [{ quorum: 0 }, null],
    [{ quorum: 1.5 }, null],
    [{ quorum: "2" }, null],
    [{}, null],
    [null, null],
    ["quorum", null],
    [3, null],
  ])("after a failure is %j", (given, policy) => {
    expect(failurePolicy(given)).toEqual(policy);
  });
});
