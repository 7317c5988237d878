import { describe, expect, test } from "vitest";
import { models } from "../../../recipes/models.ts";
import { asset, type Builder, type Handle } from "../../../src/core/define/index.ts";
import { makePlan, traitsOf } from "../../../src/core/plan/index.ts";
import type { GenerateStep } from "../../../src/core/plan/kinds/generate.ts";
import { promiseText } from "../../../src/core/plan/kinds/generate.ts";
import type { PlanStep } from "../../../src/core/plan/plan.ts";
import { withOverlay } from "../../../src/core/plan/profile.ts";
import { builtInCatalog } from "../../support/built-in-catalog.ts";
import { planned } from "./support/planned.ts";

const model = { specificationVersion: "v4", provider: "paper.models", modelId: "m", doGenerate() {} };
const painter = { ...model, maxImagesPerCall: 4 };
const camera = { ...model, maxVideosPerCall: 1 };
const speaker = model;

/** One request `g` of a model, beside steps that its input may use. */
function request(
  of: object,
  input: object | ((uses: Sources) => object),
  options: object = {},
  name = "g",
): ReturnType<typeof planned> {
  return planned((b) => {
    const sources = sourcesOf(b);
    const given = typeof input === "function" ? input(sources) : input;
    b.generate(name, of as never, given as never, { maxCost: "0.05", ...options } as never);
    return {};
  });
}

interface Sources {
  readonly picture: Handle<"image">;
  readonly film: Handle<"video">;
  readonly words: Handle<"value">;
}

function sourcesOf({ job, chat }: Builder<unknown>): Sources {
  return {
    picture: job("picture", models.image, { prompt: "x" }),
    film: job("film", models.video, { prompt: "x", aspect_ratio: "16:9", duration_ms: 3000 }),
    words: chat("words", "chat-1", { prompt: "x" }),
  };
}

const step = (tried: ReturnType<typeof planned>) => tried.step("g") as GenerateStep;
const texts = ({ problems }: ReturnType<typeof planned>) => problems.map((one) => `${one.field}: ${one.message}`);

describe("a request to a provider", () => {
  test("is planned with its model, its input, its outputs and its price, and nothing else", () => {
    const tried = request(painter, ({ picture, words }) => ({ prompt: words, n: 4, files: [picture] }));
    const { fingerprint, ...planned } = step(tried);
    expect(planned).toEqual({
      kind: "generate",
      path: "g",
      needs: ["picture", "words"],
      model: "paper.models:m",
      provider: "paper",
      input: {
        prompt: { $ref: { step: "words", as: "value", output: 0 } },
        n: 4,
        files: [{ $ref: { step: "picture", as: "asset", kind: "image", output: 0 } }],
      },
      yields: "image",
      outputs: 4,
      promise: "once",
      policy: { attempts: 1, maxCostMicros: 50_000, keep: true },
    });
    expect(fingerprint).toMatch(/^f1_[0-9a-f]{64}$/);
  });

  test("has another fingerprint for another model and for another input", () => {
    const of = (changed: object, input: object) => step(request(changed, input)).fingerprint;
    const all = [
      of(painter, { prompt: "x" }),
      of({ ...painter, modelId: "n" }, { prompt: "x" }),
      of(painter, { prompt: "y" }),
    ];
    expect(new Set(all).size).toBe(3);
    expect(of(painter, { prompt: "x" })).toBe(all[0]);
  });

  test.each([
    [painter, { prompt: "x" }, "image", 10_000],
    [camera, { prompt: "x" }, "video", 90_000],
    [speaker, { text: "x" }, "audio", 8_000],
  ])("makes what its model makes, and says how it reads to people (%#)", (of, input, yields, typicalMs) => {
    const made = step(request(of, input));
    expect(made.yields).toBe(yields);
    expect(traitsOf(made as PlanStep)).toMatchObject({
      noun: "request to a provider",
      note: "paper.models:m, sent once",
      requested: { model: "paper.models:m", input },
      pricing: {
        by: "usage",
        maxCostMicros: 50_000,
        why: "paper does not quote a price in advance; sent once",
      },
      typicalMs,
      modality: yields,
      needsCode: true,
      readsFiles: true,
      keeps: true,
    });
  });

  test("says when it is sent again, and not where that changes nothing", () => {
    expect(step(request(painter, { prompt: "x" }, { repeatable: true })).repeatable).toBe(true);
    expect("repeatable" in step(request(painter, { prompt: "x" }))).toBe(false);
    const again = ", but sent again if the answer is lost";
    expect(promiseText({ promise: "once", repeatable: true })).toBe(`sent once${again}`);
    expect(promiseText({ promise: "found again", repeatable: true })).toBe(`sent once, then polled${again}`);
    expect(promiseText({ promise: "found again" })).toBe("sent once, then polled");
    expect(promiseText({ promise: "keyed", repeatable: true })).toBe(
      "sent with an idempotency key, so the provider generates the result only once",
    );
  });

  test("has the price that its author gives for this input", () => {
    const price = ({ prompt }: { readonly prompt: string }) => (prompt === "x" ? "0.02" : "0.03");
    const tried = request(painter, { prompt: "x" }, { price });
    expect(step(tried).policy.maxCostMicros).toBe(20_000);
    const edited = withOverlay(tried.draft, { edits: { g: { set: { prompt: "longer" }, without: [] } } });
    const outcome = makePlan(edited, { catalog: builtInCatalog(), files: new Map() });
    expect(outcome.ok && outcome.plan.steps.find(({ path }) => path === "g")).toMatchObject({
      input: { prompt: "longer" },
      policy: { maxCostMicros: 50_000 },
    });
  });
});

