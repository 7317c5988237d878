import { describe, expect, test } from "vitest";
import { z } from "zod";
import { models } from "../../../recipes/models.ts";
import {
  asset,
  type Builder,
  equals,
  failed,
  type Handle,
  type Media,
  not,
  pipeline,
  quorum,
  text,
  type ValueHandle,
} from "../../../src/core/define/index.ts";
import { resolveInput, traitsOf } from "../../../src/core/plan/index.ts";
import type { ChatStep } from "../../../src/core/plan/kinds/chat.ts";
import type { ExpandStep } from "../../../src/core/plan/kinds/expand.ts";
import type { JobStep } from "../../../src/core/plan/kinds/job.ts";
import type { PickStep } from "../../../src/core/plan/kinds/pick.ts";
import type { TaskStep } from "../../../src/core/plan/kinds/task.ts";
import type { Json } from "../../../src/core/plan/plan.ts";
import { expanded, planned } from "./support/planned.ts";

const picture = { prompt: "x" };
const size = { aspect_ratio: "16:9", duration_ms: 3000 } as const;
const schema = z.object({
  title: z.string(),
  mood: z.enum(["calm", "wild"]),
  count: z.int(),
  scenes: z.array(z.object({ prompt: z.string() })),
});
const story = ({ chat }: Builder<unknown>) => chat("story", "chat-1", { prompt: "A story." }, { schema });
/** A pipeline that says this and returns nothing. */
const only = (build: (b: Builder<unknown>) => unknown) => (b: Builder<unknown>) => {
  build(b);
  return {};
};
const value = (step: string, at: readonly (string | number)[] = []) => ({
  $ref: { step, as: "value", output: 0, ...(at.length > 0 && { at }) },
});

describe("a chat", () => {
  test("is planned with its messages, its schema, and values of other steps where they go", () => {
    const tried = planned((b) => {
      const told = story(b);
      const prompt = text`Say ${told.at("title")} in ${3} words.`;
      return {
        said: b.chat("said", "chat-2", { prompt, system: told.at("mood"), temperature: 0 }, { maxCost: "0.2" }),
      };
    });
    const step = tried.step("said") as ChatStep;
    expect(step).toMatchObject({ kind: "chat", model: "chat-2", schema: null, repairs: 1, needs: ["story"] });
    expect(step.policy).toEqual({ attempts: 1, maxCostMicros: 200_000, keep: true });
    expect(step.input).toEqual({
      messages: [
        { role: "system", content: value("story", ["mood"]) },
        { role: "user", content: { $text: ["Say ", value("story", ["title"]), " in ", "3", " words."] } },
      ],
      temperature: 0,
    });
    expect((tried.step("story") as ChatStep).schema).toMatchObject({
      required: ["title", "mood", "count", "scenes"],
      additionalProperties: false,
    });
  });

  const film = { prompt: "x", ...size };
  /** An input with one image. */
  const seen =
    (image: (b: Builder<unknown>) => unknown, words: object = { prompt: "x" }) =>
    (b: Builder<unknown>) => ({ ...words, images: [image(b)] });
  /** A chat `c` with this input, or with what a function makes of the builder. */
  const asks =
    (input: unknown, options: object = {}, model = "m") =>
    (b: Builder<unknown>) =>
      b.chat("c", model, (typeof input === "function" ? input(b) : input) as never, options);
  test.each<[string, (b: Builder<unknown>) => unknown, string]>([
    ["both forms", asks({ prompt: "x", messages: [{ role: "user", content: "x" }] }), "choice c input"],
    ["messages that are none", asks({ messages: [] }), "type c input.messages"],
    ["a role that is none", asks({ messages: [{ role: "robot", content: "x" }] }), "enum c input.messages[0].role"],
    ["a model that draws", asks({ prompt: "x" }, {}, "image-1"), "not-a-chat-model c model"],
    ["no object", asks("hello"), "type c input"],
    ["a streamed answer", asks({ prompt: "x", stream: true }), "unknown-field c input.stream"],
    ["a schema without JSON Schema", asks({ prompt: "x" }, { schema: z.date() }), "bad-option c schema"],
    ["a task's option", asks({ prompt: "x" }, { files: {} }), "bad-option c files"],
    ["an asset", asks({ prompt: asset("image", "asset_1") }), "asset-here c input.messages[0].content"],
    ["a film where pictures go", asks(seen((b) => b.job("v", "video-1", film))), "media-kind c input.images[0]"],
    ["text where pictures go", asks(seen((b) => b.chat("d", "m", { prompt: "x" }))), "media-kind c input.images[0]"],
    [
      "a picture of which there is no copy",
      asks(seen((b) => b.job("a", "image-1", picture, { keep: false }))),
      "not-kept c input.images[0]",
    ],
    [
      "pictures and no message of the user",
      asks(seen((b) => b.job("a", "image-1", picture), { messages: [{ role: "system", content: "x" }] })),
      "required c input.messages",
    ],
  ])("with %s is a problem", (_what, build, expected) => {
    const { told, problems } = planned(only(build));
    expect(told).toEqual([expected]);
    expect(problems[0]!.message).toMatch(/.{12}/);
  });

  test("takes pictures, one or a list, as files of this machine", () => {
    const tried = planned(
      only(({ chat, job }) => {
        const one = job("a", "image-1", picture);
        chat("c", "m", { prompt: "x", images: one });
        chat("d", "m", { prompt: "x", images: [one, job("b", "image-1", { ...picture, num_outputs: 2 }).outputs()] });
      }),
    );
    expect(tried.told).toEqual([]);
    const asset = (step: string, output: number | "all" = 0) => ({
      $ref: { step, as: "asset", output, kind: "image" },
    });
    expect((tried.step("c") as ChatStep).input).toMatchObject({ images: asset("a") });
    expect((tried.step("d") as ChatStep).input).toMatchObject({ images: [asset("a"), asset("b", "all")] });
    expect(["c", "d"].map((path) => traitsOf(tried.step(path)!).readsFiles)).toEqual([true, true]);
    expect(traitsOf(tried.step("c")!).uses).toHaveLength(1);
  });
});

