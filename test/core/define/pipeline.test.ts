import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { asset, type Builder, draft, file, type Handle, isPipeline, pipeline } from "../../../src/core/define/index.ts";
import { resolveInput } from "../../../src/core/plan/index.ts";
import type { JobStep } from "../../../src/core/plan/kinds/job.ts";
import { planned } from "../plan/support/planned.ts";

const picture = { prompt: "x" };
const inputOf = (made: ReturnType<typeof planned>, path: string) => (made.step(path) as JobStep).input;

describe("a definition", () => {
  test("is recognised as a pipeline, and nothing that merely resembles one is", () => {
    const made = pipeline("p", { input: z.object({}), build: () => ({}) });
    expect(isPipeline(made)).toBe(true);
    expect([{ ...made }, null, "p", { name: "p", input: z.object({}), build: () => ({}) }].some(isPipeline)).toBe(
      false,
    );
  });

  test.each([
    ["a name with a slash", "a/b", { input: z.object({}), build: () => ({}) }],
    ["no name", "", { input: z.object({}), build: () => ({}) }],
    ["an input that is no schema", "p", { input: {}, build: () => ({}) }],
    ["a build that is no function", "p", { input: z.object({}), build: {} }],
  ])("with %s throws at once", (_what, name, definition) => {
    expect(() => pipeline(name, definition as never)).toThrow(
      expect.objectContaining({ code: "PIPELINE_DEFINITION", message: expect.stringContaining(JSON.stringify(name)) }),
    );
  });
});

describe("handles", () => {
  test("stand for media, voices and lists, and say the kind in the plan", () => {
    const made = planned(({ job, upload }) => {
      const voice = job("voice", "voice-clone-1", { audio: upload("sample", "a.wav"), name: "n" });
      const speech = job("speech", "speech-1", { text: "x", voice_id: voice });
      const faces = job("faces", "image-1", { ...picture, num_outputs: 3 });
      const more = job("more", "image-1", { ...picture, images: [faces.output(2), faces.outputs()] });
      const all = job("all", "image-1", { ...picture, images: faces.outputs() });
      const own = asset("image", "asset_1");
      const video = job("video", "avatar-1", {
        ...{ start_image: own, audio: speech, prompt: "x", aspect_ratio: "9:16", resolution: "720p" },
      });
      return { video, more, all: { list: all, faces: faces.outputs() } };
    });
    const ref = (step: string, as: string, output: unknown, kind?: string) => ({
      $ref: { step, as, output, ...(kind && { kind }) },
    });
    expect(inputOf(made, "voice")).toMatchObject({ audio: ref("sample", "upload", 0, "audio") });
    expect(inputOf(made, "speech")).toMatchObject({ voice_id: ref("voice", "voice", 0) });
    expect(inputOf(made, "more")).toMatchObject({
      images: [ref("faces", "asset", 2, "image"), ref("faces", "asset", "all", "image")],
    });
    expect(inputOf(made, "all")).toMatchObject({ images: [ref("faces", "asset", "all", "image")] });
    expect(inputOf(made, "video")).toMatchObject({ start_image: { source: "asset", asset_id: "asset_1" } });
    expect(made.plan!.returns).toMatchObject({ all: { faces: ref("faces", "asset", "all", "image") } });
    const resolved = resolveInput(inputOf(made, "all"), () => ["x", "y", "z"]);
    expect(resolved).toMatchObject({ images: ["x", "y", "z"] });
  });

  test.each([
    ["text", (handle: Handle) => `${handle}`],
    ["joined text", (handle: Handle) => ["a", handle].join()],
    ["JSON", (handle: Handle) => JSON.stringify({ handle })],
  ])("as %s throw, and build's error is a problem with the way out", (_what, misuse) => {
    const made = planned(({ job }) => {
      const face = job("face", "image-1", picture);
      job("next", "image-1", { prompt: misuse(face) });
      return {};
    });
    expect(made.told).toEqual(["build null null"]);
    expect(made.problems[0]!.message).toContain("face");
  });

  test("of another build, and methods after build has returned, are refused", () => {
    let kept: Handle | null = null;
    let late: (() => unknown) | null = null;
    planned(({ job }) => {
      kept = job("face", "image-1", picture);
      late = () => job("late", "image-1", picture);
      return {};
    });
    const made = planned(({ job }) => {
      job("a", "image-1", { ...picture, images: [kept!] });
      return { b: job("b", "image-1", picture, { after: kept! }) };
    });
    expect(made.told).toEqual(["foreign-handle a input.images[0]", "foreign-handle b after"]);
    expect(late!).toThrow(expect.objectContaining({ code: "BUILDER_CLOSED" }));
  });
});

