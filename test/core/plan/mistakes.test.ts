import fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import {
  type Builder,
  draft,
  type FileTaskHandle,
  type JobHandle,
  pipeline,
  quorum,
  type StepMethods,
  text,
  type ValueHandle,
} from "../../../src/core/define/index.ts";
import type { UntypedInput } from "../../../src/core/define/model.ts";
import { makePlan } from "../../../src/core/plan/index.ts";
import { builtInCatalog } from "../../support/built-in-catalog.ts";

const catalog = builtInCatalog();
const facts = { path: "/a.png", sha256: "a".repeat(64), sizeBytes: 9, contentType: "image/png" };
const files = new Map([["a.png", facts]]);
const runs = Number(process.env.SHOWRUNNER_TEST_RUNS ?? 100 * Number(process.env.SHOWRUNNER_TEST_SHARE ?? 0.4));

const story = z.object({ title: z.string(), count: z.int(), scenes: z.array(z.object({ prompt: z.string() })) });

interface Sources {
  readonly image: JobHandle;
  readonly audio: JobHandle;
  readonly voice: JobHandle;
  readonly four: JobHandle;
  readonly loose: JobHandle;
  readonly story: ValueHandle<z.output<typeof story>>;
  readonly film: FileTaskHandle<number, { readonly film: "video" }>;
}

/** A step that may be said right or wrong. */
interface Mistake {
  readonly say: (b: Builder<unknown>, name: string, from: Sources, isWrong: boolean) => void;
  /** Code and field of the one problem that the mistake makes. */
  readonly problem: readonly [code: string, field: string];
}

const image = () => ({ prompt: "x" });
const video = () => ({ prompt: "x", aspect_ratio: "16:9", duration_ms: 3000 });
const avatar = ({ image: start_image, audio }: Sources) => ({
  ...{ start_image, audio, prompt: "x", aspect_ratio: "9:16", resolution: "720p" },
});
type JobInput = (from: Sources) => UntypedInput;

const mistake = (model: string, right: JobInput, change: JobInput, ...problem: Mistake["problem"]): Mistake => ({
  problem,
  say({ job }, name, from, isWrong) {
    const used = problem[1] === "model" && !isWrong ? "image-1" : model;
    job(name, used, isWrong ? { ...right(from), ...change(from) } : right(from));
  },
});

/** `given` and `wrong` are what a word gets beside the name; whatever the types say. */
type Given = (from: Sources) => readonly unknown[];
const said = (word: keyof StepMethods, given: Given, wrong: Given, ...problem: Mistake["problem"]): Mistake => ({
  problem,
  say(b, name, from, isWrong) {
    const call: (...given: readonly unknown[]) => unknown = b[word] as never;
    call(name, ...(isWrong ? wrong(from) : given(from)));
  },
});