describe("a value", () => {
  test("goes where an input takes its type, and is checked as far as its schema tells", () => {
    const tried = planned((b) => {
      const told = story(b);
      const { job } = b;
      job("text", models.image, { prompt: told.at("scenes").at(1).at("prompt"), seed: told.at("count") });
      job("voice", models.speech, { text: text`${told.at("title")}.`, voice_id: told.at("title") });
      job("enum", models.video, { prompt: "x", ...size, quality: told.at("mood") as never });
      job("list", models.video, { ...size, multi_prompt: told.at("scenes") });
      return {};
    });
    expect(tried.told).toEqual([]);
    expect((tried.step("text") as JobStep).input).toEqual({
      prompt: value("story", ["scenes", 1, "prompt"]),
      seed: value("story", ["count"]),
    });
  });

  type Input = (told: ValueHandle<z.output<typeof schema>>, b: Builder<unknown>) => object;
  test.each<[string, Input, string]>([
    [
      "a name within a list",
      (told) => ({ prompt: told.at("scenes").at("x" as never) }),
      "unknown-place x input.prompt",
    ],
    ["a place within text", (told) => ({ prompt: told.at("title").at("x" as never) }), "unknown-place x input.prompt"],
    [
      "a position from the end",
      (told) => ({ prompt: told.at("scenes").at(-1).at("prompt") }),
      "unknown-place x input.prompt",
    ],
    ["text for a number", (told) => ({ ...picture, seed: text`${told.at("count")}` }), "value-type x input.seed"],
    ["a value for media", (told) => ({ ...picture, images: [told.at("title")] }), "media-kind x input.images[0]"],
    ["media for a value", (_, { job }) => ({ prompt: job("y", models.image, picture) }), "media-kind x input.prompt"],
    [
      "the number of outputs",
      (told) => ({ ...picture, num_outputs: told.at("count") }),
      "fixed-field x input.num_outputs",
    ],
    ["an unknown field", (told) => ({ ...picture, colour: told.at("title") }), "unknown-field x input.colour"],
  ])("with %s is a problem", (_what, input, expected) => {
    const { told, problems } = planned(only((b) => b.job("x", models.image, input(story(b), b) as never)));
    expect(told).toEqual([expected]);
    expect(problems[0]!.message).toMatch(/.{12}/);
  });

  test("that may be this or that makes no problem that only one of them would make", () => {
    const { told } = planned((b) => {
      const mood = b.chat("mood", "m", { prompt: "x" });
      // 1080p needs quality pro, and pro is one of what may come.
      b.job("may", models.video, { prompt: "x", ...size, resolution: "1080p", quality: mood as never });
      b.job("is", "video-1", { prompt: "x", ...size, resolution: "1080p", quality: "standard" });
      b.job("surely", "video-1", { prompt: "x", duration_ms: 3000, resolution: "1080p", quality: mood });
      return {};
    });
    expect(told.map((one) => one.split(" ").slice(0, 2).join(" "))).toEqual([
      expect.stringMatching(/ is$/),
      "required surely",
    ]);
  });

  test("named wrongly is told with the right name", () => {
    const { problems } = planned((b) => ({ x: b.job("x", "image-1", { prompt: story(b).at("tilte" as never) }) }));
    expect(problems[0]).toMatchObject({ allowed: ["title", "mood", "count", "scenes"] });
    expect(problems[0]!.message).toBe("the value of story has no tilte; did you mean title?");
  });
});

