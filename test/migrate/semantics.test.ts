import { describe, expect, test } from "vitest";
import { id, migrateBodies } from "./support/migrate-one.ts";
import { wideCatalog } from "./support/wide-catalog.ts";

const image = { type: "image", text_prompt: "a lighthouse" };
const film = { text_prompt: "waves", aspect_ratio: "16:9", duration_ms: 5000 };
const speech = { type: "text_to_speech", voice_id: id(90), text: "Good evening." };

describe("batches", () => {
  test("of N become N jobs that share an input, with seeds that count on [X8]", () => {
    const { steps, field } = migrateBodies([{ ...image, batch_size: 3, seed: 7 }]);
    expect(steps).toEqual({
      "image-1-take-1": { prompt: "a lighthouse", seed: 7 },
      "image-1-take-2": { prompt: "a lighthouse", seed: 8 },
      "image-1-take-3": { prompt: "a lighthouse", seed: 9 },
    });
    expect(field("batch_size")).toMatchObject({ outcome: "converted", newValue: "3 jobs" });
    expect(field("seed")).toMatchObject({ outcome: "converted", value: 7, newValue: [7, 8, 9] });
  });

  test("without a seed get one each, so that no two jobs are equal", () => {
    const { steps, field } = migrateBodies([{ ...image, batch_size: 2 }]);
    expect(Object.values(steps)).toEqual([
      { prompt: "a lighthouse", seed: 1 },
      { prompt: "a lighthouse", seed: 2 },
    ]);
    expect(field("seed")).toMatchObject({ given: false, outcome: "defaulted", newValue: [1, 2] });
  });

  test("begin anew where seeds end", () => {
    const { steps } = migrateBodies([{ ...image, batch_size: 3, seed: 4_294_967_294 }]);
    expect(Object.values(steps).map((input) => (input as { seed: number }).seed)).toEqual([
      4_294_967_294, 4_294_967_295, 0,
    ]);
  });

  test("on a model without a seed say that chance tells them apart", () => {
    const body = { type: "video", batch_size: 2, generated_video_inputs: { ...film, seed: 5 } };
    const { steps, field } = migrateBodies([body]);
    expect(Object.keys(steps)).toEqual(["video-1-take-1", "video-1-take-2"]);
    expect(field("generated_video_inputs.seed")).toMatchObject({
      outcome: "dropped",
      why: expect.stringContaining("variations are random"),
    });
    expect(field("batch_size")?.why).toContain("results are random");
  });

  test("ids of variations lead to their own job", () => {
    const { steps } = migrateBodies([
      { ...image, batch_size: 2, reserved_asset_ids: [id(1), id(2)] },
      { ...image, text_prompt: "two", batch_size: 2, batch_results: [{ asset_id: id(3) }, { asset_id: id(4) }] },
      { type: "video", start_keyframe_id: id(2), end_keyframe_id: id(4), generated_video_inputs: film },
    ]);
    expect(steps["video-3"]).toMatchObject({ start_image: "<image-1-take-2>", end_image: "<image-2-take-2>" });
  });
});

