import { expectTypeOf, test } from "vitest";
import { z } from "zod";
import { models } from "../../../recipes/models.ts";
import type { SettledInput } from "../../../src/core/define/steps/approve.ts";
import {
  file,
  type ImageResult,
  type JobHandle,
  pipeline,
  type ResultOf,
  type VideoResult,
  type VoiceResult,
} from "../../../src/index.ts";

const input = z.object({ look: z.string(), sample: file("audio") });
const size = { aspect_ratio: "9:16", resolution: "720p" } as const;

pipeline("types", {
  input,
  build({ input, job, upload, takes, chat }) {
    test("the input is what the schema yields", () => {
      expectTypeOf(input.look).toEqualTypeOf<string>();
      expectTypeOf(input.sample.kind).toEqualTypeOf<"audio">();
    });

    const sample = upload("sample", input.sample);
    const voice = job("voice", models.voiceClone, { audio: sample, name: "narrator" });
    const speech = job("speech", models.speech, { text: "Hello.", voice_id: voice });
    const face = job("face", models.image, { prompt: input.look, num_outputs: 2 });
    const prompt = "talks";

    test("a handle stands for what its model makes", () => {
      expectTypeOf(voice).toEqualTypeOf<JobHandle<"voice", 1, SettledInput<typeof models.voiceClone>>>();
      expectTypeOf(speech).toEqualTypeOf<JobHandle<"audio", 1, SettledInput<typeof models.speech>>>();
      expectTypeOf(face).toEqualTypeOf<JobHandle<"image", 4, SettledInput<typeof models.image>>>();
    });

    test("a field that a job is asked with goes where its type goes, and no other field is there", () => {
      const said = speech.input("text");
      job("poster", models.image, { prompt: said });
      // @ts-expect-error a number where text goes
      job("number", models.image, { prompt: face.input("num_outputs") });
      // @ts-expect-error a speech has no prompt
      speech.input("prompt");
    });

    test("so does a field that all takes are asked with, but for the seed, of which each has its own", () => {
      const looks = takes("looks", models.image, { prompt: "a boat" }, { count: 2, choose: "first" });
      job("of-takes", models.image, { prompt: looks.input("prompt") });
      // @ts-expect-error each take has another seed
      looks.input("seed");
      // @ts-expect-error an image has no text
      looks.input("text");
    });

    test("media fields take handles of their own kind only", () => {
      job("ok", models.avatar, { start_image: face.output(1), audio: speech, prompt, ...size });
      // @ts-expect-error an image where sound goes
      job("wrong-kind", models.avatar, { start_image: face, audio: face, prompt, ...size });
      // @ts-expect-error a URL of somebody else
      job("url", models.avatar, { start_image: "https://example.com/a.png", audio: speech, prompt, ...size });
    });

    test("a voice field takes a voice id or a job that makes a voice", () => {
      job("by-id", models.speech, { text: "Hi.", voice_id: "voice_1" });
    });

    test("a list of images takes single ones and all outputs of a job", () => {
      job("list", models.image, { prompt, images: [face, face.output(0)] });
      job("all", models.image, { prompt, images: face.outputs() });
    });

    test("`revise` takes the input as it is sent, and returns fields of it", () => {
      job(
        "revised",
        models.image,
        { prompt, images: [face] },
        { revise: ({ prompt }, note) => ({ prompt: prompt + note }) },
      );
      takes("revised-takes", models.image, { prompt }, { count: 2, choose: "first", revise: () => ({ prompt }) });
      job("by-id", "image-1", { prompt }, { revise: (input, note) => ({ prompt: `${input.prompt} ${note}` }) });
      chat("asked", "chat-1", { prompt }, { revise: ({ messages }) => ({ messages: messages.slice(1) }) });
      const revise = (input: { readonly prompt: string }, note: string) => ({ prompt: input.prompt + note });
      job("plain", models.image, { prompt }, { revise });
      // @ts-expect-error there is no field propmt
      job("misspelt", models.image, { prompt }, { revise: () => ({ propmt: "x" }) });
      // @ts-expect-error no such quality
      job("enum", models.image, { prompt }, { revise: () => ({ quality: "ultra" }) });
      // @ts-expect-error text is no number
      job("kind", models.image, { prompt }, { revise: (_, note) => ({ num_outputs: note }) });
    });

    test("an untyped model id works, and its handle fits anywhere", () => {
      const other = job("untyped", "some-model", { anything: 1 });
      job("uses", models.avatar, { start_image: other, audio: speech, prompt, ...size });
    });

    const video = job("video", models.avatar, { start_image: face, audio: speech, prompt, ...size });
    const returned = { video, voice, faces: face.outputs() };

    test("results have the shape of what is returned", () => {
      expectTypeOf<ResultOf<typeof returned>["video"]>().toEqualTypeOf<VideoResult>();
      expectTypeOf<ResultOf<typeof returned>["voice"]>().toEqualTypeOf<VoiceResult>();
      expectTypeOf<ResultOf<typeof returned>["faces"][number]["width"]>().toEqualTypeOf<number>();
      // @ts-expect-error a video has no voice id
      type Wrong = ResultOf<typeof returned>["video"]["voiceId"];
      expectTypeOf<Wrong>().not.toBeUndefined();
    });
    return returned;
  },
});

test("branches that return other names compile as TypeScript sees them without exactOptionalPropertyTypes", () => {
  type Returned = {
    readonly video: JobHandle<"video">;
    readonly poster?: JobHandle<"image"> | undefined;
  };
  const build = () => ({}) as Returned;
  const made = pipeline("branches", { input, build });
  expectTypeOf(made.name).toEqualTypeOf<string>();
  expectTypeOf<ResultOf<Returned>["video"]>().toEqualTypeOf<VideoResult>();
  expectTypeOf<ResultOf<Returned>["poster"]>().toEqualTypeOf<ImageResult | undefined>();
});
