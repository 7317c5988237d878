import { expectTypeOf, test } from "vitest";
import { z } from "zod";
import { models } from "../../../recipes/models.ts";
import type { SettledInput } from "../../../src/core/define/steps/approve.ts";
import {
  asset,
  type ExpandHandle,
  equals,
  type FilesTaskHandle,
  type FileTaskHandle,
  failed,
  type Handle,
  type JobHandle,
  type LocalFile,
  not,
  type OutputHandle,
  type OutputsHandle,
  pipeline,
  quorum,
  type ResultOf,
  type TakesHandle,
  text,
  type UploadHandle,
  type ValueHandle,
  type ValuesHandle,
  type VideoResult,
} from "../../../src/index.ts";

const size = { aspect_ratio: "16:9", duration_ms: 3000 } as const;
const storySchema = z.object({
  title: z.string(),
  mood: z.enum(["calm", "wild"]),
  lengthMs: z.int(),
  subtitle: z.string().optional(),
  scenes: z.array(z.object({ prompt: z.string(), line: z.string().nullable() })),
  either: z.union([z.object({ a: z.string() }), z.object({ b: z.number() })]),
});

const narration = pipeline("narration", {
  input: z.object({ words: z.string(), speed: z.number().default(1) }),
  build: ({ input, job }) => ({
    speech: job("speech", models.speech, { text: input.words, voice_id: "v" }),
    parts: { first: job("first", models.speech, { text: input.words, voice_id: "v" }) },
  }),
});

