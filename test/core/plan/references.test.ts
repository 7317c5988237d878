import { describe, expect, test } from "vitest";
import {
  bindAmong,
  bindFreeInput,
  bindValue,
  bindWhen,
  checkReadable,
  completeRef,
  MEDIA,
  needsOf,
  oneOf,
  shown,
  UNKNOWN,
  VALUE,
} from "../../../src/core/plan/kinds/kind.ts";
import type { Reference } from "../../../src/core/plan/plan.ts";
import { ref } from "../run/support/plans.ts";
import { uploadRef, valueRef } from "../run/support/steps.ts";

import { draft, known, place } from "./support/place.ts";

describe("a completed reference", () => {
  const complete = (reference: { readonly $ref: never }) => {
    const said: unknown[] = [];
    const { step } = reference.$ref as { step: string };
    const result = completeRef(
      reference.$ref,
      known[step]!,
      (code, message, more) => void said.push([code, message, more?.allowed]),
    );
    return [result, ...said];
  };
  const asset = (step: string, output: unknown, kind?: string) => ({
    step,
    as: "asset",
    output,
    ...(kind !== undefined && { kind }),
  });

  test("has how it is resolved, which output, and the kind where that is known", () => {
    expect(complete(draft("a"))).toEqual([asset("a", 0, "image")]);
    expect(complete(draft("mix", 1))).toEqual([asset("mix", 1, "video")]);
    expect(complete(draft("mix", "all"))).toEqual([asset("mix", "all", "image")]);
    expect(complete(draft("best"))).toEqual([asset("best", "chosen", "image")]);
    expect(complete(draft("broken", 5))).toEqual([asset("broken", 5)]);
    expect(complete(draft("voice"))).toEqual([{ step: "voice", as: "voice", output: 0 }]);
    expect(complete(draft("endless"))).toEqual([asset("endless", 0, "image")]);
    expect(complete(draft("mix", "value"))).toEqual([{ step: "mix", as: "value", output: 0 }]);
    expect(complete(draft("v", "value", []))).toEqual([{ step: "v", as: "value", output: 0 }]);
    expect(complete(draft("v", "all", ["n"]))).toEqual([{ step: "v", as: "value", output: "all", at: ["n"] }]);
    expect(complete(draft("free", 2))).toEqual([{ step: "free", as: "value", output: 2 }]);
  });

  test("says which output there is not, or which of several is meant", () => {
    const of = (step: string, output?: string | number, at?: readonly (string | number)[]) =>
      complete(draft(step, output, at)).slice(1);
    expect(of("many")).toEqual([
      ["several-outputs", "many makes 3 outputs; use many.output(0) for one, or many.outputs() for all", undefined],
    ]);
    expect(of("many", 3)).toEqual([
      ["output-index", "many makes 3 outputs (numbers 0 to 2); there is no output 3", undefined],
    ]);
    expect(of("a", 1)).toEqual([["output-index", "a makes 1 output (number 0); there is no output 1", undefined]]);
    expect([of("many", -1).length, of("many", 0.5).length, of("many", 2).length]).toEqual([1, 1, 0]);
    expect(of("a", "value")).toEqual([
      ["not-a-value", "a makes media, not a value; use its handle in a field that accepts media", undefined],
    ]);
  });

  test("says which place a value has not", () => {
    const of = (step: string, at: readonly (string | number)[]) => complete(draft(step, "value", at)).slice(1);
    expect(of("v", ["nn"])).toEqual([["unknown-place", "the value of v has no nn; it has n, s", ["n", "s"]]]);
    expect(of("text", ["x", "y"])).toEqual([
      ["unknown-place", "the value of text has no x; check which fields the value has", []],
    ]);
    expect(of("v", ["n", 0])).toEqual([
      ["unknown-place", "the value of v has no n.0; check which fields the value has", []],
    ]);
  });
});