describe("text with values in it", () => {
  const resolved = (values: { readonly [step: string]: Json }) => {
    const tried = planned(({ chat, job }) => {
      const [a, b] = [chat("a", "m", { prompt: "x" }), chat("b", "m", { prompt: "x" })];
      return { x: job("x", models.image, { prompt: text`<${a}|${text`${b}!`}|${1}>` }) };
    });
    return resolveInput((tried.step("x") as JobStep).input, ({ step }) => values[step]);
  };

  test("is joined once they exist, what is no text as JSON", () => {
    expect(resolved({ a: "one", b: "two" })).toEqual({ prompt: "<one|two!|1>" });
    expect(resolved({ a: 5, b: { c: [true] } })).toEqual({ prompt: '<5|{"c":[true]}!|1>' });
  });

  test("is missing where one of them is", () => {
    expect(resolved({ a: "one" })).toEqual({});
  });
});

describe("a task", () => {
  test("is planned with its input, files and version, and its function is found by its path", async () => {
    const tried = planned(({ chat, job, task, upload }) => {
      const pictures = job("pictures", models.image, { ...picture, num_outputs: 2 });
      const given = {
        all: pictures.outputs(),
        song: upload("song", "a.wav"),
        line: chat("line", "m", { prompt: "x" }),
      };
      const film = task("film", given, ({ line }) => line.length, {
        files: { film: "video", cover: "image" },
        version: "2",
      });
      const cover = job("next", models.image, { ...picture, images: [film.file("cover")], seed: film.value });
      return { film, cover, length: film.value };
    });
    const step = tried.step("film") as TaskStep;
    expect(step).toMatchObject({
      ...{ kind: "task", version: "2", yields: "video", needs: ["line", "pictures", "song"] },
      files: [
        { name: "film", kind: "video" },
        { name: "cover", kind: "image" },
      ],
      input: {
        all: [{ $ref: { step: "pictures", as: "asset", output: "all", kind: "image" } }],
        song: { $ref: { step: "song", as: "upload", output: 0, kind: "audio" } },
        line: value("line"),
      },
    });
    expect((tried.step("next") as JobStep).input).toMatchObject({
      images: [{ $ref: { step: "film", as: "asset", output: 1, kind: "image" } }],
      seed: value("film"),
    });
    expect(tried.plan!.returns).toMatchObject({
      film: { $ref: { step: "film", output: "all" } },
      length: value("film"),
    });
    const code = tried.draft.functions.get("film");
    expect(code?.kind === "task" && code.run({ line: "four" }, {} as never)).toBe(4);
  });

  test.each<[string, (b: Builder<unknown>) => unknown, string]>([
    [
      "a file's name that leads elsewhere",
      ({ task }) => task("t", {}, () => 1, { files: { "../a": "image" } }),
      "bad-option t files.../a",
    ],
    ["files that are a list", ({ task }) => task("t", {}, () => 1, { files: ["a"] as never }), "bad-option t files"],
    [
      "a version that is no text",
      ({ task }) => task("t", {}, () => 1, { version: 2 as never }),
      "bad-option t version",
    ],
    [
      "an asset of the service",
      ({ task }) => task("t", { a: asset("image", "asset_1") }, () => 1),
      "asset-here t input.a",
    ],
    [
      "media that is chosen and not kept",
      ({ job, choose, task }) => {
        const among = [job("a", models.image, picture, { keep: false }), job("b", models.image, picture)];
        return task("t", { a: choose("c", among, { by: "first" }) }, () => 1);
      },
      "not-kept t input.a",
    ],
    [
      "a file that it does not declare",
      ({ job, task }) => {
        const film = task("t", {}, () => 1, { files: { film: "video" } });
        return job("x", models.image, { ...picture, images: [film.file("cover" as never) as never] });
      },
      "unknown-file t file",
    ],
  ])("with %s is a problem", (_what, build, expected) => {
    const { told, problems } = planned(only(build));
    expect(told).toEqual([expected]);
    expect(problems[0]!.message).toMatch(/.{12}/);
  });
});