describe("speech", () => {
  test("within a video becomes a job of its own whose asset feeds the video [X8]", () => {
    const { steps, migration } = migrateBodies([
      { type: "video", start_keyframe_id: id(1), audio_generation: speech, generated_video_inputs: film },
    ]);
    expect(steps["video-1-speech"]).toEqual({
      text: "Good evening.",
      voice_id: expect.any(String),
      stability: 0,
      speed: 1,
    });
    expect(steps["video-1"]).toMatchObject({ audio: "<video-1-speech>", start_image: "<video-1-start>" });
    expect(migration.report.bodies[0]).toMatchObject({ outputs: ["video-1"], makes: { kind: "video", count: 1 } });
  });

  test.each([
    [undefined, 0],
    [0, 1],
    [1, 0],
    [0.3, 0.7],
    [0.9, 0.1],
  ])("stability %s of v2 is %s of v3", (stability, expected) => {
    const { steps } = migrateBodies([{ ...speech, stability }]);
    expect(steps["speech-1"]).toMatchObject({ stability: expected, speed: 1 });
  });

  test("of a clone is an edge; another voice is one question, or mapped", () => {
    const bodies = [
      { type: "voice_clone", audio_id: id(1), name: "Keeper", reserved_asset_id: id(2) },
      { ...speech, voice_id: id(2) },
      { ...speech, voice_id: id(3) },
      { ...speech, voice_id: id(3), text: "Again." },
    ];
    const { steps, migration, field } = migrateBodies(bodies);
    expect(steps).toMatchObject({
      keeper: { audio: "<keeper-sample>", name: "Keeper" },
      "speech-2": { voice_id: "<keeper>" },
    });
    expect(migration.report.inputs.map(({ name, is }) => [name, is])).toEqual([
      ["keeperSample", "file"],
      ["voice", "voice"],
    ]);
    expect(migration.report.decisions.filter(({ code }) => code === "voice_id")).toMatchObject([
      { where: ["body 3: voice_id", "body 4: voice_id"] },
    ]);
    expect(field("voice_id", 3)).toMatchObject({ outcome: "decision", newValue: "input voice" });
    const mapped = migrateBodies(bodies, { map: { [id(3)]: "voice_1f0c5f6e-0a51-4c3f-8f0e-5a1d0c9b7a01" } });
    expect(mapped.steps["speech-4"]).toMatchObject({ voice_id: "voice_1f0c5f6e-0a51-4c3f-8f0e-5a1d0c9b7a01" });
    expect(mapped.field("voice_id", 4)).toMatchObject({ outcome: "converted", why: "as mapped" });
  });

  test("preset voices of a model are offered as its choices", () => {
    const { migration } = migrateBodies([{ type: "speech_to_speech", audio_id: id(1), voice_id: id(2) }], {
      catalog: wideCatalog(),
    });
    expect(migration.report.inputs.find(({ is }) => is === "choice")).toMatchObject({ choices: ["ada", "grace"] });
    expect(migration.source).toContain('voice: z.enum(["ada", "grace"])');
  });

  test("languages become codes; one that the model does not speak is a decision", () => {
    const fieldOf = (language: string) => migrateBodies([{ ...speech, language }]).field("language");
    expect(fieldOf("English")).toMatchObject({ outcome: "converted", newValue: "en" });
    expect(fieldOf("auto")).toMatchObject({ outcome: "dropped" });
    expect(fieldOf("Spanish")).toMatchObject({
      outcome: "decision",
      choices: ["leave it out", "en", "choose a model that supports it"],
    });
  });

  test("audio_start_ms becomes a local task that moves the sound", () => {
    const body = { type: "video", start_keyframe_id: id(1), generated_video_inputs: film };
    const { steps, field, migration } = migrateBodies([{ ...body, audio_generation: speech, audio_start_ms: -250 }]);
    expect(steps).toMatchObject({
      "video-1-audio-shifted": { sound: "<video-1-speech>" },
      "video-1": { audio: "<video-1-audio-shifted>" },
    });
    expect(field("audio_start_ms")).toMatchObject({ outcome: "converted", newValue: -250 });
    expect(migration.source).toContain('shiftSound({ from: sound.path, to: file("sound"), startMs: -250 })');
    expect(migrateBodies([{ ...body, audio_id: id(2), audio_start_ms: 0 }]).field("audio_start_ms")?.why).toBe(
      "an offset of 0 has no effect",
    );
    expect(migrateBodies([{ ...body, audio_start_ms: 9 }]).field("audio_start_ms")?.why).toBe(
      "there is no audio to shift",
    );
  });
});

