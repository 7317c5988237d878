import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { models } from "../../../recipes/models.ts";
import { type Builder, draft, file, pipeline, type Returns } from "../../../src/core/define/index.ts";
import { criticalPath, filesOf, fingerprint, makePlan, modelsOf, resolveInput } from "../../../src/core/plan/index.ts";
import type { FileFacts, Plan, Problem } from "../../../src/core/plan/plan.ts";
import { chainLengths } from "../../../src/core/plan/slots.ts";
import { builtInCatalog } from "../../support/built-in-catalog.ts";

const catalog = builtInCatalog();
const wav: FileFacts = { path: "/tmp/a.wav", sha256: "a".repeat(64), sizeBytes: 9, contentType: "audio/wav" };
const png: FileFacts = { path: "/tmp/a.png", sha256: "b".repeat(64), sizeBytes: 9, contentType: "image/png" };
const files = new Map<string, FileFacts | { readonly error: string }>([
  ["/tmp/a.wav", wav],
  ["/tmp/a.png", png],
  ["/tmp/none.wav", { error: "/tmp/none.wav does not exist" }],
]);
const size = { aspect_ratio: "16:9", resolution: "720p" } as const;

function planOf(build: (b: Builder<unknown>) => Returns): { plan: Plan | null; problems: readonly Problem[] } {
  const drafted = draft(pipeline("test", { input: z.unknown(), build }), {});
  if (drafted.draft === null) return { plan: null, problems: drafted.problems };
  const made = makePlan(drafted.draft, { catalog, files });
  const problems = [...drafted.problems, ...(made.ok ? [] : made.problems)];
  return { plan: made.ok ? made.plan : null, problems };
}

const told = (problems: readonly Problem[]) =>
  problems.map(({ code, step, field }) => `${code} ${step} ${field}`).sort();

describe("a plan", () => {
  test("has steps in the order they were written, with edges from the handles", () => {
    const { plan, problems } = planOf(({ job, upload }) => {
      const voice = job("voice", models.voiceClone, {
        audio: upload("sample", { path: "/tmp/a.wav", kind: "audio" }),
        name: "n",
      });
      const speech = job("speech", models.speech, { text: "Hello", voice_id: voice });
      const face = job("face", models.image, { prompt: "a face" });
      return { video: job("video", models.avatar, { start_image: face, audio: speech, prompt: "x", ...size }) };
    });
    expect(problems).toEqual([]);
    expect(plan!.steps.map(({ path, needs }) => [path, needs])).toEqual([
      ["sample", []],
      ["voice", ["sample"]],
      ["speech", ["voice"]],
      ["face", []],
      ["video", ["face", "speech"]],
    ]);
    expect(plan!.steps.map(({ yields }) => yields)).toEqual(["audio", "voice", "audio", "image", "video"]);
  });

  test("survives a trip through JSON unchanged", () => {
    const { plan } = planOf(({ job }) => ({ a: job("a", models.image, { prompt: "x", num_outputs: 3 }).outputs() }));
    expect(JSON.parse(JSON.stringify(plan))).toEqual(plan);
  });

  test("is deterministic", () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.string({ minLength: 1 }).filter((s) => /[^\s\p{C}]/u.test(s)),
          { maxLength: 8 },
        ),
        (prompts) => {
          const build = ({ job }: Builder<unknown>) =>
            ({ all: prompts.map((prompt, index) => job(`p${index}`, models.image, { prompt })) }) as Returns;
          expect(planOf(build)).toEqual(planOf(build));
        },
      ),
    );
  });
});