describe("approvals and choices", () => {
  test("stand for what they let pass", () => {
    const tried = planned((b) => {
      const { approve, choose, job, upload } = b;
      const told = story(b);
      const ok = approve("ok", told.at("scenes"), { message: "Good?" });
      const pictures = job("pictures", models.image, { ...picture, num_outputs: 3 });
      const all = approve("all", pictures.outputs());
      const one = choose("one", all, { by: "person", message: "Which?" });
      const best = choose("best", [one, upload("own", "a.png")], { by: ({ sizeBytes }) => sizeBytes });
      const first = choose("first", [best, pictures.output(0)], { by: "first" });
      return { x: job("x", models.image, { prompt: ok.at(0).at("prompt"), images: [first, all] }) };
    });
    expect(tried.step("ok")).toMatchObject({ kind: "approve", choose: false, message: "Good?", yields: "value" });
    expect(tried.step("one")).toMatchObject({
      ...{ kind: "approve", choose: true, message: "Which?", yields: "image", needs: ["all"] },
      shows: [{ $ref: { step: "all", as: "asset", output: "all", kind: "image" } }],
    });
    expect(tried.step("best")).toMatchObject({ kind: "pick", by: "score", version: "1", needs: ["one", "own"] });
    expect(tried.step("first")).toMatchObject({ kind: "pick", by: "first", version: null });
    expect((tried.step("x") as JobStep).input).toEqual({
      prompt: value("ok", [0, "prompt"]),
      images: [
        { $ref: { step: "first", as: "asset", output: "chosen", kind: "image" } },
        { $ref: { step: "all", as: "asset", output: "all", kind: "image" } },
      ],
    });
    expect([...tried.draft.functions.keys()]).toEqual(["best"]);
  });

  test.each<[string, (b: Builder<unknown>) => unknown, string]>([
    ["an asset to approve", ({ approve }) => approve("c", asset("image", "asset_1")), "foreign-handle c shown"],
    [
      "a list that says only later what it holds",
      (b) => {
        const shots = b.expand("shots", story(b), (_, inner) => inner.job("x", models.image, picture), { maxSteps: 1 });
        return b.approve("c", shots);
      },
      "unknown-yield c shown",
    ],
  ])("with %s are a problem", (_what, build, expected) => {
    const { told, problems } = planned(only(build));
    expect(told).toEqual([expected]);
    expect(problems[0]!.message).toMatch(/.{12}/);
  });
});

describe("takes", () => {
  const seeds = (tried: ReturnType<typeof planned>) =>
    tried.plan!.steps.flatMap((step) => (step.kind === "job" ? [(step.input as { seed?: number }).seed] : []));

  test("are jobs with seeds of their own, and one choice", () => {
    const tried = planned(({ takes, job }) => {
      const best = takes("best", models.image, picture, {
        count: 3,
        choose: "person",
        message: "Which?",
        maxCost: "1",
      });
      return {
        best,
        all: best.outputs(),
        next: job("next", models.image, { ...picture, images: [best, best.outputs()] }),
      };
    });
    expect(tried.plan!.steps.map(({ path }) => path)).toEqual(["best/1", "best/2", "best/3", "best/pick", "next"]);
    const [first] = seeds(tried);
    expect(seeds(tried).slice(0, 3)).toEqual([first, first! + 1, first! + 2]);
    expect(tried.step("best/pick")).toMatchObject({ kind: "approve", choose: true, message: "Which?" });
    expect((tried.step("best/2") as JobStep).policy.maxCostMicros).toBe(1_000_000);
    expect((tried.step("next") as JobStep).input).toMatchObject({
      images: [
        { $ref: { step: "best/pick" } },
        ...["best/1", "best/2", "best/3"].map((step) => ({ $ref: { step, output: 0 } })),
      ],
    });
    expect(tried.plan!.returns.all).toHaveLength(3);
  });

  test("count up from a seed that is given, differ by name else, and do without where the model takes none", () => {
    const of = (name: string, input: object, model: "image-1" | "video-1" = "image-1") =>
      seeds(planned(({ takes }) => ({ a: takes(name, model, { ...input }, { count: 2, choose: "first" }) })));
    expect(of("a", { ...picture, seed: 7 })).toEqual([7, 8]);
    expect(of("a", picture)).not.toEqual(of("b", picture));
    expect(of("a", picture)).toEqual(of("a", picture));
    expect(of("a", { prompt: "x", ...size }, "video-1")).toEqual([undefined, undefined]);
  });

  test("by the first good one run one after the other, each when the one before failed", () => {
    const tried = planned((b) => {
      const when = story(b).at("title");
      return { a: b.takes("a", models.image, picture, { count: 3, choose: "first", when }) };
    });
    expect(tried.step("a/1").when).toEqual({ ref: value("story", ["title"]).$ref, is: "truthy" });
    expect(tried.step("a/3")).toMatchObject({ when: { failed: "a/2" }, needs: ["a/2"] });
    expect((tried.step("a/pick") as PickStep).among.map(({ $ref }) => $ref.step)).toEqual(["a/1", "a/2", "a/3"]);
  });

  test.each<[string, object, string]>([
    ["a half count", { count: 1.5, choose: "first" }, "bad-option a count"],
    ["nobody to choose", { count: 2 }, "bad-option a choose"],
    ["an option that is none", { count: 2, choose: "first", seeds: 3 }, "bad-option a seeds"],
  ])("with %s are a problem", (_what, options, expected) => {
    const { told } = planned(({ takes }) => ({ a: takes("a", models.image, picture, options as never) }));
    expect(told).toEqual([expected]);
  });

  test("are said once, and so is what is wrong with them", () => {
    const { told } = planned(({ takes }) => {
      const wrong = { prompt: "x", quality: "ultra", at: new Date(0) } as never;
      return {
        a: takes("a", models.image, wrong, { count: 5, choose: "first" }),
        b: takes("b", "imge-1", {}, { count: 2, choose: "first" }),
      };
    });
    expect(told).toEqual(["not-json a input.at", "enum a input.quality", "unknown-model b model"]);
  });

  test("cannot count up from a seed that is not known yet", () => {
    const build = (b: Builder<unknown>) => ({
      a: b.takes("a", models.image, { ...picture, seed: story(b).at("count") }, { count: 1, choose: "first" }),
    });
    expect(planned(build).told).toEqual(["fixed-field a input.seed"]);
  });
});

