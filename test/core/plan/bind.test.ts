import { describe, expect, test } from "vitest";
import {
  AnyOf,
  bindAsset,
  bindReference,
  bindText,
  checkMediaLiteral,
  PLACEHOLDER_MEDIA,
  phrase,
} from "../../../src/core/plan/kinds/bind-reference.ts";
import type { Json, MediaKind } from "../../../src/core/plan/plan.ts";
import { valueRef } from "../run/support/steps.ts";

import { draft, place } from "./support/place.ts";

const NIL = "00000000-0000-4000-8000-000000000000";
const placeholder = { source: "asset", asset_id: `asset_${NIL}` };

describe("a reference in the input of a model", () => {
  /** What is said of it there, without the field. */
  const said = (reference: { readonly $ref: never }, schema: Json | null, name?: string) => {
    const at = place(schema, name);
    bindReference(reference.$ref, at.location, at.planning);
    return at.problems.map((text) => text.replace(/ input\.\w+:/, ":"));
  };
  const media = (...kinds: readonly string[]) => ({ media_type: kinds });

  test.each([
    ["a", media("image"), []],
    ["a", media(), []],
    ["a", null, []],
    ["a", {}, []],
    ["broken", media("video"), []],
    ["nothing", media("video"), []],
    ["film", media("image", "audio"), ["media-kind: expects an image or audio, but film makes a video"]],
    ["voice", media("audio"), ["media-kind: expects audio, but voice makes a voice"]],
    ["voice", media(), ["media-kind: expects media, but voice makes a voice"]],
    ["voice", { format: "voice_id" }, []],
    ["a", { format: "voice_id" }, ["media-kind: expects a voice, but a makes an image"]],
    ["a", { type: ["string", "null"] }, ["media-kind: expects JSON (string or null), but a makes an image"]],
    ["file", { ...media("image"), max_file_size_bytes: 20 }, []],
    [
      "file",
      { ...media("image"), max_file_size_bytes: 19 },
      ["file-size: accepts at most 19 bytes, but the file from file is 20 bytes"],
    ],
    ["a", { ...media("image"), max_file_size_bytes: 19 }, []],
    [
      "open",
      { type: "string" },
      ['unknown-yield: open does not declare that it yields values; add yields: "value" to open'],
    ],
    ["open", {}, []],
    [
      "text",
      media("image"),
      [
        "media-kind: expects an image, but text is a value; pass a step that produces media, or have a task write a file",
      ],
    ],
    [
      "text",
      { type: "array", items: media("image") },
      [
        "media-kind: expects an image, but text is a value; pass a step that produces media, or have a task write a file",
      ],
    ],
    ["text", { type: "string" }, []],
    ["text", { format: "voice_id" }, []],
    ["text", { type: ["integer", "null"] }, ["value-type: expects integer or null, but text is string"]],
    ["free", { type: "integer" }, []],
    ["free", null, []],
  ])("to %s where %j is taken", (step, schema, problems) => {
    expect(said(draft(step), schema as Json | null)).toEqual(problems);
  });

  test("to a place of a value is checked by what is known of the place; whole numbers are numbers", () => {
    expect(said(draft("v", "value", ["n"]), { type: "number" })).toEqual([]);
    expect(said(draft("v", "value", ["n"]), { type: "string" })).toEqual([
      "value-type: expects string, but v.n is integer",
    ]);
    expect(said(draft("v", "value", ["s"]), { format: "voice_id" })).toEqual([]);
    expect(said(draft("v", "value", ["n"]), { format: "voice_id" })).toEqual([
      "value-type: expects string, but v.n is integer",
    ]);
    const number = "the number of outputs must be known when the run is planned; use a number or `expand`";
    expect(said(draft("v", "value", ["n"]), { type: "integer" }, "num_outputs")).toEqual([`fixed-field: ${number}`]);
  });

  test("is planned with all that is known, and has a stand-in that the schema can look at", () => {
    const bound = (reference: { readonly $ref: never }, schema: Json | null = {}) => {
      const at = place(schema);
      const result = bindReference(reference.$ref, at.location, at.planning);
      expect(at.checked).toEqual(["input.field"]);
      return { ...result, opened: at.opened };
    };
    const planned = (step: string, more: object) => ({ $ref: { step, as: "asset", ...more } });
    expect(bound(draft("a"))).toEqual({
      input: planned("a", { output: 0, kind: "image" }),
      sample: placeholder,
      opened: [],
    });
    expect(bound(draft("voice"))).toMatchObject({ sample: `voice_${NIL}`, input: { $ref: { as: "voice" } } });
    expect(bound(draft("many", "all"))).toEqual({
      ...{
        input: planned("many", { output: "all", kind: "image" }),
        sample: [placeholder, placeholder, placeholder],
        spread: true,
        opened: [],
      },
    });
    expect(bound(draft("endless", "all")).sample).toEqual([placeholder]);
    expect(bound(draft("nothing"))).toEqual({ input: null, sample: null, opened: [] });
    expect(bound(draft("open"), { type: "string" }).sample).toBeNull();
    expect(bound(draft("text"), { enum: ["x", "y"] })).toEqual({
      ...{ input: { $ref: { step: "text", as: "value", output: 0 } }, sample: new AnyOf(["x", "y"]), opened: [2] },
    });
    expect(bound(draft("text", "all"), { enum: ["x"] })).toMatchObject({
      sample: [new AnyOf(["x"])],
      spread: true,
      opened: [1],
    });
    expect(bound(draft("text"), null)).toMatchObject({ sample: new AnyOf([null]), opened: [1] });
  });
});

