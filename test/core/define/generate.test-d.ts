import type { Experimental_VideoModelV4, ImageModelV4, SpeechModelV4 } from "@ai-sdk/provider";
import { expectTypeOf, test } from "vitest";
import type { JobHandle, StepMethods, Value } from "../../../src/core/define/index.ts";
import type { Settled } from "../../../src/core/define/steps/approve.ts";
import type {
  GenerateImage,
  GenerateOptions,
  GenerateSpeech,
  GenerateVideo,
} from "../../../src/core/define/steps/generate.ts";
import type { ImageModel, SpeechModel, VideoModel } from "../../../src/core/plan/kinds/generate.ts";

declare const generate: StepMethods["generate"];
declare const [image, video, speech]: [ImageModelV4, Experimental_VideoModelV4, SpeechModelV4];
declare const said: Value<string>;
declare const [picture, film]: [JobHandle<"image">, JobHandle<"video">];

test("the models of AI SDK's specification are those that a step asks", () => {
  expectTypeOf<ImageModelV4>().toExtend<ImageModel>();
  expectTypeOf<Experimental_VideoModelV4>().toExtend<VideoModel>();
  expectTypeOf<SpeechModelV4>().toExtend<SpeechModel>();
});

test("a handle is of what its model makes, and goes where such media go", () => {
  const still = generate("still", image, { prompt: said, aspectRatio: "16:9" }, { maxCost: "0.05" });
  expectTypeOf(still).toEqualTypeOf<JobHandle<"image", number, Settled<GenerateImage>>>();
  const clip = generate("clip", video, { prompt: "x", image: still, duration: 4 }, { maxCost: "0.50" });
  expectTypeOf(clip).toEqualTypeOf<JobHandle<"video", number, Settled<GenerateVideo>>>();
  expectTypeOf(generate("voice", speech, { text: said }, { maxCost: "0.01" })).toEqualTypeOf<
    JobHandle<"audio", number, Settled<GenerateSpeech>>
  >();
  generate("edit", image, { prompt: "x", files: [picture, still], mask: picture }, { maxCost: "0.05" });
});

test("what a model does not take is a mistake of its step", () => {
  // @ts-expect-error an image takes no text to be spoken
  generate("a", image, { text: "x" }, { maxCost: "0.05" });
  // @ts-expect-error a film is no picture
  generate("b", image, { prompt: "x", files: [film] }, { maxCost: "0.05" });
  // @ts-expect-error what it may cost at most is said
  generate("c", image, { prompt: "x" }, {});
  // @ts-expect-error a model of the catalog is for `job`
  generate("d", "image-1", { prompt: "x" }, { maxCost: "0.05" });
  expectTypeOf<Parameters<NonNullable<GenerateOptions<{ readonly n?: number }>["price"]>>>().toEqualTypeOf<
    [{ readonly n?: number }]
  >();
});
