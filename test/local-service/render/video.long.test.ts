import { readFile } from "node:fs/promises";
import { beforeAll, describe, expect, test } from "vitest";
import { openBench } from "./bench.ts";
import { difference, readFrames, readPicture, readTracks, whitest } from "./look.ts";

const { render, path, media } = await openBench();
const small = { aspect_ratio: "16:9", resolution: "360p" };

beforeAll(async () => {
  await Promise.all([
    render("start.png", { kind: "image", input: { prompt: "sailing boat at sunset", aspect_ratio: "16:9" } }),
    render("end.png", { kind: "image", input: { prompt: "mountains at night", aspect_ratio: "16:9" } }),
  ]);
});

describe("a video", () => {
  test("starts on the start frame, ends on the end frame, and moves in between [V27 V28]", async () => {
    const frames = { start_image: [media("start.png", "image/png")], end_image: [media("end.png", "image/png")] };
    const input = { ...small, prompt: "zoom in with sparks", duration_ms: 3000 };
    const result = await render("between.mp4", { kind: "video", input, media: frames });
    expect(result).toMatchObject({ contentType: "video/mp4", width: 640, height: 360, durationMs: 3000, fps: 24 });
    const [first, middle, last] = await readFrames(path("between.mp4"), [0, 36, -1]);
    const start = await readPicture(path("start.png"), 640, 360);
    const end = await readPicture(path("end.png"), 640, 360);
    expect(difference(first, start)).toBeLessThan(1.6);
    expect(difference(last, end)).toBeLessThan(1.6);
    expect(difference(middle, start)).toBeGreaterThan(10);
    expect(difference(middle, end)).toBeGreaterThan(10);
  });

  test("loses the caption of a start frame that was drawn here, before the camera would carry it away", async () => {
    const start = media("start.png", "image/png");
    const input = { ...small, prompt: "static", duration_ms: 1500 };
    const letters = { left: 0.02, top: 0.92, right: 0.17, bottom: 0.97 };
    const seen: number[][] = [];
    for (const isCaptioned of [true, false]) {
      const name = `captioned-${isCaptioned}.mp4`;
      await render(name, { kind: "video", input, media: { start_image: [{ ...start, isCaptioned }] } });
      seen.push((await readFrames(path(name), [0, -1])).map((frame) => whitest(frame, letters)));
    }
    const [[first, last], [, lastWithout]] = seen as [[number, number], [number, number]];
    expect(first).toBeGreaterThan(200);
    expect(lastWithout).toBeGreaterThan(200);
    expect(last).toBeLessThan(150);
  });

  test("has an AAC track no longer than its pictures, unless generate_audio is false [V24]", async () => {
    const input = { ...small, prompt: "waves on the beach", duration_ms: 3000 };
    await render("loud.mp4", { kind: "video", input });
    await render("mute.mp4", { kind: "video", input: { ...input, generate_audio: false } });
    const [video, audio] = await readTracks(path("loud.mp4"));
    expect(video).toEqual({ type: "video", codec: "avc", ms: 3000 });
    expect(audio).toMatchObject({ type: "audio", codec: "aac" });
    expect(audio?.ms).toBeGreaterThan(2900);
    expect(audio?.ms).toBeLessThanOrEqual(3000);
    expect(await readTracks(path("mute.mp4"))).toEqual([{ type: "video", codec: "avc", ms: 3000 }]);
  });

  test("is the same bytes for the same request", async () => {
    const input = { ...small, prompt: "a cat", duration_ms: 1000 };
    await Promise.all([render("a.mp4", { kind: "video", input }), render("b.mp4", { kind: "video", input })]);
    expect(await readFile(path("a.mp4"))).toEqual(await readFile(path("b.mp4")));
  });

  test("shows its shots one after the other, each for its duration, missing ones counted as five seconds [V17 V21]", async () => {
    const multi_prompt = [{ prompt: "red car at night", duration_ms: 1000 }, { prompt: "snowy forest cabin" }];
    const input = { ...small, multi_prompt, duration_ms: 6000, generate_audio: false };
    const result = await render("shots.mp4", { kind: "video", input });
    expect(result.durationMs).toBe(6000);
    const [first, beforeCut, afterCut, last] = await readFrames(path("shots.mp4"), [0, 23, 24, -1]);
    expect(difference(beforeCut, afterCut)).toBeGreaterThan(40);
    expect(difference(first, beforeCut)).toBeLessThan(difference(beforeCut, afterCut) / 2);
    expect(difference(afterCut, last)).toBeLessThan(difference(beforeCut, afterCut) / 2);
  });

  test("lasts as long as its customized shots together, whatever duration_ms says [V21]", async () => {
    const [car, cabin] = ["red car at night", "snowy forest cabin"];
    const multi_prompt = [
      { prompt: car, duration_ms: 1000 },
      { prompt: cabin, duration_ms: 3000 },
    ];
    const input = { ...small, multi_prompt, shot_type: "customize", duration_ms: 10_000, generate_audio: false };
    expect(await render("custom.mp4", { kind: "video", input })).toMatchObject({ durationMs: 4000 });
    const [beforeCut, afterCut] = await readFrames(path("custom.mp4"), [23, 24]);
    expect(difference(beforeCut, afterCut)).toBeGreaterThan(40);
  });

  test("lasts exactly as long as requested even where no whole number of frames fits", async () => {
    const input = { ...small, prompt: "hills", duration_ms: 1234 };
    expect(await render("odd.mp4", { kind: "video", input })).toMatchObject({ durationMs: 1234, fps: 24 });
  });

  test("is really 1080p on request", async () => {
    const size = { aspect_ratio: "9:16", resolution: "1080p" };
    const input = { prompt: "city", ...size, duration_ms: 250, generate_audio: false };
    expect(await render("hd.mp4", { kind: "video", input })).toMatchObject({ width: 1080, height: 1920 });
  });

  test("given as source_video comes back twice as large with its own length and sound", async () => {
    await render("small.mp4", { kind: "video", input: { ...small, prompt: "a dog", duration_ms: 1000 } });
    const films = { source_video: [media("small.mp4", "video/mp4")] };
    const result = await render("large.mp4", { kind: "video", input: { scale: 2 }, media: films });
    expect(result).toMatchObject({ width: 1280, height: 720, durationMs: 1000, fps: 24 });
    expect((await readTracks(path("large.mp4"))).map((track) => track.codec)).toEqual(["avc", "aac"]);
  });
});
