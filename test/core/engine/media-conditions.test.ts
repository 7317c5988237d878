import { describe, expect, test } from "vitest";
import { priceTable } from "../../../src/cli/report/price-table.ts";
import type { Pipeline } from "../../../src/index.ts";
import { STOCK_VOICES } from "../../../src/local-service/catalog/builtin/index.ts";
import { mediaReference } from "../../../src/local-service/catalog/model.ts";
import { pipelineOf, stepOf } from "../../support/engine.ts";
import { localShow } from "../../support/local-show.ts";

const media = (media_type: "image" | "video" | "audio", bounds: object = {}) =>
  mediaReference({ media_type, role: "reference", max_file_size_bytes: 50_000_000, description: "", ...bounds });
const model = (id: string, modality: string, properties: object, required: readonly string[]) => ({
  ...{ id, modality, name: id, description: null, price_description: "" },
  input_schema: { type: "object", additionalProperties: false, required, properties },
});
const text = { type: "string", maxLength: 5000 };
const resolution = { type: "string", enum: ["768p", "1080p"] };
const quality = { type: "string", enum: ["standard", "pro"] };
const twoSeconds = media("audio", { min_duration_ms: 2000 });
const fiveSeconds = media("video", { min_duration_ms: 5000 });
const wide = media("image", { min_aspect_ratio: 1.5, min_dimension_px: 600 });

const catalog = [
  model("still-1", "image", { prompt: text, aspect_ratio: { type: "string" } }, ["prompt"]),
  model("tts-1", "audio", { text, voice_id: text, speed: { type: "number" } }, ["text", "voice_id"]),
  model("film-1", "video", { prompt: text, duration_ms: { type: "integer" } }, ["prompt", "duration_ms"]),
  model("face-1", "video", { start_image: media("image"), audio: twoSeconds }, ["start_image", "audio"]),
  model("wide-1", "video", { start_image: wide }, ["start_image"]),
  model("tiers-1", "video", { prompt: text, start_image: media("image"), resolution, quality }, ["start_image"]),
  model("upscale-1", "video", { source_video: fiveSeconds, resolution, quality, prompt: text }, ["source_video"]),
];

const when = { field: "quality", is: ["pro"] };
/** Known to the service alone. */
const families = ["tiers-1", "upscale-1"].map((name) => ({
  name,
  models: [name],
  rules: [{ kind: "values" as const, field: "resolution", values: ["1080p"], when, message: "pro is 1080p" }],
}));

const world = localShow({ catalog, families });

const voice_id = STOCK_VOICES[0]!.voiceId;

/** A still, a speech and a face that says it. Their text: as written, or as a local function says. */
function speaking(
  words: string,
  { expect: durationMs, isWritten = true }: { expect?: number; isWritten?: boolean } = {},
) {
  return pipelineOf("speaking", ({ job, task }) => {
    const said = isWritten ? words : task("words", null, () => words);
    const still = job("still", "still-1", { prompt: "a face" });
    const options = durationMs === undefined ? {} : { expect: { durationMs } };
    const line = job("line", "tts-1", { text: said, voice_id }, options);
    return { film: job("film", "face-1", { start_image: still, audio: line }) };
  });
}

/** One job behind another. */
const behind = (first: readonly [string, object], second: readonly [string, (first: unknown) => object]) =>
  pipelineOf("behind", ({ job }) => ({
    film: job("film", second[0], second[1](job("first", first[0], first[1] as never)) as never),
  }));

async function through(what: Pipeline) {
  const before = world.service.stats().jobs_created;
  const result = await world.run(what);
  return { result, bought: world.service.stats().jobs_created - before };
}

/** What plan and run say, having bought nothing. */
async function refusal(what: Pipeline) {
  const before = world.service.stats().jobs_created;
  const { ok, problems } = await world.show.quote(what, {});
  await expect(world.show.run(what, {}, {})).rejects.toMatchObject({ code: "PLAN_PROBLEMS", problems });
  expect([ok, world.service.stats().jobs_created - before]).toEqual([false, 0]);
  return problems;
}

