import { describe, expect, test } from "vitest";
import { builtInCatalog } from "../support/built-in-catalog.ts";
import { id, migrateBodies } from "./support/migrate-one.ts";

/* Kinds of bodies that had no certain counterpart have one among the models that hosted services publish. */

const catalog = builtInCatalog();
const film = { text_prompt: "the same, at dusk" };
const KINDS: readonly (readonly [body: object, model: string, asked: boolean])[] = [
  [{ type: "text_to_sound", text: "rain", duration_seconds: 2.5 }, "elevenlabs-sound-effects", false],
  [{ type: "audio_isolation", audio_id: id(1) }, "elevenlabs-audio-isolation", false],
  [{ type: "speech_to_speech", audio_id: id(1), voice_id: id(2) }, "elevenlabs-multilingual-sts-v2", true],
  [{ type: "image_upscale", image_id: id(1), target_resolution: "4K" }, "topaz-image-upscaler", true],
  [{ type: "video_upscale", video_id: id(1), target_resolution: "2K" }, "topaz-video-upscaler", true],
  [
    { type: "video_to_video", video_id: id(1), prompt: "dusk", reference_image_asset_ids: [id(3)] },
    "eyeline-id-restyle",
    true,
  ],
  // Nothing transfers motion: what keeps the film is taken until somebody decides.
  [
    { type: "motion_control", video_id: id(1), start_keyframe_id: id(2), generated_video_inputs: film },
    "eyeline-id-restyle",
    true,
  ],
];

describe("a v2 body of a kind that was uncertain", () => {
  test.each(KINDS)("%j is a job of %s", (body, model, asked) => {
    const { migration, field } = migrateBodies([body], { catalog });
    expect(migration.report.steps.map((step) => step.model)).toEqual([model]);
    expect(field("model_slug")?.outcome === "decision").toBe(asked);
  });

  test("keeps the length of a sound effect, and the size of what is enlarged", () => {
    const { steps } = migrateBodies([KINDS[0]![0], KINDS[3]![0], KINDS[4]![0]], { catalog });
    expect(Object.values(steps).filter((step) => typeof step === "object")).toMatchObject([
      { text: "rain", duration_ms: 2500 },
      { target_resolution: "4K" },
      { resolution: "2K" },
    ]);
  });

  test("a factor is not lost on a model that upscales to a resolution", () => {
    const body = { type: "image_upscale", image_id: id(1), upscale_factor: 4, model_slug: "topaz-image-upscaler" };
    const { field } = migrateBodies([body], { catalog });
    expect(field("upscale_factor")).toMatchObject({
      outcome: "decision",
      why: expect.stringContaining("upscales to a resolution"),
    });
  });

  test("a voice is cloned by the service's own model or another, which is asked", () => {
    const { migration } = migrateBodies([{ type: "voice_clone", audio_id: id(1), name: "Ada" }], { catalog });
    expect(migration.report.decisions[0]?.choices).toEqual(["voice-clone-1", "elevenlabs-voice-clone"]);
  });
});