describe("media", () => {
  test("ids that one body makes and another uses are edges, whatever their order", () => {
    const { steps, field } = migrateBodies([
      { type: "video", start_keyframe_id: id(1), generated_video_inputs: film },
      { ...image, reference_image_ids: [id(5), id(6)], reserved_asset_id: id(1) },
      { ...image, id: id(5), asset_id: id(6) },
    ]);
    expect(Object.keys(steps)).toEqual(["image-3", "image-2", "video-1"]);
    expect(steps["image-2"]).toMatchObject({ images: ["<image-3>", "<image-3>"] });
    expect(field("reserved_asset_id", 2)?.why).toBe(
      "v3 assigns its own ids; the output with this id is used by body 1",
    );
    expect(steps["video-1"]).toMatchObject({ start_image: "<image-2>" });
  });

  test("ids from outside are files to supply, one for each id; addresses too, without their signatures in the report", () => {
    const signed = "https://cdn.example/a.png?X-Amz-Signature=s3cr3t";
    const { steps, migration } = migrateBodies([
      { type: "video", start_keyframe_url: signed, generated_video_inputs: film },
      { type: "video", start_keyframe_id: id(1), end_keyframe_id: id(2), generated_video_inputs: film },
      { ...image, start_keyframe_id: id(1) },
    ]);
    expect(migration.report.inputs).toMatchObject([
      { name: "video1Start", kind: "image" },
      { name: "video2Start", kind: "image" },
      { name: "video2End", kind: "image" },
    ]);
    expect(steps["image-3"]).toMatchObject({ images: ["<video-2-start>"] });
    expect(JSON.stringify(migration.report) + migration.source).not.toContain("s3cr3t");
  });

  test("a record of an upload among the bodies names the file to supply, and says its kind", () => {
    const { migration, steps, field } = migrateBodies([
      { name: "Face of Ada.png", type: "image", reserved_asset_id: id(1) },
      { type: "video", start_keyframe_id: id(1), generated_video_inputs: film },
    ]);
    expect(migration.report.inputs).toMatchObject([{ name: "faceOfAda", is: "file", kind: "image" }]);
    expect(steps["video-2"]).toMatchObject({ start_image: "<face-of-ada>" });
    expect(migration.report.bodies[0]).toMatchObject({ status: "asset", makes: { count: 0 } });
    expect(field("reserved_asset_id")?.why).toContain("the output with this id is used by body 2");
  });

  test("an output of the wrong kind is a decision and a file to supply, not a broken plan", () => {
    const { field, steps } = migrateBodies([
      { type: "video", reserved_asset_id: id(1), generated_video_inputs: film },
      { ...image, reference_image_ids: [id(1)] },
    ]);
    expect(field("reference_image_ids[0]", 2)).toMatchObject({
      outcome: "decision",
      why: "body 1 produces this file; its type is video, but must be image",
    });
    expect(steps["image-2"]).toMatchObject({ images: ["<image-2-reference>"] });
  });

  test("references win over the keyframe of an image, and those beyond the model's maximum are decisions", () => {
    const references = [1, 2, 3, 4, 5, 6].map(id);
    const { field, steps } = migrateBodies([{ ...image, start_keyframe_id: id(9), reference_image_ids: references }]);
    expect(steps["image-1"]).toMatchObject({ images: { length: 4 } });
    expect(field("start_keyframe_id")?.why).toContain("takes precedence in v2");
    expect(field("reference_image_ids[4]")).toMatchObject({
      outcome: "decision",
      why: "image-1 accepts at most 4 in images",
    });
  });

  test("several speakers go to a model that takes several sounds", () => {
    const body = {
      type: "video",
      model_slug: "acme/talk-2",
      start_keyframe_id: id(1),
      audio_id: [id(2), id(3)],
      generated_video_inputs: film,
    };
    const { steps } = migrateBodies([body], { catalog: wideCatalog() });
    expect(steps["video-1"]).toMatchObject({ audios: ["<video-1-audio>", "<video-1-audio-2>"] });
  });

  test("an end frame without a start frame is a decision", () => {
    const { field, steps } = migrateBodies([{ type: "video", end_keyframe_id: id(1), generated_video_inputs: film }]);
    expect(steps["video-1"]).not.toHaveProperty("end_image");
    expect(field("end_keyframe_id")).toMatchObject({
      outcome: "decision",
      why: expect.stringContaining("start_image is required"),
    });
  });
});

