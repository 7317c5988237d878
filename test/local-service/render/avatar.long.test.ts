import { writeFile } from "node:fs/promises";
import { beforeAll, describe, expect, test } from "vitest";
import { encodeSound } from "../../../src/local-service/render/sound/render-speech.ts";
import { openBench } from "./bench.ts";
import { difference, readFrames, readPicture, readTracks } from "./look.ts";
import { onAndOff } from "./tone.ts";

const { render, path, media } = await openBench();
const input = { prompt: "talks", aspect_ratio: "9:16", resolution: "360p" };

beforeAll(async () => {
  await render("face.png", { kind: "image", input: { prompt: "portrait of a man", aspect_ratio: "9:16" } });
  await render("boat.png", { kind: "image", input: { prompt: "sailing boat at sunset", aspect_ratio: "9:16" } });
  await writeFile(path("talk.wav"), await encodeSound(onAndOff(2.345), "wav"));
});

describe("an avatar", () => {
  test("is the given face, lasts as long as the sound, and has it as its sound [WJ36]", async () => {
    const files = { start_image: [media("face.png", "image/png")], audio: [media("talk.wav", "audio/wav")] };
    const result = await render("talk.mp4", { kind: "avatar", input, media: files });
    expect(result).toMatchObject({ contentType: "video/mp4", width: 360, height: 640, durationMs: 2345, fps: 24 });
    const [first] = await readFrames(path("talk.mp4"), [0]);
    const face = await readPicture(path("face.png"), 360, 640);
    const withoutMouth = { left: 0, top: 0, right: 1, bottom: 0.4 };
    expect(difference(first, face, withoutMouth)).toBeLessThan(4);
    expect((await readTracks(path("talk.mp4"))).map(({ codec }) => codec)).toEqual(["avc", "aac"]);
  });

  test("moves its mouth while the sound is loud and keeps it shut in silence", async () => {
    // Sound from 0.0 to 0.5 s and from 1.0 to 1.5 s; silence between and after.
    const [quiet, loud, quietAgain] = await readFrames(path("talk.mp4"), [19, 28, 44]);
    const mouth = { left: 0.38, top: 0.5, right: 0.62, bottom: 0.6 };
    expect(difference(quiet, loud, mouth)).toBeGreaterThan(3 * difference(quiet, quietAgain, mouth));
  });

  test("moves the mouth of a face that was drawn for a frame of another shape", async () => {
    await render("wide.png", { kind: "image", input: { prompt: "portrait of a man", aspect_ratio: "16:9" } });
    const files = { start_image: [media("wide.png", "image/png")], audio: [media("talk.wav", "audio/wav")] };
    await render("wide.mp4", { kind: "avatar", input, media: files });
    const [quiet, loud, quietAgain] = await readFrames(path("wide.mp4"), [19, 28, 44]);
    const mouth = { left: 0.38, top: 0.5, right: 0.62, bottom: 0.62 };
    const level = { left: 0.2, top: 0.8, right: 0.8, bottom: 0.88 };
    expect(difference(quiet, loud, mouth)).toBeGreaterThan(3 * difference(quiet, quietAgain, mouth));
    expect(difference(quiet, loud, level)).toBeLessThan(4);
  });

  test("takes AAC sound over as it is", async () => {
    const files = { start_image: [media("face.png", "image/png")], audio: [media("talk.mp4", "video/mp4")] };
    const result = await render("again.mp4", { kind: "avatar", input, media: files });
    expect(result.durationMs).toBeGreaterThan(2290);
    expect(result.durationMs).toBeLessThanOrEqual(2345);
  });

  test("shows a moving level where the picture has no face", async () => {
    const files = { start_image: [media("boat.png", "image/png")], audio: [media("talk.wav", "audio/wav")] };
    await render("level.mp4", { kind: "avatar", input, media: files });
    const [quiet, loud] = await readFrames(path("level.mp4"), [19, 28]);
    const low = { left: 0.2, top: 0.75, right: 0.8, bottom: 0.93 };
    const high = { left: 0.2, top: 0.05, right: 0.8, bottom: 0.25 };
    expect(difference(quiet, loud, low)).toBeGreaterThan(4 * difference(quiet, loud, high));
  });

  test("without a sound fails and says which field", async () => {
    const files = { start_image: [media("face.png", "image/png")] };
    const error = { code: "RENDER_INPUT", message: expect.stringContaining("audio") };
    await expect(render("x.mp4", { kind: "avatar", input, media: files })).rejects.toMatchObject(error);
  });
});