describe("inputs that no model describes", () => {
  test("have their references completed, and are else as they are", () => {
    const at = place(null);
    const seen: string[] = [];
    const bound = bindFreeInput(
      {
        list: [draft("a"), { $asset: { assetId: "asset_1", kind: "image" } }],
        text: { $text: ["x", draft("text")] },
        plain: [1, null],
      } as never,
      ...([
        "input",
        at.planning,
        { assets: "do not", reference: (_ref: unknown, _source: unknown, field: string) => void seen.push(field) },
      ] as const),
    );
    expect(bound).toEqual({
      list: [ref("a"), { source: "asset", asset_id: "asset_1" }],
      text: { $text: ["x", valueRef("text")] },
      plain: [1, null],
    });
    expect(at.problems).toEqual(["asset-here input.list[1]: input.list[1] is asset_1; do not"]);
    expect(seen).toEqual(["input.list[0]", "input.text[1]"]);
  });

  test("of a value take no media, nor what does not say that it yields one", () => {
    const bound = (reference: { readonly $ref: never }) => {
      const at = place(null);
      return [bindValue(reference, "on", at.planning, "next"), ...at.problems];
    };
    const none = (step: string) => ({ $ref: { step, as: "value", output: 0 } });
    expect(bound(draft("v", "value", ["n"]))).toEqual([valueRef("v", ["n"])]);
    expect(bound(draft("a"))).toEqual([none("a"), "not-a-value on: a does not yield a value; next"]);
    expect(bound(draft("open"))).toEqual([
      none("open"),
      "not-a-value on: open does not declare that it yields values; next",
    ]);
    expect(bound(draft("mix", "value"))).toEqual([none("mix")]);
    expect(bound(draft("nothing"))).toEqual([{ $ref: { step: "nothing", as: "asset", output: 0 } }]);
    const at = place(null);
    expect(bindWhen(null, at.planning)).toEqual({});
    expect(bindWhen({ failed: "a" }, at.planning)).toEqual({ when: { failed: "a" } });
    expect(bindWhen({ ref: draft("text"), equals: 1 } as never, at.planning)).toEqual({
      when: { ref: valueRef("text").$ref, equals: 1 },
    });
    expect(bindWhen({ ref: draft("text"), is: "truthy" } as never, at.planning)).toEqual({
      when: { ref: valueRef("text").$ref, is: "truthy" },
    });
  });

  test("of a local function must be kept on this machine", () => {
    const said = (reference: Reference, step: string) => {
      const at = place(null);
      checkReadable(reference.$ref, known[step]!, "input.x", at.planning);
      return at.problems;
    };
    const why =
      "not-kept input.x: loose keeps no copy (keep: false), but a local function reads files on this machine; remove keep: false from loose";
    expect(said(ref("loose"), "loose")).toEqual([why]);
    expect([
      said(ref("a"), "a"),
      said(valueRef("loose"), "loose"),
      said({ $ref: { step: "v", as: "voice", output: 0 } }, "looseVoice"),
    ]).toEqual([[], [], []]);
  });

  test("need every step that they name, wait for, or depend on, sorted and each once", () => {
    const of = (more: object, ...used: readonly unknown[]) =>
      needsOf({ when: null, after: [], ...more } as never, ...used);
    expect(of({}, { x: [draft("b"), draft("a")], y: draft("b") }, null, "text")).toEqual(["a", "b"]);
    expect(of({ after: ["c"], when: { failed: "b" } }, draft("a"))).toEqual(["a", "b", "c"]);
    expect(of({ when: { ref: draft("z"), is: "truthy" } })).toEqual(["z"]);
  });
});

describe("what is shown or chosen from", () => {
  const among = (given: readonly { readonly $ref: never }[], local = false) => {
    const at = place(null);
    const { references, yields } = bindAmong(given, { field: "among", local }, at.planning);
    return [references.length, yields, ...at.problems];
  };

  test("is all of one kind", () => {
    expect(among([draft("a"), draft("many", "all")])).toEqual([2, "image"]);
    expect(among([draft("v"), draft("text")])).toEqual([2, "value"]);
    expect(among([draft("mix", 1), draft("film")])).toEqual([2, "video"]);
    expect(among([draft("a"), draft("film"), draft("text"), draft("voice")])).toEqual([
      ...[4, "image", "media-kind among[1]: film yields a video, but a yields an image; use results of the same kind"],
      ...["media-kind among[2]: text yields a value, but a yields an image; use results of the same kind"],
      "media-kind among[3]: voice yields a voice, but a yields an image; use results of the same kind",
    ]);
    expect([among([draft("broken"), draft("a")]), among([draft("nothing")]), among([])]).toEqual([
      [2, null],
      [1, null],
      [0, null],
    ]);
  });

  test("says what it yields, and is files where a function scores it", () => {
    const open = 'open does not declare what it yields; set its `yields` option, for example yields: "image"';
    expect(among([draft("open")])).toEqual([1, null, `unknown-yield among: ${open}`]);
    const score =
      "not-media among: text yields a value, but a scoring function accepts only files; use a task to choose among values";
    expect(among([draft("text")], true)).toEqual([1, "value", score]);
    expect(among([draft("loose")], true)).toEqual([1, "image", expect.stringContaining("not-kept among")]);
  });

  test("passes on what is known of it", () => {
    const facts = (path: string) => known[path];
    expect(oneOf([ref("a"), ref("film")], "image", facts)).toEqual({
      ...MEDIA,
      yields: "image",
      as: "asset",
      keeps: true,
      picks: true,
    });
    expect(oneOf([ref("a"), ref("loose")], "voice", facts)).toMatchObject({ as: "voice", keeps: false });
    expect(oneOf([valueRef("v")], "value", facts)).toBe(VALUE);
    expect(shown([uploadRef("file")], "image", facts)).toEqual({
      ...MEDIA,
      yields: "image",
      as: "asset",
      keeps: true,
      outputs: 1,
      sizeBytes: 20,
    });
    expect(shown([ref("a"), ref("loose")], "image", facts)).toMatchObject({
      outputs: Infinity,
      keeps: false,
      sizeBytes: null,
    });
    expect(shown([ref("many", "all")], "image", facts)).toMatchObject({ outputs: Infinity });
    expect(shown([valueRef("v", ["n"])], "value", facts)).toEqual({
      ...VALUE,
      outputs: 1,
      schema: { type: "integer" },
    });
    expect(shown([ref("nothing")], "image", facts)).toEqual({ ...UNKNOWN, yields: "image" });
    expect(shown([], "image", facts)).toEqual({ ...UNKNOWN, yields: "image" });
  });
});