describe("values", () => {
  test("durations, ratios and resolutions are snapped to what the model allows, with old and new value", () => {
    const { steps, field } = migrateBodies([
      {
        type: "video",
        generated_video_inputs: { text_prompt: "x", duration_ms: 20_000, aspect_ratio: "21:9", resolution: "1440p" },
      },
    ]);
    expect(steps["video-1"]).toEqual({
      prompt: "x",
      duration_ms: 15_000,
      aspect_ratio: "16:9",
      resolution: "1080p",
      quality: "pro",
    });
    expect(field("generated_video_inputs.duration_ms")).toMatchObject({
      outcome: "converted",
      value: 20_000,
      newValue: 15_000,
    });
    expect(field("generated_video_inputs.aspect_ratio")).toMatchObject({ value: "21:9", newValue: "16:9" });
    expect(field("generated_video_inputs.quality")).toMatchObject({
      given: false,
      outcome: "defaulted",
      newValue: "pro",
    });
  });

  test("pixels say resolution and shape", () => {
    const { steps } = migrateBodies([
      { type: "video", generated_video_inputs: { text_prompt: "x", resolution: "1080x1920" } },
    ]);
    expect(steps["video-1"]).toMatchObject({ resolution: "1080p", aspect_ratio: "9:16", quality: "pro" });
  });

  test("what a model has no field for is dropped with the reason", () => {
    const { field } = migrateBodies([
      { ...image, guidance_scale: 7, workspace_id: id(1), agent_thread_id: id(2), seed: null },
    ]);
    expect(field("guidance_scale")).toMatchObject({
      outcome: "dropped",
      why: "image-1 has no guidance_scale or guidance field",
    });
    expect(field("workspace_id")?.why).toBe("a v3 key belongs to one workspace");
    expect(field("seed")?.why).toBe("null is treated as absent");
  });

  test("a text that the model cannot take becomes input of the pipeline", () => {
    const { migration, field } = migrateBodies([
      { ...image, text_prompt: "x".repeat(4001) },
      { ...image, text_prompt: " " },
    ]);
    expect(migration.report.inputs.map(({ name, is }) => [name, is])).toEqual([
      ["image1Prompt", "text"],
      ["image2Prompt", "text"],
    ]);
    expect(field("text_prompt")).toMatchObject({
      outcome: "decision",
      why: "has 4001 characters; prompt accepts at most 4000",
    });
    expect(migration.source).toContain("image1Prompt: z.string().min(1).max(4000)");
  });

  test("shots take the place of the prompt, keep to the model's steps, and say how long the film is", () => {
    const shots = [
      { prompt: "wide", duration_ms: 3400 },
      { prompt: "close", duration_ms: 5000 },
    ];
    const { steps, field } = migrateBodies([
      { type: "video", generated_video_inputs: { ...film, multi_prompt: shots } },
    ]);
    expect(steps["video-1"]).toEqual({
      multi_prompt: [
        { prompt: "wide", duration_ms: 3000 },
        { prompt: "close", duration_ms: 5000 },
      ],
      aspect_ratio: "16:9",
      duration_ms: 8000,
      shot_type: "customize",
    });
    expect(field("generated_video_inputs.text_prompt")).toMatchObject({
      outcome: "decision",
      why: expect.stringContaining("v3 accepts either a prompt or shots"),
    });
    expect(field("generated_video_inputs.duration_ms")).toMatchObject({
      value: 5000,
      newValue: 8000,
      why: "the shots last 8000 ms",
    });
  });

  test.each([
    [
      "too many",
      Array.from({ length: 7 }, () => ({ prompt: "x", duration_ms: 3000 })),
      "there are 7 shots; video-1 accepts at most 6",
    ],
    [
      "too long",
      [1, 2].map(() => ({ prompt: "x", duration_ms: 9000 })),
      "the shots last 18000 ms; video-1 accepts at most 15000",
    ],
  ])("%s shots are a decision, and the prompt stands in", (_name, multi_prompt, why) => {
    const { steps, field } = migrateBodies([
      { type: "video", generated_video_inputs: { ...film, multi_prompt, shot_type: "customize" } },
    ]);
    expect(steps["video-1"]).toMatchObject({ prompt: "waves" });
    expect(field("generated_video_inputs.multi_prompt")).toMatchObject({
      outcome: "decision",
      why: `${why}; only text_prompt is used for now`,
    });
    expect(field("generated_video_inputs.shot_type")?.why).toBe("has an effect only if there are shots");
  });
});

/** Kinds that one model alone of the catalog does. */
const IS_ONLY = new Set(["text_to_sound", "speech_to_speech", "audio_isolation", "video_upscale"]);

