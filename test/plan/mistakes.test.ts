import fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import { type Builder, type JobHandle, pipeline } from "../../src/define/index.ts";
import type { UntypedInput } from "../../src/define/model.ts";
import { draft, makePlan } from "../../src/plan/index.ts";
import { builtInCatalog } from "../support/built-in-catalog.ts";

const catalog = builtInCatalog();
const runs = Number(process.env.SHOWRUNNER_TEST_RUNS ?? 100);

interface Sources {
  readonly image: JobHandle;
  readonly audio: JobHandle;
  readonly voice: JobHandle;
  readonly four: JobHandle;
}

interface Mistake {
  readonly model: string;
  readonly right: (from: Sources) => UntypedInput;
  readonly wrong: (from: Sources) => UntypedInput;
  /** Code and field of the one problem that the mistake makes. */
  readonly problem: readonly [code: string, field: string];
}

const image = () => ({ prompt: "x" });
const video = () => ({ prompt: "x", aspect_ratio: "16:9", duration_ms: 3000 });
const avatar = ({ image: start_image, audio }: Sources) => ({
  ...{ start_image, audio, prompt: "x", aspect_ratio: "9:16", resolution: "720p" },
});
const mistake = (
  model: string,
  right: Mistake["right"],
  change: (from: Sources) => UntypedInput,
  ...problem: Mistake["problem"]
): Mistake => ({ model, right, wrong: (from) => ({ ...right(from), ...change(from) }), problem });

const mistakes: readonly Mistake[] = [
  mistake("image-1", image, () => ({ prompt: undefined }), "required", "input.prompt"),
  mistake("image-1", image, () => ({ prompt: 5 }), "type", "input.prompt"),
  mistake("image-1", image, () => ({ prompt: " " }), "pattern", "input.prompt"),
  mistake("image-1", image, () => ({ colour: "red" }), "unknown-field", "input.colour"),
  mistake("image-1", image, () => ({ quality: "ultra" }), "enum", "input.quality"),
  mistake("image-1", image, () => ({ seed: -1 }), "minimum", "input.seed"),
  mistake("image-1", image, ({ audio }) => ({ images: [audio] }), "media-kind", "input.images[0]"),
  mistake("image-1", image, ({ image }) => ({ images: Array(5).fill(image) }), "maxItems", "input.images"),
  mistake("image-1", image, ({ four }) => ({ images: [four] }), "several-outputs", "input.images[0]"),
  mistake("image-1", image, ({ four }) => ({ images: [four.output(4)] }), "output-index", "input.images[0]"),
  mistake("image-1", image, ({ image }) => ({ images: [image.output(-1)] }), "output-index", "input.images[0]"),
  mistake("image-1", image, ({ four, image }) => ({ images: [image, four.outputs()] }), "maxItems", "input.images"),
  mistake("image-1", image, ({ voice }) => ({ prompt: voice }), "media-kind", "input.prompt"),
  mistake("video-1", video, () => ({ quality: "pro" }), "required", "input.resolution"),
  mistake("video-1", video, ({ image }) => ({ end_image: image }), "required", "input.start_image"),
  mistake("video-1", video, () => ({ multi_prompt: [{ prompt: "y" }] }), "choice", "input"),
  mistake("video-1", video, () => ({ start_image: "https://example.com/a.png" }), "foreign-url", "input.start_image"),
  mistake("video-1", video, () => ({ start_image: "a.png" }), "type", "input.start_image"),
  mistake("video-1", video, () => ({ cfg_scale: 2 }), "maximum", "input.cfg_scale"),
  mistake("avatar-1", avatar, ({ image }) => ({ audio: image }), "media-kind", "input.audio"),
  mistake("avatar-1", avatar, ({ voice }) => ({ start_image: voice }), "media-kind", "input.start_image"),
  mistake("avatar-1", avatar, () => ({ audio: undefined }), "required", "input.audio"),
  mistake("avatar-1", avatar, () => ({ audio: { source: "asset", asset_id: "job_1" } }), "asset-id", "input.audio"),
  mistake(
    "speech-1",
    () => ({ text: "x", voice_id: "v" }),
    ({ image }) => ({ voice_id: image }),
    "media-kind",
    "input.voice_id",
  ),
  mistake("image-0", image, image, "retired-model", "model"),
  mistake("video-2", image, image, "unsupported-model", "model"),
  mistake("imge-1", image, image, "unknown-model", "model"),
  mistake("image-1", image, () => ({ seed: Number.NaN }), "not-json", "input.seed"),
  mistake("image-1", image, () => ({ seed: new Date(0) as never }), "not-json", "input.seed"),
];

/** A pipeline with right steps, and wrong ones at the given places. */
function problemsOf(chosen: readonly { readonly mistake: Mistake; readonly isWrong: boolean }[]) {
  const build = ({ job }: Builder<unknown>) => {
    const from: Sources = {
      image: job("image", "image-1", { prompt: "x" }),
      audio: job("audio", "speech-1", { text: "x", voice_id: "v" }),
      voice: job("voice", "voice-clone-1", {
        name: "n",
        audio: job("sample", "speech-1", { text: "x", voice_id: "v" }),
      }),
      four: job("four", "image-1", { prompt: "x", num_outputs: 4 }),
    };
    for (const [index, { mistake, isWrong }] of chosen.entries()) {
      const isModel = mistake.problem[1] === "model";
      const model = isModel && !isWrong ? "image-1" : mistake.model;
      job(`step-${index}`, model, isWrong ? mistake.wrong(from) : mistake.right(from));
    }
    return {};
  };
  const { draft: drafted } = draft(pipeline("p", { input: z.unknown(), build }), {});
  const made = makePlan(drafted!, { catalog, files: new Map() });
  return made.ok ? [] : made.problems;
}

test.each(mistakes.map((one) => [`${one.problem.join(" ")} of ${one.model}`, one] as const))(
  "one mistake makes one problem: %s",
  (_name, one) => {
    const problems = problemsOf([{ mistake: one, isWrong: true }]);
    expect(problems.map(({ step, code, field }) => [step, code, field])).toEqual([["step-0", ...one.problem]]);
    expect(problems[0]!.message.length).toBeGreaterThan(8);
    expect(problemsOf([{ mistake: one, isWrong: false }])).toEqual([]);
  },
);

test("twenty random mistakes among right steps are all reported, and nothing else", () => {
  const step = fc.record({ mistake: fc.constantFrom(...mistakes), isWrong: fc.constant(true) });
  const right = fc.record({ mistake: fc.constantFrom(...mistakes), isWrong: fc.constant(false) });
  const mixed = fc
    .tuple(fc.array(step, { minLength: 20, maxLength: 20 }), fc.array(right, { maxLength: 20 }))
    .chain(([wrong, good]) => fc.shuffledSubarray([...wrong, ...good], { minLength: wrong.length + good.length }));
  fc.assert(
    fc.property(mixed, (chosen) => {
      const expected = chosen.flatMap(({ mistake, isWrong }, index) =>
        isWrong ? [[`step-${index}`, ...mistake.problem]] : [],
      );
      expect(problemsOf(chosen).map(({ step, code, field }) => [step, code, field])).toEqual(expected);
    }),
    { numRuns: runs },
  );
});