describe("an expansion", () => {
  const shots = (more: object = {}, steps?: (scenes: readonly { prompt: string }[], b: Builder<unknown>) => unknown) =>
    planned((b) => {
      const style = b.job("style", models.image, picture);
      const draw = (scenes: readonly { prompt: string }[], inner: typeof b) =>
        scenes.map(({ prompt }, index) => inner.job(`s${index}`, models.image, { prompt, images: [style] }));
      const options = { maxSteps: 3, maxCost: "2", yields: "image", ...more } as const;
      const list = b.expand("shots", story(b).at("scenes"), (steps ?? draw) as typeof draw as never, options as never);
      const film = b.task("film", { list }, () => 1, { files: { film: "video" } });
      return { film, list: list as Handle };
    });

  test("is a list of what it says it yields, and has a budget of its own", () => {
    const tried = shots();
    expect(tried.step("shots") as ExpandStep).toMatchObject({
      ...{ kind: "expand", on: value("story", ["scenes"]), maxSteps: 3, version: "1" },
      ...{ yields: "image", maxCostMicros: 2_000_000, needs: ["story"] },
    });
    expect(tried.plan!.groups).toEqual({ shots: { maxCostMicros: 2_000_000 } });
    expect(tried.plan!.returns.list).toEqual({ $ref: { step: "shots", as: "asset", output: "all", kind: "image" } });
  });

  test("plans the steps that a value leads to, under its name", () => {
    const made = expanded(shots(), "shots", [{ prompt: "one" }, { prompt: "two" }]);
    expect(made).toMatchObject({ ok: true, groups: { shots: { maxCostMicros: 2_000_000 } } });
    if (!made.ok) return;
    expect(made.steps.map(({ path, needs }) => [path, needs])).toEqual([
      ["shots/s0", ["style"]],
      ["shots/s1", ["style"]],
    ]);
    expect(made.returns).toEqual(
      [0, 1].map((n) => ({ $ref: { step: `shots/s${n}`, as: "asset", output: 0, kind: "image" } })),
    );
  });

  test("takes a field of an outer input as that input has it", () => {
    const tried = planned((b) => {
      const told = story(b);
      const still = b.job("still", models.image, { prompt: told.at("title") });
      const prompt = still.input("prompt");
      const shots = b.expand("shots", told.at("scenes"), (_, i) => i.job("x", models.image, { prompt }), {
        maxSteps: 1,
      });
      return { shots: shots as Handle };
    });
    expect(expanded(tried, "shots", [])).toMatchObject({ steps: [{ input: { prompt: value("story", ["title"]) } }] });
  });

  test("binds the functions within it by their whole path", () => {
    const tried = shots({}, (_, b) => {
      const shot = b.takes("t", models.image, picture, { count: 1, choose: () => 1 });
      return b.task("cut", { shot }, () => 1, { files: { cut: "image" } });
    });
    const code = tried.draft.functions.get("shots");
    const inner = code?.kind === "expand" ? code.expand([]) : null;
    expect([...inner!.functions.keys()]).toEqual(["shots/t/pick", "shots/cut"]);
  });

  test.each<[string, object, string]>([
    ["a bound that is none", { maxSteps: Number.POSITIVE_INFINITY }, "bad-option shots maxSteps"],
    ["a cost that is no amount", { maxCost: "much" }, "bad-option shots maxCost"],
    ["paid options", { attempts: 2 }, "bad-option shots attempts"],
  ])("with %s is a problem", (_what, more, expected) => {
    expect(shots(more).told).toEqual([expected]);
  });

  test.each<[string, (b: Builder<unknown>) => unknown, string]>([
    ["of text", (b) => b.expand("e", text`x`, () => [], { maxSteps: 1 }), "not-a-value e value"],
    [
      "of what is known already",
      (b) => b.expand("e", [1, 2] as never, () => [], { maxSteps: 1 }),
      "not-a-value e value",
    ],
    [
      "that must hold values and does not say so",
      (b) => {
        const e = b.expand("e", story(b), (_, i) => i.job("x", models.image, picture), { maxSteps: 1 });
        return b.job("x", models.image, { prompt: e.output(0) as never });
      },
      "unknown-yield x input.prompt",
    ],
  ])("%s is a problem", (_what, build, expected) => {
    expect(planned(only(build)).told).toEqual([expected]);
  });

  const scenes = (count: number) => Array.from({ length: count }, () => ({ prompt: "x" }));
  const of = (steps: (b: Builder<unknown>) => unknown, count = 1, more: object = {}) => {
    const made = expanded(
      shots(more, (_, b) => steps(b)),
      "shots",
      scenes(count),
    );
    return made.ok ? [] : made.problems.map(({ code, step, field }) => `${code} ${step} ${field}`);
  };

  test("that leads to too many steps, or to wrong ones, is refused with every problem", () => {
    const tooMany = expanded(shots(), "shots", scenes(4));
    expect(tooMany.ok || tooMany.problems.map(({ code, message }) => [code, message])).toEqual([
      ["too-many-steps", "adds 4 steps, but maxSteps is 3; raise maxSteps"],
    ]);
    expect(
      of(({ job }) => [
        job("a", "imge-1", picture),
        job("b", "image-1", {}),
        job("b", "image-1", picture),
        job("c/d", "image-1", picture),
      ]),
    ).toEqual([
      "too-many-steps shots null",
      "unknown-model shots/a model",
      "duplicate-step shots/b null",
      "required shots/b input.prompt",
      "bad-step-name shots/c/d null",
    ]);
  });

  test("that returns what it did not promise is refused", () => {
    expect(of(({ job }) => job("a", models.speech, { text: "x", voice_id: "v" }))).toEqual([
      "expand-yields shots returns[0]",
    ]);
    expect(of(({ chat }) => chat("a", "m", { prompt: "x" }), 1, { yields: undefined })).toEqual([
      "expand-yields shots returns[0]",
    ]);
    expect(of(({ job }) => job("a", models.image, picture, { keep: false }))).toEqual(["not-kept shots returns[0]"]);
    expect(of(() => "nothing")).toEqual(["foreign-handle shots returns"]);
    expect(of(() => [])).toEqual([]);
  });

  test("whose function throws or is async is a problem, not a crash", () => {
    const thrown = of(() => {
      throw new Error("no scenes");
    });
    expect(thrown).toEqual(["build shots null"]);
    expect(of(async () => [])).toEqual(["build shots null"]);
  });

  test("whose function uses the methods of the build around it is told which ones to use", () => {
    let outer: Builder<unknown> | null = null;
    const tried = planned((b) => {
      outer = b;
      return { e: b.expand("e", story(b), () => outer!.job("x", models.image, picture), { maxSteps: 1 }) };
    });
    const made = expanded(tried, "e", {});
    expect(made.ok || made.problems.map(({ message }) => message)).toEqual([
      expect.stringContaining("inside expand, use the builder that is passed to its callback"),
    ]);
  });

  test("cannot use what waits for it: no circle can be written", () => {
    let later: Handle | undefined;
    const tried = planned((b) => {
      const told = story(b);
      const use = (_: unknown, inner: typeof b) => [
        inner.job("x", models.image, { ...picture, images: [later as never] }),
        inner.job("y", models.image, picture, { after: list }),
      ];
      const list: Handle = b.expand("shots", told.at("scenes"), use as never, { maxSteps: 9, yields: "image" });
      later = b.job("later", models.image, { ...picture, images: [list as never] });
      return { list };
    });
    const made = expanded(tried, "shots", [{ prompt: "x" }]);
    expect(made.ok || made.problems.map(({ code, step }) => `${code} ${step}`)).toEqual([
      "cycle shots/x",
      "cycle shots/y",
    ]);
  });

  test("within an expansion works the same", () => {
    const tried = shots({}, (_, b) => {
      const told = b.chat("again", "m", { prompt: "x" }, { schema: z.array(z.string()) });
      const inner = b.expand(
        "inner",
        told,
        (all, c) => all.map((prompt, n) => c.job(`i${n}`, models.image, { prompt })),
        {
          ...{ maxSteps: 2, maxCost: "1", yields: "image" },
        },
      );
      return inner.output(0);
    });
    const outer = expanded(tried, "shots", []);
    expect(outer).toMatchObject({ ok: true, groups: { shots: {}, "shots/inner": { maxCostMicros: 1_000_000 } } });
    const code = tried.draft.functions.get("shots");
    const within = code?.kind === "expand" ? code.expand([]).functions.get("shots/inner") : null;
    const drafted = within?.kind === "expand" ? within.expand(["a", "b"]) : null;
    expect(drafted?.steps.map(({ path }) => path)).toEqual(["shots/inner/i0", "shots/inner/i1"]);
  });
});