describe("a plan that the service will refuse is refused before anything is bought", () => {
  test("for a speech that is too short for the face that says it", async () => {
    const message =
      "line is expected to last 1.3 s (according to its text of 18 characters) but must last at least 2.0 s; change line, or state its duration with expect: { durationMs } in its options";
    const problem = { code: "media-bounds", step: "film", field: "input.audio", message };
    expect(await refusal(speaking("Welcome on board!!"))).toEqual([problem]);
  });

  test("for fields that do not go together, behind a still", async () => {
    const start = (start_image: unknown) => ({ start_image, prompt: "it moves", resolution: "768p", quality: "pro" });
    const problem = { code: "enum", step: "film", field: "input.resolution" };
    expect(await refusal(behind(["still-1", { prompt: "a face" }], ["tiers-1", start]))).toMatchObject([problem]);
  });

  test("likewise behind a film, which nothing can take the place of, and for a film that is too short", async () => {
    const film = ["film-1", { prompt: "waves", duration_ms: 3000 }] as const;
    const taken = (source_video: unknown) => ({ source_video, resolution: "768p", quality: "pro" });
    const problems = await refusal(behind(film, ["upscale-1", taken]));
    expect(problems.map(({ field }) => field)).toEqual(["input.source_video", "input.resolution"]);
  });

  test("for a still of another shape than the film takes", async () => {
    const still = ["still-1", { prompt: "a face", aspect_ratio: "1:1" }] as const;
    const [problem] = await refusal(behind(still, ["wide-1", (start_image) => ({ start_image })]));
    expect(problem).toMatchObject({ code: "media-bounds", field: "input.start_image" });
  });
});

describe("a plan that may come out well is not refused", () => {
  const priceOf = async (what: Pipeline, step: string) => {
    const quote = await world.show.quote(what, {});
    expect(quote.problems).toEqual([]);
    return { ...quote.prices.find((price) => price.step === step), said: priceTable(quote) };
  };

  test.each([
    ["near the bound", speaking("Welcome on board, everybody!")],
    ["of a text that is not known yet", speaking("Hi.", { isWritten: false })],
    ["with tags that may pause", speaking('Hi <break time="3s"/>')],
  ])("%s it is priced, and says what the speech must be", async (_, what) => {
    const price = await priceOf(what, "film");
    const reason = "line must last at least 2.0 s";
    expect(price).toMatchObject({ basis: "provisional", reason, conditionalOn: ["line"] });
    expect(price.costMicros).toBeGreaterThan(0);
    expect(price.said).toContain("provisional: quoted again once its inputs are ready; line must last at least 2.0 s");
  });

  test.each([
    ["by its text", speaking("Welcome on board, everybody, and mind the gap between the ship and the quay!")],
    ["by what its author expects", speaking("Hi.", { expect: 3000 })],
    ["in another script", speaking("みなさん、ご乗船ありがとうございます。")],
  ])("a speech that is long enough %s has no condition", async (_, what) => {
    expect(await priceOf(what, "film")).toMatchObject({ basis: "provisional", reason: null });
  });

  test("a placeholder has the shape and size that the field takes", async () => {
    const what = behind(["still-1", { prompt: "a face" }], ["wide-1", (start_image) => ({ start_image })]);
    const price = await priceOf(what, "film");
    expect(price.costMicros).toBeGreaterThan(0);
    expect(price.reason).toBe("first must have an aspect ratio of at least 1.5 : 1");
  });

  test("where a value decides which fields go together", async () => {
    const what = pipelineOf("tier", ({ job, task }) => {
      const quality = task("quality", null, () => "standard");
      const start_image = job("still", "still-1", { prompt: "a face" });
      const input = { start_image, prompt: "it moves", resolution: "768p", quality };
      return { film: job("film", "tiers-1", input as never) };
    });
    expect((await priceOf(what, "film")).basis).toBe("provisional");
  });
});

test("the real medium is looked at before anything else is bought that only its user needs: the still is not bought", async () => {
  const { result, bought } = await through(speaking("Hi.", { expect: 3000, isWritten: false }));
  expect([result.status, bought]).toEqual(["failed", 2]);
  const careful = await through(speaking("Hi.", { isWritten: false }));
  expect([careful.result.status, careful.bought]).toEqual(["failed", 1]);
  const said = "input.audio: the media is 1000 ms long; at least 2000 is required";
  expect(stepOf(careful.result, "film").reason).toContain(said);
  expect(stepOf(careful.result, "still").status).toBe("skipped");
});