describe("the input of a request to a provider", () => {
  const media = "expects media, not text; pass upload(…), or the handle of a step that makes the file";
  const fields = "the accepted fields are prompt, n, size, aspectRatio, seed, files, mask, providerOptions";
  const url = "https://example.com/a.png";
  test.each<[string, object, object, string]>([
    ["no object", painter, [], "input: the input must be an object, such as { prompt: … }"],
    [
      "a field of another kind of model",
      painter,
      { prompt: "x", text: "y" },
      `input.text: image models do not accept text; ${fields}`,
    ],
    [
      "a mistyped field",
      camera,
      { prompt: "x", resolutoin: "720p" },
      "input.resolutoin: video models do not accept resolutoin; did you mean resolution?",
    ],
    ["speech without text", speaker, { voice: "v" }, "input.text: `text` is missing; set it to the text to speak"],
    ["a link in place of a picture", camera, { prompt: "x", image: url }, `input.image: image ${media}`],
    ["a link among pictures", painter, { prompt: "x", files: [[url]] }, `input.files: files ${media}`],
    [
      "a link in a frame",
      camera,
      { prompt: "x", frameImages: [{ frameType: "first", image: url }] },
      `input.frameImages: frameImages ${media}`,
    ],
  ])("%s is refused with its field", (_, of, input, expected) => {
    expect(texts(request(of, input))).toEqual([expected]);
  });

  test.each<[string, object, (uses: Sources) => object, readonly string[]]>([
    [
      "media where text goes",
      painter,
      ({ picture }) => ({ prompt: picture }),
      ["input.prompt: input.prompt expects text or a value, but picture makes media"],
    ],
    [
      "a value where media go",
      painter,
      ({ words }) => ({ prompt: "x", mask: words }),
      ["input.mask: input.mask expects media, but words yields a value"],
    ],
    [
      "a film where a picture goes",
      camera,
      ({ film }) => ({ prompt: "x", image: film }),
      ["input.image: input.image expects an image, but film makes video"],
    ],
    ["a film where any media go", camera, ({ film }) => ({ prompt: "x", inputReferences: [film] }), []],
    ["a value where text goes", speaker, ({ words }) => ({ text: words, voice: words }), []],
    [
      "a frame whose type is text",
      camera,
      ({ picture }) => ({ prompt: "x", frameImages: [{ frameType: "last", image: picture }] }),
      [],
    ],
    [
      "a file that only the service has",
      painter,
      () => ({ prompt: "x", mask: asset("image", "asset_1") as never }),
      [
        "input.mask: input.mask is asset_1; the asset is stored only on the service, not on this machine; pass upload(…), or the handle of a step that makes the file",
      ],
    ],
    ["options of the provider", painter, () => ({ prompt: "x", providerOptions: { paper: { url: "a" } } }), []],
  ])("%s", (_, of, input, expected) => {
    expect(texts(request(of, input))).toEqual(expected);
  });

  const whole = "n must be a whole number of at least 1; it cannot be the output of a step";
  const atMost = (count: number) => `n can be at most ${count} for this model; add steps for more outputs`;
  const unbounded = { ...painter, maxImagesPerCall: undefined };
  test.each<[unknown, object, string | null]>([
    [0, painter, whole],
    [1.5, painter, whole],
    ["2", painter, whole],
    [5, painter, atMost(4)],
    [2, camera, atMost(1)],
    [4, painter, null],
    [1, unbounded, null],
    [2, unbounded, atMost(1)],
    [9, { ...painter, maxImagesPerCall: () => 4 }, atMost(4)],
    [9, { ...painter, maxImagesPerCall: () => null }, null],
  ])("n: %j", (n, of, problem) => {
    const expected = problem === null ? [] : [`input.n: ${problem}`];
    expect(texts(request(of, { prompt: "x", n }))).toEqual(expected);
  });
});