describe("an included pipeline", () => {
  const inner = pipeline("inner", {
    input: z.object({ prompt: z.string(), count: z.number().default(2) }),
    onFailure: "failFast",
    build: ({ input, job, task }) => {
      const made = Array.from({ length: input.count }, (_, n) => job(`p${n}`, models.image, { prompt: input.prompt }));
      return { made, info: task("info", { made }, () => 5) };
    },
  });

  test("has its names under its own, its budget nested, and returns its handles", () => {
    const tried = planned(({ include, job }) => {
      const part = include("part", inner, { prompt: "x" }, { maxCost: "3" });
      return { part, next: job("next", models.image, { ...picture, images: part.made, seed: part.info }) };
    });
    expect(tried.plan!.steps.map(({ path }) => path)).toEqual(["part/p0", "part/p1", "part/info", "next"]);
    expect(tried.plan!.groups).toEqual({ part: { maxCostMicros: 3_000_000 } });
    expect((tried.step("part/p0") as JobStep).policy.onFailure).toBe("failFast");
    expect((tried.step("next") as JobStep).policy.onFailure).toBeUndefined();
    expect([...tried.draft.functions.keys()]).toEqual(["part/info"]);
  });

  test("prune: false of a pipeline holds for all its steps, for an included one for that part, and a step's own counts more", () => {
    const part = pipeline("part", {
      input: z.object({}),
      prune: false,
      build: ({ job }) => ({ made: job("p", models.image, picture) }),
    });
    const prunes = (tried: ReturnType<typeof planned>) =>
      tried.plan?.steps.map((step) => [step.path, "policy" in step ? step.policy.prune : null]);
    const build = ({ job, include }: Builder<unknown>) => ({
      ...include("part", part, {}),
      a: job("a", models.image, picture),
      b: job("b", models.image, picture, { prune: true }),
      c: job("c", models.image, picture, { prune: false }),
    });
    const undone = undefined;
    expect(prunes(planned(build))).toEqual([
      ["part/p", false],
      ["a", undone],
      ["b", undone],
      ["c", false],
    ]);
    expect(prunes(planned(build, { prune: false }))).toEqual([
      ["part/p", false],
      ["a", false],
      ["b", undone],
      ["c", false],
    ]);
    expect(planned(({ job }) => ({ a: job("a", models.image, picture, { prune: "no" as never }) })).told).toEqual([
      "bad-option a prune",
    ]);
  });

  test("takes handles where its input is of no other kind", () => {
    const framed = pipeline("framed", {
      input: z.object({ picture: z.custom<Media<"image">>() }),
      build: ({ input, job }) => ({ framed: job("framed", models.image, { prompt: "x", images: [input.picture] }) }),
    });
    const tried = planned(({ include, job }) =>
      include("part", framed, { picture: job("own", models.image, picture) }),
    );
    expect((tried.step("part/framed") as JobStep).input).toMatchObject({ images: [{ $ref: { step: "own" } }] });
  });

  test("with a wrong input is a problem, and what uses it is checked all the same", () => {
    const { told } = planned(({ include, job, task }) => {
      const part = include("part", inner, { prompt: 5 } as never);
      job("uses", models.image, { prompt: "x", quality: "ultra" as never, images: part.made, seed: part.info });
      for (const one of part.made) job("never", models.image, { prompt: 5 as never, images: [one.output(0)] });
      task("reads", { info: part.info.value, at: part.info.at("x" as never) }, () => 1);
      return { all: part.made, first: part.made[0]! };
    });
    expect(told).toEqual(["input part input.prompt", "enum uses input.quality"]);
  });

  test.each<[string, (b: Builder<unknown>) => unknown, string]>([
    ["that is none", ({ include }) => include("part", {} as never, {}), "build null null"],
    [
      "under a name that is taken",
      (b) => [b.job("part", models.image, picture), b.include("part", inner, { prompt: "x" })],
      "duplicate-step part null",
    ],
    ["with a bad name", ({ include }) => include("a b", inner, { prompt: "x", count: 0 }), "bad-step-name a b null"],
    [
      "with options of a step",
      ({ include }) => include("part", inner, { prompt: "x" }, { after: [] } as never),
      "bad-option part after",
    ],
  ])("%s is a problem", (_what, build, expected) => {
    expect(planned(only(build)).told).toEqual([expected]);
  });

  test("that includes itself is a problem, not an endless loop", () => {
    const itself = pipeline("itself", {
      input: z.unknown(),
      build({ include }): Record<string, never> {
        include("again", itself, {});
        return {};
      },
    });
    const { problems } = planned(({ include }) => include("a", itself, {}));
    expect(problems.map(({ code }) => code)).toEqual(["build"]);
    expect(problems[0]!.message).toContain("again/again");
  });
});

