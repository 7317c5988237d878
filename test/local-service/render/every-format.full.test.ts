/** Every format that uploads may have, as the input of the renderers that read such media, to the end. */
import { writeFile } from "node:fs/promises";
import { beforeAll, describe, expect, test } from "vitest";
import { decodeSound } from "../../../src/local-service/render/sound/decode.ts";
import { mediaSamples, PITCH_HZ, type SampleName } from "../support/media-samples.ts";
import { openBench } from "./bench.ts";
import { difference, readFrames, readPicture, readTracks } from "./look.ts";

const { render, path, media } = await openBench();
const samples = await mediaSamples();

beforeAll(async () => {
  for (const [name, { bytes }] of Object.entries(samples)) await writeFile(path(name), bytes);
});

/** A sample as the service hands it to a renderer. */
const input = (name: SampleName) => ({ ...media(name, samples[name].contentType), ...samples[name], path: path(name) });

const SOUNDS = ["wav", "mp3", "flac", "ogg", "vorbis", "m4a"] as const;

test.each(["png", "jpeg", "webp", "gif", "avif"] as const)("a film begins on a start frame in %s", async (name) => {
  const shot = { prompt: "x", resolution: "360p", duration_ms: 250, generate_audio: false };
  const out = `from-${name}.mp4`;
  const result = await render(out, { kind: "video", input: shot, media: { start_image: [input(name)] } });
  expect(result).toMatchObject({ width: 540, height: 360, durationMs: 250 });
  const [first] = await readFrames(path(out), [0]);
  expect(difference(first, await readPicture(path("png"), 540, 360))).toBeLessThan(6);
});

test.each(SOUNDS)("an avatar speaks a sound in %s, as long as it is", async (name) => {
  const talk = { prompt: "x", aspect_ratio: "1:1", resolution: "360p" };
  const files = { start_image: [input("png")], audio: [input(name)] };
  const out = `says-${name}.mp4`;
  const result = await render(out, { kind: "avatar", input: talk, media: files });
  expect(result).toMatchObject({ width: 360, height: 360, fps: 24 });
  expect(Math.abs((result.durationMs ?? 0) - 1000)).toBeLessThan(50);
  const [loud, loudest] = await readFrames(path(out), [1, 6]);
  // Its mouth, or the level in its place, moves with what it says.
  expect(difference(loud, loudest)).toBeGreaterThan(0.1);
  expect((await readTracks(path(out))).map(({ codec }) => codec)).toEqual(["avc", "aac"]);
});

test("sounds of all formats are joined, those in AAC as silence of their length", async () => {
  const talk = { prompt: "x", aspect_ratio: "1:1", resolution: "360p" };
  const files = { start_image: [input("png")], audio: SOUNDS.map(input) };
  const result = await render("joined.mp4", { kind: "avatar", input: talk, media: files });
  expect(Math.abs((result.durationMs ?? 0) - 1000 * SOUNDS.length)).toBeLessThan(150);
});

describe("a voice is cloned", () => {
  test.each(["wav", "mp3", "flac", "ogg", "vorbis"] as const)("from a sample in %s, at its pitch", async (name) => {
    const result = await render("none", { kind: "voice", media: { audio: [input(name)] } });
    expect(Math.abs((result.voice?.pitchHz ?? 0) - PITCH_HZ)).toBeLessThan(2);
  });

  test("from a sample in AAC, which nothing here decodes, as the stock voice", async () => {
    const result = await render("none", { kind: "voice", media: { audio: [input("m4a")] } });
    expect(result.voice).toMatchObject({ base: "slt", pitchHz: null, loudnessDb: null });
  });
});

test.each(["mp4", "mov", "webm"] as const)("a film in %s is enlarged, as long as it is", async (name) => {
  const { width, height } = samples[name];
  const out = `large-${name}.mp4`;
  const files = { source_video: [input(name)] };
  const result = await render(out, { kind: "video", input: { prompt: "x", scale: 2 }, media: files });
  expect(result).toMatchObject({ contentType: "video/mp4", width: width! * 2, height: height! * 2, fps: 5 });
  expect(Math.abs((result.durationMs ?? 0) - 1000)).toBeLessThan(10);
  expect(await readFrames(path(out), [0, -1])).toMatchObject([{ width: width! * 2 }, { height: height! * 2 }]);
});

test("the sound of a WebM stays with its film, whose pictures nothing here decodes", async () => {
  const files = { source_video: [input("webm")] };
  await render("heard.mp4", { kind: "video", input: { prompt: "x", scale: 2 }, media: files });
  const tracks = await readTracks(path("heard.mp4"));
  expect(tracks.map(({ codec }) => codec)).toEqual(["avc", "aac"]);
  const [middle] = await readFrames(path("heard.mp4"), [2]);
  const grey = { ...middle, rgba: middle.rgba.map((_, i) => (i % 4 === 3 ? 255 : 128)) };
  expect(difference(middle, grey)).toBeLessThan(4);
});

test.each(["wav", "mp3", "flac", "ogg", "vorbis"] as const)("a sound in %s is decoded whole", async (name) => {
  const { rate, channels } = await decodeSound(path(name));
  const [samplesOf] = channels;
  expect(Math.abs((samplesOf.length / rate) * 1000 - 1000)).toBeLessThan(50);
  expect(Math.max(...samplesOf)).toBeGreaterThan(0.2);
});