describe("models", () => {
  const chosen = (body: object, map = {}) => {
    const { migration, field } = migrateBodies([{ ...image, ...body }], { catalog: wideCatalog(), map });
    const entry = field("model_slug") ?? field("ai_model_id");
    return [migration.report.steps[0]?.model, entry?.outcome, entry?.choices.length];
  };

  test("by their own name, by the table, with the level as quality, by similarity with a question, by --map", () => {
    expect(chosen({ model_slug: "acme/image-1" })).toEqual(["image-1", "converted", 0]);
    expect(chosen({ model_slug: "google/nano-banana-pro" })).toEqual(["nano-banana", "converted", 0]);
    expect(chosen({ model_slug: "acme/banana-draw" })).toEqual(["nano-banana", "decision", 2]);
    expect(chosen({ model_slug: "acme/unheard-of" })).toEqual(["image-1", "decision", 2]);
    expect(chosen({ model_slug: "acme/unheard-of" }, { "acme/unheard-of": "nano-banana" })).toEqual([
      "nano-banana",
      "converted",
      0,
    ]);
    expect(chosen({ ai_model_id: id(1) })).toEqual(["image-1", "decision", 2]);
    expect(chosen({ ai_model_id: id(1) }, { [id(1)]: "nano-banana" })).toEqual(["nano-banana", "converted", 0]);
  });

  test.each([
    [
      "text_to_sound",
      { text: "wind", duration_seconds: 2.3, loop: true },
      { prompt: "wind", duration_ms: 2500, loop: true },
    ],
    ["speech_to_speech", { audio_id: id(1), voice_id: id(2) }, { audio: "<upload>", voice_id: "ada" }],
    ["audio_isolation", { audio_id: id(1) }, { audio: "<upload>" }],
    ["image_upscale", { image_id: id(1), target_resolution: "4k" }, { image: "<upload>", resolution: "4K" }],
    ["video_upscale", { video_id: id(1), upscale_factor: 3 }, { source_video: "<upload>", scale: 4 }],
    [
      "video_to_video",
      { video_id: id(1), prompt: "noir" },
      { source_video: "<upload>", prompt: "noir", keep_audio: true },
    ],
    [
      "motion_control",
      {
        video_id: id(1),
        start_keyframe_id: id(2),
        generated_video_inputs: { text_prompt: "x", bounding_box_target: [[1, 2]] },
      },
      { source_video: "<upload>", start_image: "<upload>", prompt: "x", bounding_box_target: [[1, 2]] },
    ],
  ])(
    "%s is matched against the catalog, to be confirmed unless one alone does it; else it is open and the body kept",
    (type, rest, expected) => {
      const { steps, migration } = migrateBodies([{ type, ...rest }], { catalog: wideCatalog() });
      const [input] = Object.values(steps).filter((step) => typeof step === "object");
      expect(JSON.parse(JSON.stringify(input).replace(/"<[^"]*>"/g, '"<upload>"'))).toEqual(expected);
      expect(migration.report.decisions.some(({ code }) => code === "model_slug")).toBe(!IS_ONLY.has(type));
      if (type.endsWith("_upscale")) return;
      const open = migrateBodies([{ type, ...rest }]).migration.report;
      expect(open.bodies).toMatchObject([{ status: "open", body: { type, ...rest } }]);
      expect(open.decisions).toMatchObject([{ code: "open-body", where: ["body 1"] }]);
    },
  );

  test("a mapped model of another kind is not believed", () => {
    expect(chosen({ model_slug: "acme/x" }, { "acme/x": "video-1" })).toEqual(["image-1", "decision", 2]);
  });
});

test("names of bodies name their steps, each its own", () => {
  const { migration } = migrateBodies([
    { ...image, name: "Hero / Portrait!" },
    { ...image, name: "hero portrait" },
    { ...image, name: "3 ships" },
    { ...image, name: "input" },
    { ...image, name: "港" },
  ]);
  expect(migration.report.steps.map(({ name }) => name)).toEqual([
    "hero-portrait",
    "hero-portrait-2",
    "image-3-ships",
    "input-2",
    "image-5",
  ]);
});