test("a chain keeps the result before in a list", () => {
  const tried = planned(({ job }) => {
    let before: Media<"image">[] = [];
    for (const [index, prompt] of ["a", "b", "c"].entries()) {
      const earlier = before.length === 0 ? {} : { images: before };
      before = [job(`place-${index}`, models.image, { prompt, ...earlier })];
    }
    return { last: before as Handle[] };
  });
  expect(tried.plan!.steps.map(({ needs }) => needs)).toEqual([[], ["place-0"], ["place-1"]]);
});

test("a job of a model that does not exist is a problem, not a crash", () => {
  const { told } = planned(({ job }) => ({ a: job("a", undefined as never as string, picture) }));
  expect(told).toEqual(["unknown-model a model"]);
  const { problems } = planned(({ job }) => ({ a: job("a", "imge-1", picture) }));
  expect(problems[0]!.message).toContain("did you mean image-1?");
});

describe("options of every step", () => {
  test("say when a step runs, and what it waits for", () => {
    const tried = planned((b) => {
      const told = story(b);
      const { job } = b;
      const a = job("a", models.image, picture, { when: told.at("count") });
      job("b", models.image, picture, { when: not(told.at("title")) });
      job("c", models.image, picture, { when: equals(told.at("mood"), "calm") });
      job("d", models.image, picture, {
        when: failed(a),
        after: [b.takes("t", models.image, picture, { count: 2, choose: "first" }).outputs()],
      });
      return {};
    });
    const ref = (at: string) => value("story", [at]).$ref;
    expect(tried.step("a").when).toEqual({ ref: ref("count"), is: "truthy" });
    expect(tried.step("b").when).toEqual({ ref: ref("title"), is: "falsy" });
    expect(tried.step("c").when).toEqual({ ref: ref("mood"), equals: "calm" });
    expect(tried.step("d")).toMatchObject({ when: { failed: "a" }, needs: ["a", "t/1", "t/2"] });
    expect(tried.step("c").needs).toEqual(["story"]);
  });

  test.each<[string, (b: Builder<unknown>) => unknown, string]>([
    ["a plain value", ({ job }) => job("x", models.image, picture, { when: true as never }), "bad-option x when"],
    [
      "a place that is not there",
      (b) => b.job("x", models.image, picture, { when: story(b).at("tilte" as "title") }),
      "unknown-place x when",
    ],
    [
      "media",
      ({ job }) => job("x", models.image, picture, { when: job("a", models.image, picture) as never }),
      "not-a-value x when",
    ],
    [
      "the failure of no step",
      ({ job }) => job("x", models.image, picture, { when: failed("a" as never) }),
      "foreign-handle x when",
    ],
  ])("refuse %s as a condition", (_what, build, expected) => {
    expect(planned(only(build)).told).toEqual([expected]);
  });

  test("let a quorum count on lists whose length is not known yet", () => {
    const tried = planned(
      (b) => {
        const shots = b.expand("shots", story(b), (_, i) => i.job("x", models.image, picture), {
          ...{ maxSteps: 5, yields: "image" },
        });
        return { shots, film: b.task("film", { shots }, () => 1, { onFailure: quorum(4) }) };
      },
      { onFailure: quorum(3) },
    );
    expect(tried.plan?.onFailure).toEqual({ quorum: 3 });
  });

  test("say what becomes of the rest when a step fails", () => {
    const tried = planned(
      ({ job, task }) => {
        const pictures = [1, 2, 3].map((n) => job(`p${n}`, models.image, picture, { onFailure: "continue" }));
        return { film: task("film", { pictures }, () => 1, { files: { film: "video" }, onFailure: quorum(2) }) };
      },
      { onFailure: "failFast" },
    );
    expect(tried.plan!.onFailure).toBe("failFast");
    expect((tried.step("p1") as JobStep).policy.onFailure).toBe("continue");
    expect((tried.step("film") as TaskStep).policy.onFailure).toEqual({ quorum: 2 });
  });

  test("refuse a quorum of more than is returned", () => {
    expect(planned(() => ({}), { onFailure: quorum(1) }).told).toEqual(["bad-option null onFailure"]);
  });
});
