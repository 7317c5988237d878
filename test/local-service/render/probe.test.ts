import { readFile, writeFile } from "node:fs/promises";
import { beforeAll, describe, expect, test } from "vitest";
import { probe } from "../../../src/local-service/render/index.ts";
import { encodeSound } from "../../../src/local-service/render/sound/render-speech.ts";
import { mediaSamples } from "../support/media-samples.ts";
import { openBench } from "./bench.ts";
import { buzz } from "./tone.ts";

const { render, path } = await openBench(1);
const samples = await mediaSamples();

beforeAll(async () => {
  const picture = { prompt: "hills", aspect_ratio: "16:9", resolution: "360p" };
  await Promise.all([
    render("ok.png", { kind: "image", input: picture }),
    render("ok.jpg", { kind: "image", input: { ...picture, output_format: "jpeg" } }),
    render("ok.webp", { kind: "image", input: { ...picture, output_format: "webp" } }),
    render("ok.mp4", { kind: "video", input: { ...picture, duration_ms: 1000 } }),
    render("ok.mp3", { kind: "speech", input: { text: "Hello there.", output_format: "mp3" } }),
    encodeSound(buzz(120, 1), "wav").then((bytes) => writeFile(path("ok.wav"), bytes)),
  ]);
});

describe("probing", () => {
  const image = { kind: "image", width: 640, height: 360, durationMs: null, fps: null };
  test.each([
    ["ok.png", { ...image, contentType: "image/png" }],
    ["ok.jpg", { ...image, contentType: "image/jpeg" }],
    ["ok.webp", { ...image, contentType: "image/webp" }],
    ["ok.mp4", { kind: "video", contentType: "video/mp4", width: 640, height: 360, durationMs: 1000, fps: 24 }],
    ["ok.wav", { kind: "audio", contentType: "audio/wav", width: null, height: null, durationMs: 1000, fps: null }],
  ])("%s gives its type and measures", async (name, facts) => {
    expect(await probe(path(name))).toEqual({ ok: true, ...facts });
  });

  test("an MP3 is decoded for its length", async () => {
    const facts = { kind: "audio", contentType: "audio/mpeg", durationMs: expect.any(Number) };
    expect(await probe(path("ok.mp3"))).toMatchObject({ ok: true, ...facts });
  });

  test.each(["ok.png", "ok.jpg", "ok.webp", "ok.mp4", "ok.wav"])("%s cut to two thirds is not ok", async (name) => {
    const bytes = await readFile(path(name));
    await writeFile(path(`cut-${name}`), bytes.subarray(0, Math.floor(bytes.length * 0.66)));
    expect(await probe(path(`cut-${name}`))).toMatchObject({ ok: false, reason: expect.stringMatching(/decoded/) });
  });

  test.each(["gif", "vorbis"] as const)("a %s that is cut short is not ok", async (name) => {
    const { bytes } = samples[name];
    for (const part of name === "gif" ? [0.5, 0.66] : [0.66, 0.9, 0.99]) {
      await writeFile(path(`cut-${name}`), bytes.subarray(0, Math.floor(bytes.length * part)));
      expect(await probe(path(`cut-${name}`)), `${part}`).toMatchObject({ ok: false });
    }
  });

  test("a flipped bit in a PNG is found", async () => {
    const bytes = await readFile(path("ok.png"));
    const at = Math.floor(bytes.length / 2);
    bytes[at] = (bytes[at] ?? 0) ^ 0x10;
    await writeFile(path("flipped.png"), bytes);
    expect(await probe(path("flipped.png"))).toMatchObject({ ok: false, reason: expect.stringContaining("checksum") });
  });

  test("pictures overwritten with zeros in an MP4 are found", async () => {
    const bytes = await readFile(path("ok.mp4"));
    const start = bytes.indexOf("mdat") + 4;
    bytes.fill(0, start, start + 4000);
    await writeFile(path("zeroed.mp4"), bytes);
    expect(await probe(path("zeroed.mp4"))).toMatchObject({ ok: false });
  });

  test("a PNG that announces a giant size is refused before it is decoded", async () => {
    const bytes = await readFile(path("ok.png"));
    bytes.writeUInt32BE(60_000, 16);
    bytes.writeUInt32BE(60_000, 20);
    await writeFile(path("bomb.png"), bytes);
    expect(await probe(path("bomb.png"))).toMatchObject({ ok: false, reason: expect.stringContaining("too large") });
  });

  test.each([
    ["text", Buffer.from("just some words\n")],
    ["nothing", Buffer.alloc(0)],
    ["a ZIP", Buffer.from("PK\u0003\u0004 and so on, not media at all, but long enough to be sniffed")],
  ])("%s is not media", async (name, bytes) => {
    await writeFile(path(name), bytes);
    expect(await probe(path(name))).toMatchObject({ ok: false, reason: expect.any(String) });
  });

  test("a file that does not exist is a value too", async () => {
    expect(await probe(path("absent"))).toMatchObject({ ok: false });
  });
});