pipeline("words", {
  input: z.object({ look: z.enum(["red", "blue"]), shots: z.array(z.object({ text: z.string() })) }),
  build({ input, approve, chat, choose, expand, include, job, takes, task, upload }) {
    const answer = chat("answer", "chat-1", { prompt: "Hello." });
    const story = chat("story", "chat-1", { prompt: text`About ${answer}`, system: "x" }, { schema: storySchema });
    const face = job("face", models.image, { prompt: "a face", num_outputs: 2 });
    const picture = job("picture", models.image, { prompt: "a picture" });
    const speech = job("speech", models.speech, { text: "Hello.", voice_id: "v" });
    const voice = job("voice", models.voiceClone, { audio: speech, name: "n" });
    const video = job("video", models.video, { prompt: "x", ...size });

    test("an upload is of the kind that its bytes or its path say", () => {
      const bytes = new Uint8Array();
      expectTypeOf(upload("u1", { bytes, kind: "audio" })).toEqualTypeOf<UploadHandle<"audio">>();
      expectTypeOf(upload("u2", "https://example.com/a.png")).toEqualTypeOf<UploadHandle<"image">>();
      expectTypeOf(upload("u3", bytes)).toEqualTypeOf<UploadHandle<"unknown">>();
      // @ts-expect-error a number is nothing to upload
      upload("u4", 5);
    });

    test("a chat answers text, or what its schema yields", () => {
      expectTypeOf(answer).toEqualTypeOf<ValueHandle<string>>();
      expectTypeOf(story).toEqualTypeOf<ValueHandle<z.output<typeof storySchema>>>();
      chat("talk", "chat-1", { messages: [{ role: "user", content: answer }], temperature: 0.2 });
      // @ts-expect-error a prompt or messages, not both
      chat("both", "chat-1", { prompt: "x", messages: [{ role: "user", content: "x" }] });
      // @ts-expect-error no such role
      chat("role", "chat-1", { messages: [{ role: "robot", content: "x" }] });
      // @ts-expect-error no zod schema
      chat("schema", "chat-1", { prompt: "x" }, { schema: { type: "object" } });
      // @ts-expect-error a number of repairs
      chat("repairs", "chat-1", { prompt: "x" }, { repairs: "often" });
      // @ts-expect-error neither
      chat("nothing", "chat-1", {});
    });

    test("a value is gone into by fields and positions, typed", () => {
      expectTypeOf(story.at("title")).toEqualTypeOf<ValueHandle<string>>();
      expectTypeOf(story.at("scenes").at(0).at("prompt")).toEqualTypeOf<ValueHandle<string>>();
      expectTypeOf(story.at("scenes").at(0).at("line")).toEqualTypeOf<ValueHandle<string | null>>();
      expectTypeOf(story.at("mood")).toEqualTypeOf<ValueHandle<"calm" | "wild">>();
      expectTypeOf(story.at("subtitle")).toEqualTypeOf<ValueHandle<string>>();
      expectTypeOf(story.at("either").at("a")).toEqualTypeOf<ValueHandle<string>>();
      // @ts-expect-error text has no fields
      answer.at("length");
      const any = chat("any", "chat-1", { prompt: "x" }, { schema: z.unknown() });
      expectTypeOf(any.at("whatever").at(3)).toEqualTypeOf<ValueHandle<unknown>>();
    });

    test("values go where an input takes their type", () => {
      job("text", models.image, { prompt: story.at("title") });
      job("joined", models.image, { prompt: text`${story.at("title")} number ${1} by ${answer}` });
      job("number", models.avatar, {
        ...{ start_image: picture, audio: speech, prompt: "x", aspect_ratio: "9:16", resolution: "720p" },
        duration_ms: story.at("lengthMs"),
      });
      job("list", models.video, { ...size, multi_prompt: story.at("scenes") });
      job("voice", models.speech, { text: "x", voice_id: answer });
      job("untyped", "some-model", { anything: { at: [story, text`x${answer}`] } });
      // @ts-expect-error a whole object within text
      job("object", models.image, { prompt: text`x ${story}` });
    });

    test("a task gets files for media, values for values, lists for lists", () => {
      const shot = { picture, both: [picture, face.outputs()], all: face.outputs(), look: input.look, n: 5 };
      const made = task(
        "join",
        { ...shot, title: story.at("title"), voice, nested: { scenes: story } },
        (given, ctx) => {
          expectTypeOf(given.picture).toEqualTypeOf<LocalFile>();
          expectTypeOf(given.both).toEqualTypeOf<readonly LocalFile[]>();
          expectTypeOf(given.all).toEqualTypeOf<readonly LocalFile[]>();
          expectTypeOf(given.look).toEqualTypeOf<"red" | "blue">();
          expectTypeOf(given.n).toEqualTypeOf<number>();
          expectTypeOf(given.title).toEqualTypeOf<string>();
          expectTypeOf(given.voice).toEqualTypeOf<string>();
          expectTypeOf(given.nested.scenes.scenes[0]!.prompt).toEqualTypeOf<string>();
          expectTypeOf(ctx.file("film")).toEqualTypeOf<string>();
          expectTypeOf(ctx.signal).toEqualTypeOf<AbortSignal>();
          return { shots: given.all.length };
        },
      );
      expectTypeOf(made.value).toEqualTypeOf<ValueHandle<{ shots: number }>>();
      expectTypeOf(made.at("shots")).toEqualTypeOf<ValueHandle<number>>();
    });

    test("a task stands for its one file, for the list of its files, or for its value", () => {
      const film = task("film", { video }, async () => "done", { files: { film: "video" } });
      expectTypeOf(film).toEqualTypeOf<FileTaskHandle<string, { film: "video" }>>();
      expectTypeOf(film.file("film")).toEqualTypeOf<OutputHandle<"video">>();
      expectTypeOf(film.value).toEqualTypeOf<ValueHandle<string>>();
      const both = task("both", { video }, () => undefined, { files: { film: "video", cover: "image" } });
      expectTypeOf(both).toEqualTypeOf<FilesTaskHandle<null, { film: "video"; cover: "image" }>>();
      expectTypeOf(both.file("cover")).toEqualTypeOf<OutputHandle<"image">>();
      job("cover", models.image, { prompt: "x", images: [both.file("cover")] });
      const counted = task("count", {}, () => 5);
      expectTypeOf(counted.value).toEqualTypeOf<ValueHandle<number>>();
      job("seed", models.image, { prompt: "x", seed: counted });
      const nothing = task("nothing", {}, async () => {});
      expectTypeOf(nothing.value).toEqualTypeOf<ValueHandle<null>>();
      // @ts-expect-error a film where a picture goes
      job("film-as-picture", models.image, { prompt: "x", images: [film] });
      // @ts-expect-error a value task has no files
      counted.file("film");
      const lines = task("lines", {}, () => 1, { files: { "lines.srt": "text" } });
      // @ts-expect-error text where a picture goes
      job("text-as-picture", models.image, { prompt: "x", images: [lines] });
    });

    test("an approval is the same kind of handle as what it shows", () => {
      expectTypeOf(approve("a1", picture)).toEqualTypeOf<Handle<"image", "single">>();
      expectTypeOf(approve("a2", face.outputs())).toEqualTypeOf<OutputsHandle<"image">>();
      expectTypeOf(approve("a3", story.at("title"))).toEqualTypeOf<ValueHandle<string>>();
      expectTypeOf(approve("a4", voice)).toEqualTypeOf<Handle<"voice", "single">>();
      job("approved", models.image, { prompt: approve("a5", story.at("title")), images: [approve("a6", picture)] });
      // @ts-expect-error text is no handle
      approve("a7", "a picture");
    });

    test("a choice is one of what it is made from", () => {
      expectTypeOf(choose("c1", [picture, face.output(1)], { by: "person" })).toEqualTypeOf<
        Handle<"image", "single">
      >();
      expectTypeOf(choose("c2", face.outputs(), { by: "first" })).toEqualTypeOf<Handle<"image", "single">>();
      expectTypeOf(choose("c3", [answer, story.at("title")], { by: "first" })).toEqualTypeOf<ValueHandle<string>>();
      choose("c4", face.outputs(), {
        by(candidate) {
          expectTypeOf(candidate.path).toEqualTypeOf<string>();
          expectTypeOf(candidate.index).toEqualTypeOf<number>();
          return candidate.sizeBytes;
        },
      });
      // @ts-expect-error a score is a number
      choose("c5", face.outputs(), { by: () => "best" });
      // @ts-expect-error somebody must choose
      choose("c7", face.outputs(), {});
      // @ts-expect-error sound and pictures: the one chosen fits nowhere
      job("mixed", models.image, { prompt: "x", images: [choose("c8", [picture, speech], { by: "first" })] });
    });

    test("takes stand for the chosen one, and for all", () => {
      const options = { count: 3, choose: "person" } as const;
      const best = takes("best", models.image, { prompt: "x" }, options);
      expectTypeOf(best).toEqualTypeOf<TakesHandle<"image", SettledInput<typeof models.image>>>();
      job("uses", models.image, { prompt: "x", images: [best, best.outputs()] });
      // @ts-expect-error there is no field propmt
      takes("misspelt", models.image, { prompt: "x", propmt: "y" }, options);
    });

    test("an expansion gets the value and is the list of what it returns", () => {
      const shots = expand(
        "shots",
        story.at("scenes"),
        (scenes, b) => {
          expectTypeOf(scenes).toEqualTypeOf<{ prompt: string; line: string | null }[]>();
          return scenes.map(({ prompt }, index) => b.job(`shot-${index}`, models.video, { prompt, ...size }));
        },
        { maxSteps: 10 },
      );
      expectTypeOf(shots).toEqualTypeOf<ExpandHandle<"video">>();
      task("join", { shots }, ({ shots }) => expectTypeOf(shots).toEqualTypeOf<readonly LocalFile[]>());
      const one = expand("one", answer, (line, b) => b.job("x", models.image, { prompt: line }), { maxSteps: 1 });
      expectTypeOf(one).toEqualTypeOf<ExpandHandle<"image">>();
      const lines = expand("lines", answer, (said, b) => [b.chat("x", "chat-1", { prompt: said })], {
        maxSteps: 1,
        yields: "value",
      });
      expectTypeOf(lines).toEqualTypeOf<ValuesHandle<string>>();
      task("read", { lines }, ({ lines }) => expectTypeOf(lines).toEqualTypeOf<readonly string[]>());
      const untyped = expand("untyped", answer, (_, b) => [b.job("x", "some-model", {})], {
        maxSteps: 1,
        yields: "video",
      });
      expectTypeOf(untyped).toEqualTypeOf<ExpandHandle<"unknown">>();
      expand("none", answer, () => [], { maxSteps: 1, yields: "image" });
      expand(
        "again",
        lines,
        (all, b) => {
          expectTypeOf(all).toEqualTypeOf<readonly string[]>();
          return all.map((prompt, n) => b.job(`a${n}`, models.image, { prompt }));
        },
        { maxSteps: 9 },
      );
      // @ts-expect-error films are no pictures
      expand("other", answer, (_, b) => b.job("x", models.image, { prompt: "x" }), { maxSteps: 1, yields: "video" });
      // @ts-expect-error films where pictures go
      job("films", models.image, { prompt: "x", images: shots });
    });

    test("an included pipeline takes its own input and returns its own handles", () => {
      const part = include("part", narration, { words: "x" });
      expectTypeOf(part.speech).toEqualTypeOf<JobHandle<"audio", 1, SettledInput<typeof models.speech>>>();
      expectTypeOf(part.parts.first).toEqualTypeOf<JobHandle<"audio", 1, SettledInput<typeof models.speech>>>();
      // @ts-expect-error it takes words
      include("missing", narration, {});
      // @ts-expect-error no pipeline
      include("none", { words: "x" }, { words: "x" });
      // @ts-expect-error it returns no such thing
      void part.film;
    });

    test("conditions are values, or made of them", () => {
      const input = { prompt: "x" };
      job("w1", models.image, input, {
        when: story.at("title"),
        onFailure: quorum(1),
        after: [picture, face.outputs()],
      });
      job("w2", models.image, input, { when: not(answer), onFailure: "failFast" });
      job("w3", models.image, input, { when: equals(story.at("mood"), "calm") });
      job("w4", models.image, input, { when: failed(picture) });
      upload("w5", "a.png", { when: answer });
      // @ts-expect-error no such policy
      job("w8", models.image, input, { onFailure: "ignore" });
      // @ts-expect-error an approval has no attempts
      approve("w9", picture, { attempts: 2 });
    });

    test("nothing is inferred as any or never, however little is known", () => {
      const untyped = job("i1", "some-model", {});
      const value = chat("i2", "m", { prompt: "x" }, { schema: z.any() });
      const handles = {
        untyped,
        output: untyped.output(3),
        value: value.at("a").at(1),
        parsed: task("i3", { untyped }, ({ untyped }) => JSON.parse(untyped.path)).value,
        none: expand("i4", value, () => [], { maxSteps: 1 }),
        chosen: choose("i5", [untyped], { by: "first" }),
        seen: approve("i6", untyped),
        takes: takes("i7", "some-model", {}, { count: 1, choose: "first" }),
      };
      type Each = (typeof handles)[keyof typeof handles];
      expectTypeOf<Each>().not.toBeAny();
      for (const key of ["untyped", "output", "value", "parsed", "none", "chosen", "seen", "takes"] as const) {
        expectTypeOf(handles[key].step).toEqualTypeOf<string>();
        expectTypeOf(handles[key].yields).not.toBeAny();
        expectTypeOf(handles[key].yields).not.toBeNever();
      }
      expectTypeOf(handles.none.yields).toEqualTypeOf<"unknown">();
      expectTypeOf(handles.chosen).toEqualTypeOf<Handle<"unknown", "single">>();
      expectTypeOf(handles.takes).toEqualTypeOf<TakesHandle<"unknown", SettledInput<"face-9">>>();
      task("i8", handles, (given) => {
        expectTypeOf(given.untyped).toEqualTypeOf<LocalFile>();
        expectTypeOf(given.none).toEqualTypeOf<readonly LocalFile[]>();
        expectTypeOf(given.chosen).not.toBeNever();
      });
    });

    test("a loop may feed its last result back through a list", () => {
      let before: Handle<"image", "single">[] = [];
      for (const shot of input.shots) {
        const drawn = job(`drawn-${shot.text}`, models.image, { prompt: shot.text, images: before });
        expectTypeOf(drawn).toEqualTypeOf<JobHandle<"image", 4, SettledInput<typeof models.image>>>();
        before = [drawn];
      }
    });

    const film = task("end", { video, own: asset("image", "asset_1") }, () => ({ ms: 5 }), {
      files: { film: "video" },
    });
    const returned = { film, info: film.value, story, all: face.outputs(), title: story.at("title") };

    test("results have the shape of what is returned", () => {
      expectTypeOf<ResultOf<typeof returned>["film"]>().toEqualTypeOf<VideoResult>();
      expectTypeOf<ResultOf<typeof returned>["info"]>().toEqualTypeOf<{ ms: number }>();
      expectTypeOf<ResultOf<typeof returned>["title"]>().toEqualTypeOf<string>();
      expectTypeOf<ResultOf<typeof returned>["story"]["scenes"][number]["prompt"]>().toEqualTypeOf<string>();
    });
    return returned;
  },
});