const asked: Given = () => ["chat-1", { prompt: "x" }];
const cut: Given = ({ image }) => [{ image }, () => 1, { files: { film: "video" } }];
const drawn: Given = () => ["image-1", { prompt: "x" }];
const grown: Given = ({ story }) => [story.at("scenes"), () => [], { maxSteps: 2 }];
const chosen: Given = ({ image, four }) => [[image, four.output(1)], { by: "first" }];
const approved: Given = ({ film }) => [film];
const included: Given = () => [inner, { words: "x" }];
const inner = pipeline("inner", { input: z.object({ words: z.string() }), build: () => ({}) });

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
  said("chat", asked, () => ["chat-1", {}], "required", "input.prompt"),
  said("chat", asked, () => ["", { prompt: "x" }], "unknown-model", "model"),
  said("chat", asked, ({ image }) => ["chat-1", { prompt: image }], "not-a-value", "input.messages[0].content"),
  said("chat", asked, () => ["chat-1", { prompt: "x" }, { repairs: -1 }], "bad-option", "repairs"),
  said("chat", asked, () => ["chat-1", { prompt: "x" }, { schema: {} }], "bad-option", "schema"),
  said("chat", asked, ({ film }) => ["chat-1", { prompt: "x" }, { when: film }], "not-a-value", "when"),
  said("task", cut, ({ loose }) => [{ loose }, () => 1], "not-kept", "input.loose"),
  said("task", cut, () => [{}, "run"], "bad-option", "run"),
  said("task", cut, () => [{}, () => 1, { files: { film: "font" } }], "bad-option", "files.film"),
  said("task", cut, () => [{ at: new Date(0) }, () => 1], "not-json", "input.at"),
  said("task", cut, ({ image }) => [[image], () => 1, { onFailure: quorum(2) }], "bad-option", "onFailure"),
  said("task", cut, ({ story }) => [story.at("tilte" as never), () => 1], "unknown-place", "input"),
  said("job", drawn, ({ story }) => ["image-1", { prompt: story.at("count") }], "value-type", "input.prompt"),
  said("job", drawn, ({ story }) => ["image-1", { prompt: story.at("x" as never) }], "unknown-place", "input.prompt"),
  said("job", drawn, ({ film }) => ["image-1", { prompt: "x", images: [film] }], "media-kind", "input.images[0]"),
  said("job", drawn, ({ story }) => ["image-1", { prompt: "x", images: story }], "media-kind", "input.images"),
  said("job", drawn, ({ image }) => ["image-1", { prompt: text`${image as never}` }], "bad-text", "input.prompt"),
  said(
    "job",
    drawn,
    ({ story }) => ["image-1", { prompt: "x" }, { when: text`${story.at("title")}` }],
    "bad-option",
    "when",
  ),
  said(
    "job",
    drawn,
    () => ["image-1", { prompt: "x" }, { maxCost: 1.5, onFailure: "stop" }],
    "bad-option",
    "onFailure",
  ),
  said(
    "takes",
    () => ["image-1", { prompt: "x" }, { count: 2, choose: "first" }],
    () => ["image-1", { prompt: "x" }, { choose: "first" }],
    "bad-option",
    "count",
  ),
  said("approve", approved, () => ["film"], "foreign-handle", "shown"),
  said("approve", approved, ({ four }) => [four], "several-outputs", "shown"),
  said("approve", approved, ({ film }) => [film, { by: "me" }], "bad-option", "by"),
  said("choose", chosen, ({ image, audio }) => [[image, audio], { by: "person" }], "media-kind", "among[1]"),
  said("choose", chosen, ({ image }) => [[image], {}], "bad-option", "by"),
  said("choose", chosen, () => [[], { by: "first" }], "required", "among"),
  said("choose", chosen, ({ loose }) => [[loose], { by: () => 1 }], "not-kept", "among"),
  said("choose", chosen, ({ story }) => [[story], { by: () => 1 }], "not-media", "among"),
  said("expand", grown, ({ story }) => [story, () => []], "bad-option", "maxSteps"),
  said("expand", grown, ({ image }) => [image, () => [], { maxSteps: 1 }], "not-a-value", "value"),
  said("expand", grown, ({ story }) => [story, [], { maxSteps: 1 }], "bad-option", "steps"),
  said("expand", grown, ({ story }) => [story, () => [], { maxSteps: 1, yields: "film" }], "bad-option", "yields"),
  said("include", included, () => [inner, { words: 5 }], "input", "input.words"),
  said("include", included, () => [inner, { words: "x" }, { maxCost: "a lot" }], "bad-option", "maxCost"),
  said(
    "upload",
    () => [{ path: "a.png", kind: "image" }],
    () => [5],
    "missing-file",
    "file",
  ),
];

/** A pipeline with right steps, and wrong ones at the given places. */
function problemsOf(chosen: readonly { readonly mistake: Mistake; readonly isWrong: boolean }[]) {
  const build = (b: Builder<unknown>) => {
    const { chat, job, task } = b;
    const from: Sources = {
      image: job("image", "image-1", { prompt: "x" }),
      audio: job("audio", "speech-1", { text: "x", voice_id: "v" }),
      voice: job("voice", "voice-clone-1", {
        name: "n",
        audio: job("sample", "speech-1", { text: "x", voice_id: "v" }),
      }),
      four: job("four", "image-1", { prompt: "x", num_outputs: 4 }),
      loose: job("loose", "image-1", { prompt: "x" }, { keep: false }),
      story: chat("story", "chat-1", { prompt: "x" }, { schema: story }),
      film: task("film", {}, () => 1, { files: { film: "video" } }),
    };
    for (const [index, { mistake, isWrong }] of chosen.entries()) {
      mistake.say(b, `step-${index}`, from, isWrong);
    }
    return {};
  };
  const { draft: drafted } = draft(pipeline("p", { input: z.unknown(), build }), {});
  const made = makePlan(drafted!, { catalog, files });
  return made.ok ? [] : made.problems;
}

test.each(mistakes.map((one, index) => [`${one.problem.join(" ")} (${index})`, one] as const))(
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