describe("what build may not do is a problem that says what to do", () => {
  test.each<[string, (b: Builder<unknown>) => unknown, string]>([
    ["return nothing", () => undefined, "bad-return null null"],
    ["return a handle without a name", ({ job }) => job("a", "image-1", picture), "bad-return null null"],
    ["return a value", () => ({ n: 5 }), "bad-return null returns.n"],
    [
      "return a name that is no file name",
      ({ job }) => ({ "a/b": job("a", "image-1", picture) }),
      "bad-return null returns",
    ],
    ["be async", async () => ({}), "bad-return null null"],
    [
      "return one of several outputs",
      ({ job }) => ({ a: job("a", "image-1", { ...picture, num_outputs: 2 }) }),
      "several-outputs null returns.a",
    ],
    [
      "name an option that is none",
      ({ job }) => ({ a: job("a", "image-1", picture, { retries: 2 } as never) }),
      "bad-option a retries",
    ],
    [
      "use a name reserved for references",
      ({ job }) => ({ a: job("a", "image-1", { ...picture, $ref: 1 } as never) }),
      "reserved-field a input.$ref",
    ],
    [
      "pass a file without uploading it",
      ({ job }) => ({ a: job("a", "image-1", { ...picture, images: [{ path: "a.png" }] }) }),
      "type a input.images[0]",
    ],
    [
      "pass an asset of another kind",
      ({ job }) => ({ a: job("a", "image-1", { ...picture, images: [asset("audio", "asset_1")] }) }),
      "media-kind a input.images[0]",
    ],
  ])("%s", (_what, build, expected) => {
    const made = planned(build);
    expect(made.told).toEqual([expected]);
    expect(made.problems[0]!.message.length).toBeGreaterThan(10);
  });

  test("contain itself, without end", () => {
    const endless: { self?: unknown } = {};
    endless.self = endless;
    const { told } = planned(({ job }) => ({ a: job("a", "image-1", { ...picture, endless } as never) }));
    expect(told.length).toBeGreaterThan(0);
  });

  test("change an input after it was given", () => {
    const input = { prompt: "before" };
    const made = planned(({ job }) => {
      const a = job("a", "image-1", input);
      input.prompt = "after";
      return { a };
    });
    expect(inputOf(made, "a")).toEqual({ prompt: "before" });
  });
});

describe("uploads", () => {
  test.each([
    ["a path whose ending tells", "a.png", []],
    ["a path that tells nothing, once it is measured", "no-ending", []],
    ["content that is no media", "text.png", ["not-media-file u file"]],
    ["another kind than said", { path: "a.wav", kind: "image" as const }, ["not-media-file u file"]],
    ["a file that nobody measured", "b.png", ["missing-file u file"]],
    ["a file that could not be read", "gone.png", ["missing-file u file"]],
    ["nothing", "", ["missing-file u file"]],
    ["more bytes than the field takes", "large.png", ["file-size v input.images[0]"]],
  ])("of %s", (_what, given, expected) => {
    const made = planned(({ job, upload }) => ({
      v: job("v", "image-1", { ...picture, images: [upload("u", given)] }),
    }));
    expect(made.told).toEqual(expected);
  });

  test("have a fingerprint of their content, not of their path", () => {
    const of = (name: string) => planned(({ upload }) => ({ u: upload("u", name) })).plan!.steps[0]!.fingerprint;
    expect(of("a.png")).toBe(of("no-ending"));
  });

  test("come from file() fields: as a path, as an object, or by default", () => {
    const schema = z.object({ sample: file("audio").default("a.wav"), picture: file("image").optional() });
    expect(schema.parse({})).toEqual({ sample: { path: "a.wav", kind: "audio" } });
    expect(schema.parse(schema.parse({ sample: "b.wav", picture: { path: "c" } }))).toEqual({
      sample: { path: "b.wav", kind: "audio" },
      picture: { path: "c", kind: "image" },
    });
    expect(schema.safeParse({ sample: 5 }).error?.issues[0]?.message).toBe("must be the path of an audio file");
  });
});

describe("a fingerprint", () => {
  const settings = fc.record({
    seed: fc.nat(),
    quality: fc.constantFrom("standard", "pro"),
    prompt: fc.stringMatching(/^\w+$/),
  });
  const of = (input: Record<string, unknown>, options = {}, name = "a") =>
    planned(({ job }) => ({ a: job(name, "image-1", input as never, options) })).plan!.steps[0]!.fingerprint;

  test("of a step changes exactly when what it asks for changes", () => {
    fc.assert(
      fc.property(settings, settings, (one, other) => {
        const isSame = JSON.stringify(one) === JSON.stringify(other);
        expect(of(one) === of(other)).toBe(isSame);
        expect(of(Object.fromEntries(Object.entries(one).reverse()))).toBe(of(one));
        expect(of(one, { attempts: 3, maxCost: "1.00", keep: false })).toBe(of(one));
        expect(of(one, {}, "renamed")).toBe(of(one));
      }),
    );
  });
});

describe("a field that the input's schema has no name for", () => {
  const take = z.object({ look: z.string(), mood: z.string().default("calm") });
  const fields = (
    input: unknown,
    schema: z.ZodType = z.object({ title: z.string().default("x"), takes: z.array(take).default([]) }),
  ) =>
    draft(pipeline("p", { input: schema, build: () => ({}) }), input).problems.map(
      ({ field, message }) => `${field}: ${message}`,
    );

  test("is a problem that names the nearest one, since zod would leave it out in silence", () => {
    expect(fields({ titel: "a" })).toEqual(["input.titel: the input has no such field; did you mean title?"]);
    expect(fields({ takes: [{ look: "b", mod: "wild" }] })).toEqual([
      "input.takes[0].mod: the input has no such field; did you mean mood?",
    ]);
    expect(fields({ zzz: 1 })).toEqual(["input.zzz: the input has no such field; its fields are title, takes"]);
  });

  test("is one behind defaults and transforms too, and none where the schema takes any field or is no object", () => {
    expect(
      fields(
        { lok: "a", look: "b" },
        take.transform((value) => value.look),
      ),
    ).toHaveLength(1);
    expect(fields({ lok: "a", look: "b" }, take.optional())).toHaveLength(1);
    expect(fields({ more: 1 }, z.looseObject({}))).toEqual([]);
    expect(fields({ more: 1 }, z.object({}).catchall(z.number()))).toEqual([]);
    expect(fields({ more: 1 }, z.record(z.string(), z.number()))).toEqual([]);
    expect(fields({ more: 1 }, z.object({}))).toEqual(["input.more: the input has no such field; it has no fields"]);
  });
});