describe("problems", () => {
  test("of five kinds are found at once, each with step and field", () => {
    const { problems } = planOf(({ job }) => {
      const sound = job("sound", models.speech, { text: "Hi", voice_id: "voice_1" });
      job("unknown-field", "image-1", { propmt: "x", prompt: "x" });
      job("bad-enum", "image-1", { prompt: "x", quality: "ultra" });
      job("sound-for-image", "avatar-1", { start_image: sound, audio: sound, prompt: "x", ...size });
      job("retired", "image-0", { prompt: "x" });
      return { missing: job("missing", "speech-1", { text: "x" }) };
    });
    expect(told(problems)).toEqual([
      "enum bad-enum input.quality",
      "media-kind sound-for-image input.start_image",
      "required missing input.voice_id",
      "retired-model retired model",
      "unknown-field unknown-field input.propmt",
    ]);
    expect(problems.find(({ code }) => code === "retired-model")!.replacedBy).toBe("image-1");
    expect(problems.find(({ code }) => code === "unknown-field")!.message).toContain("did you mean prompt?");
  });

  test.each([
    ["neither prompt nor multi_prompt", {}, "choice"],
    ["both prompt and multi_prompt", { prompt: "x", multi_prompt: [{ prompt: "y" }] }, "choice"],
    ["an end frame without a start frame", { prompt: "x", end_image: true }, "required"],
    ["quality pro without a resolution", { prompt: "x", quality: "pro" }, "required"],
    ["quality standard at 1080p", { prompt: "x", quality: "standard", resolution: "1080p" }, "const"],
  ])("of a combination of fields are told as one sentence: %s", (_name, extra, code) => {
    const { problems } = planOf(({ job }) => {
      const image = job("image", models.image, { prompt: "x" });
      const more = "end_image" in extra ? { ...extra, end_image: image } : extra;
      return { video: job("video", "video-1", { aspect_ratio: "16:9", duration_ms: 3000, ...more }) };
    });
    expect(problems.map((problem) => problem.step)).toEqual(["video"]);
    expect(["choice", "required", "const", "enum", "combination"]).toContain(problems[0]!.code);
    if (code === "choice") expect(problems[0]!.message).toContain("exactly one of prompt, multi_prompt");
  });

  test("of files, names, indexes and foreign URLs are found too", () => {
    const { problems } = planOf(({ job, upload }) => {
      const picture = upload("picture", { path: "/tmp/a.png", kind: "audio" });
      job("twice", models.voiceClone, { audio: picture, name: "n" });
      job("twice", models.voiceClone, { audio: upload("gone", { path: "/tmp/none.wav", kind: "audio" }), name: "n" });
      const one = job("one", "image-1", { prompt: "x" });
      job("a/b", "image-1", { prompt: "x", images: [one.output(3)] });
      job("elsewhere", "image-1", { prompt: "x", images: [{ source: "url", url: "https://example.com/a.png" }] });
      return { typo: job("typo", "imge-1", { prompt: "x" }) };
    });
    expect(told(problems)).toEqual([
      "bad-step-name a/b null",
      "duplicate-step twice null",
      "foreign-url elsewhere input.images[0]",
      "missing-file gone file",
      "not-media-file picture file",
      "output-index a/b input.images[0]",
      "unknown-model typo model",
    ]);
    expect(problems.find(({ code }) => code === "unknown-model")!.message).toContain("did you mean image-1?");
  });

  test("of the pipeline's own input name the field", () => {
    const strict = pipeline("p", {
      input: z.object({ shots: z.array(z.object({ text: z.string() })), sample: file("audio") }),
      build: () => ({}),
    });
    const { draft: none, problems } = draft(strict, { shots: [{ text: 5 }] });
    expect(none).toBeNull();
    expect(problems.map(({ field }) => field)).toEqual(["input.shots[0].text", "input.sample"]);
  });

  test("thrown by build become a problem, not a crash", () => {
    const { problems } = planOf(() => {
      throw new Error("no shots");
    });
    expect(problems).toMatchObject([{ code: "build", message: expect.stringContaining("no shots") }]);
  });

  test("are all reported, however many there are", () => {
    const mistakes = [
      { model: "image-1", input: { prompt: "x", quality: "ultra" } },
      { model: "image-1", input: {} },
      { model: "image-1", input: { prompt: "x", colour: 1 } },
      { model: "speech-1", input: { text: 5, voice_id: "v" } },
      { model: "image-0", input: { prompt: "x" } },
      { model: "video-2", input: { prompt: "x" } },
      { model: "nothing-like-it", input: {} },
    ];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...mistakes), { minLength: 1, maxLength: 20 }), (chosen) => {
        const { problems } = planOf(({ job }) => {
          chosen.forEach(({ model, input }, index) => void job(`s${index}`, model, input));
          return {};
        });
        expect(new Set(problems.map(({ step }) => step))).toEqual(new Set(chosen.map((_, index) => `s${index}`)));
      }),
    );
  });
});

describe("a fingerprint", () => {
  test("does not see the order of fields, and sees every value", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.string(), (record, key) => {
        const clean = JSON.parse(JSON.stringify(record));
        const reversed = Object.fromEntries(Object.entries(clean).reverse());
        expect(fingerprint(reversed as never)).toBe(fingerprint(clean));
        const changed = { ...clean, [`${key}_`]: "another" };
        expect(fingerprint(changed)).not.toBe(fingerprint(clean));
      }),
    );
  });
});

describe("references", () => {
  test("to all outputs spread into the list they stand in", () => {
    const all = { $ref: { step: "a", as: "asset", output: "all" } } as const;
    const one = { $ref: { step: "b", as: "asset", output: 0 } } as const;
    const lookup = (ref: { output: unknown }) => (ref.output === "all" ? ["x", "y"] : "z");
    expect(resolveInput({ images: [one, all] }, lookup)).toEqual({ images: ["z", "x", "y"] });
    expect(resolveInput({ images: all }, lookup)).toEqual({ images: ["x", "y"] });
  });
});

describe("the critical path", () => {
  test("is the longest chain, and ranks each step by what is left after it starts", () => {
    const { plan } = planOf(({ job }) => {
      const a = job("a", models.image, { prompt: "x" });
      const b = job("b", models.image, { prompt: "x", images: [a] });
      return { c: job("c", models.image, { prompt: "x" }), b };
    });
    const { path, lengthMs } = criticalPath(plan!, () => 10);
    expect(path).toEqual(["a", "b"]);
    expect(lengthMs).toBe(20);
    expect(Object.fromEntries(chainLengths(plan!, () => 10))).toEqual({ a: 20, b: 10, c: 10 });
  });
});

test("a draft names its files and models", () => {
  const p = pipeline("p", {
    input: z.object({ sample: file("audio") }),
    build: ({ input, job, upload }) => ({
      v: job("v", models.voiceClone, { audio: upload("s", input.sample), name: "n" }),
    }),
  });
  const made = draft(p, { sample: "/tmp/a.wav" }).draft!;
  expect(filesOf(made)).toEqual([{ path: "/tmp/a.wav", kind: "audio", step: "s" }]);
  expect(modelsOf(made)).toEqual(["voice-clone-1"]);
});
