import { describe, expect, test } from "vitest";
import { didYouMean, suggest } from "../../../src/core/kit/lookup.ts";
import { mapRecord, plainJson } from "../../../src/core/plan/plain-json.ts";
import { Slots, slotsOf } from "../../../src/core/plan/slots.ts";
import { job, ref } from "../run/support/plans.ts";
import { chat, gate, task } from "../run/support/steps.ts";

describe("limits of what runs at once", () => {
  const limits = { total: 3, perModel: { m: 2 }, perModality: { image: 3, chat: 1 } };
  const image = job("a");
  const video = { ...job("v"), model: "v", yields: "video" } as const;

  test("name the slots of a step: jobs and chats by total, model and modality, functions apart, decisions none", () => {
    expect(slotsOf(image, limits)).toEqual([
      ["total", 3],
      ["model m", 2],
      ["modality image", 3],
    ]);
    expect(slotsOf(video, limits)).toEqual([
      ["total", 3],
      ["model v", Infinity],
      ["modality video", Infinity],
    ]);
    expect(slotsOf(chat("c"), limits)).toEqual([
      ["total", 3],
      ["model talk", Infinity],
      ["modality chat", 1],
    ]);
    expect(slotsOf(task("t"), limits)).toEqual([["task", 4]]);
    expect(slotsOf(task("t"), { ...limits, perModality: { task: 9 } })).toEqual([["task", 9]]);
    expect(slotsOf(gate("g", [ref("a")]), limits)).toEqual([]);
  });

  test("leave a step free while every one of its slots is; a released one is free again", () => {
    const slots = new Slots(limits);
    slots.take(image);
    expect([slots.free(image), slots.free(video)]).toEqual([true, true]);
    slots.take(image);
    expect([slots.free(image), slots.free(video)]).toEqual([false, true]);
    slots.take(video);
    expect([slots.free(image), slots.free(video), slots.free(task("t"))]).toEqual([false, false, true]);
    slots.release(image);
    expect([slots.free(image), slots.free(video)]).toEqual([true, true]);
  });

  test("are counted apart in a copy", () => {
    const slots = new Slots(limits);
    slots.take(image);
    const copy = slots.copy();
    copy.take(image);
    expect([slots.free(image), copy.free(image)]).toEqual([true, false]);
  });
});

describe("a misspelt name", () => {
  test.each([
    ["film", ["flim", "firm", "alarm", "movie"], ["firm", "flim"]],
    ["Film-1", ["film1", "film2", "film_1"], ["film_1", "film1", "film2"]],
    ["sta", ["start", "stop", "status", "st"], ["start", "status", "st"]],
    ["st", ["start", "so", "st."], ["st."]],
    ["abc", ["abd", "xbd", "ab"], ["ab", "abd"]],
    ["abcd", ["abef", "aefg"], ["abef"]],
    ["aaaaaaaaa", ["aaaaaaabc", "aaaaaabcd", "aaaaabcde"], ["aaaaaaabc", "aaaaaabcd"]],
    ["aa", ["ab"], []],
    ["one1", ["one2", "one3", "one4", "one5"], ["one2", "one3", "one4"]],
    ["", ["", "a"], [""]],
  ])("%s probably means one of those near it", (name, candidates, near) => {
    expect(suggest(name, candidates)).toEqual(near);
  });

  test("is answered with a question, or not at all", () => {
    expect(didYouMean("fil", ["film", "files", "x"])).toBe("did you mean files or film?");
    expect(didYouMean("fil", ["x"])).toBeNull();
  });
});

describe("what is fingerprinted", () => {
  test("of an input is plain JSON: what JSON cannot hold is left out, or text", () => {
    const around: Record<string, unknown> = { a: 1 };
    around.self = around;
    around.list = [around, undefined, () => 1];
    const shared = { x: 1 };
    const values = {
      ...{
        day: new Date(0),
        never: new Date(Number.NaN),
        big: 12n,
        not: Number.NaN,
        endless: Infinity,
        symbol: Symbol("s"),
      },
      ...{
        set: new Set([1, 2n]),
        map: new Map<unknown, unknown>([
          ["k", 1],
          [2, undefined],
          [3, null],
        ]),
        around,
        two: [shared, shared],
      },
    };
    expect(plainJson(values)).toEqual({
      ...{ day: "1970-01-01T00:00:00.000Z", never: null, big: "12", not: null, endless: null },
      ...{ set: [1, "2"], map: { k: 1, "3": null }, around: { a: 1, list: [null, null, null] }, two: [shared, shared] },
    });
    expect([plainJson(undefined), plainJson("x"), plainJson(null), plainJson(false)]).toEqual([null, "x", null, false]);
  });
});

test("a record with other values keeps its names, __proto__ too, without those that have none", () => {
  const record = JSON.parse('{"a":1,"__proto__":2,"c":3}') as { [name: string]: number };
  const mapped = mapRecord(record, (value, name) => (name === "c" ? undefined : value * 10));
  expect(JSON.stringify(mapped)).toBe('{"a":10,"__proto__":20}');
  expect(Object.getPrototypeOf(mapped)).toBe(Object.prototype);
  Object.assign(mapped, { a: 5 });
  expect(Object.getOwnPropertyDescriptor(mapped, "__proto__")).toEqual({
    ...{ value: 20, enumerable: true, configurable: true, writable: true },
  });
});
