import { describe, expect, test } from "vitest";
import { z } from "zod";
import { models } from "../../../recipes/models.ts";
import { draft, file, pipeline } from "../../../src/core/define/index.ts";
import { filesOf, modelsOf } from "../../../src/core/plan/index.ts";
import { planned } from "./support/planned.ts";

const size = { aspect_ratio: "16:9", resolution: "720p" } as const;

describe("a plan", () => {
  test("has steps in the order they were written, with edges from the handles", () => {
    const { plan, problems } = planned(({ job, upload }) => {
      const voice = job("voice", models.voiceClone, {
        audio: upload("sample", { path: "a.wav", kind: "audio" }),
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
    const { plan } = planned(({ job }) => ({ a: job("a", models.image, { prompt: "x", num_outputs: 3 }).outputs() }));
    expect(JSON.parse(JSON.stringify(plan))).toEqual(plan);
  });
});

describe("problems", () => {
  test.each([
    ["neither prompt nor multi_prompt", {}, "choice"],
    ["both prompt and multi_prompt", { prompt: "x", multi_prompt: [{ prompt: "y" }] }, "choice"],
    ["an end frame without a start frame", { prompt: "x", end_image: true }, "required"],
    ["quality pro without a resolution", { prompt: "x", quality: "pro" }, "required"],
    ["quality standard at 1080p", { prompt: "x", quality: "standard", resolution: "1080p" }, "const"],
  ])("of a combination of fields are told as one sentence: %s", (_name, extra, code) => {
    const { problems } = planned(({ job }) => {
      const image = job("image", models.image, { prompt: "x" });
      const more = "end_image" in extra ? { ...extra, end_image: image } : extra;
      return { video: job("video", "video-1", { aspect_ratio: "16:9", duration_ms: 3000, ...more }) };
    });
    expect(problems.map((problem) => problem.step)).toEqual(["video"]);
    expect(["choice", "required", "const", "enum", "combination"]).toContain(problems[0]!.code);
    if (code === "choice") expect(problems[0]!.message).toContain("exactly one of prompt, multi_prompt");
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
});

test("a draft names its files and models", () => {
  const p = pipeline("p", {
    input: z.object({ sample: file("audio") }),
    build: ({ input, job, upload }) => ({
      v: job("v", models.voiceClone, { audio: upload("s", input.sample), name: "n" }),
    }),
  });
  const made = draft(p, { sample: "a.wav" }).draft!;
  expect(filesOf(made)).toEqual([{ path: "a.wav", kind: "audio", step: "s" }]);
  expect(modelsOf(made)).toEqual(["voice-clone-1"]);
});