describe("other media in the input of a model", () => {
  const pass = 'pass upload("name", "path/to/file")';
  const foreign = `foreign-url input.field: expects an image stored on the service, not a URL from elsewhere; download the file and ${pass}`;

  test.each([
    ["https://x/y.png", foreign],
    ["DATA:image/png;base64,x", foreign],
    [{ source: "url", url: "x" }, foreign],
    [{ url: "x" }, foreign],
    [
      { path: "a.png" },
      'type input.field: expects an image, but this is a file on this machine; pass upload("name", file) instead',
    ],
    ["asset_1", 'type input.field: expects an image; pass an asset as asset("image" | "video" | "audio", "asset_1")'],
    [
      "a cat",
      'type input.field: expects an image, not text; pass the handle of a step, or upload("name", "path/to/file")',
    ],
    [
      "a cat, as on https://x",
      'type input.field: expects an image, not text; pass the handle of a step, or upload("name", "path/to/file")',
    ],
    [
      { source: "asset", asset_id: "job_1" },
      "asset-id input.field: job_1 is a job; use the asset_id of one of its outputs",
    ],
    [{ source: "asset", asset_id: "asset_1" }, null],
    [{ source: "asset", asset_id: "other" }, null],
    [{ source: "asset", path: "a.png" }, null],
    [{ source: "asset" }, null],
    [{ source: "asset", url: "x" }, null],
  ])("written out: %j", (literal, problem) => {
    const at = place({ media_type: "image" });
    const bound = checkMediaLiteral(literal as never, at.location, at.planning);
    expect(at.problems).toEqual(problem === null ? [] : [problem]);
    expect(bound).toEqual({ input: literal, sample: problem === null ? literal : PLACEHOLDER_MEDIA });
    expect(at.checked).toEqual(problem === null ? [] : ["input.field"]);
    const elsewhere = place({ type: "string" });
    expect(checkMediaLiteral(literal as never, elsewhere.location, elsewhere.planning).sample).toEqual(literal);
    expect(elsewhere.problems).toEqual([]);
  });

  test.each([
    [{ media_type: ["image", "video"] }, "image", []],
    [{ media_type: "cloud" }, "audio", []],
    [null, "audio", []],
    [{ media_type: "video" }, "audio", ["media-kind input.field: expects a video, but the asset is audio"]],
    [{ format: "voice_id" }, "audio", ["media-kind input.field: expects a voice, but the asset is audio"]],
    [{ type: "string" }, "image", ["media-kind input.field: expects plain JSON, but the asset is an image"]],
  ])("as an asset where %j is taken: %s", (schema, kind, problems) => {
    const at = place(schema as Json | null);
    const bound = bindAsset({ assetId: "asset_1", kind: kind as MediaKind } as never, at.location, at.planning);
    expect(bound).toEqual({ input: { source: "asset", asset_id: "asset_1" }, sample: placeholder });
    expect([at.problems, at.checked]).toEqual([problems, ["input.field"]]);
  });

  test("as the asset of a job is none", () => {
    const at = place(null);
    bindAsset({ assetId: "job_7", kind: "image" } as never, at.location, at.planning);
    expect(at.problems).toEqual(["asset-id input.field: job_7 is a job; use the asset_id of one of its outputs"]);
  });

  test.each([
    [{ type: "string" }, []],
    [{ format: "voice_id" }, []],
    [{}, []],
    [null, []],
    [{ type: ["integer", "null"] }, ["value-type input.field: expects integer or null, not text"]],
    [{ media_type: "image" }, ["media-kind input.field: expects an image, not text"]],
  ])("as text with values in it where %j is taken", (schema, problems) => {
    const at = place(schema as Json | null);
    const bound = bindText({ $text: ["a ", draft("text")] } as never, at.location, at.planning);
    expect([at.problems, at.opened.length]).toEqual([problems, 1]);
    expect(bound.input).toEqual({ $text: ["a ", valueRef("text")] });
    if (schema === null) expect(bound.sample).toEqual(new AnyOf(["x"]));
  });

  test("is named in words", () => {
    expect([phrase([]), phrase(["image"]), phrase(["image", "video", "audio"])]).toEqual([
      "media",
      "an image",
      "an image or a video or audio",
    ]);
  });
});
