import { readFile, writeFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import type { VoiceProfile } from "../../../src/local-service/render/contract.ts";
import { decodeSound } from "../../../src/local-service/render/sound/decode.ts";
import { encodeSound, sentencesOf } from "../../../src/local-service/render/sound/render-speech.ts";
import { activeLoudness, medianPitch } from "../../../src/local-service/render/sound/sound.ts";
import { words } from "../../support/word-list.ts";
import { openBench } from "./bench.ts";
import { buzz } from "./tone.ts";

const { render, path, media } = await openBench();
const text = "The ferry leaves at nine. Bring a warm coat and something to read.";
const sarah: VoiceProfile = { base: "slt", pitchHz: null, loudnessDb: null, label: "sarah" };

async function heard(name: string) {
  const { rate, channels } = await decodeSound(path(name));
  return { pitch: medianPitch(channels[0], rate), loudness: activeLoudness(channels[0], rate) };
}

async function clone(hz: number, rate: number): Promise<VoiceProfile> {
  await writeFile(path(`sample-${hz}.wav`), await encodeSound(buzz(hz, 3, rate), "wav"));
  const audio = [media(`sample-${hz}.wav`, "audio/wav")];
  const result = await render("none", { kind: "voice", input: { name: "keeper" }, media: { audio } });
  expect(result).toMatchObject({ contentType: null, sizeBytes: 0, width: null, durationMs: null });
  if (result.voice === null) throw new Error("a voice was made");
  return result.voice;
}

describe("a cloned voice", () => {
  test.each([
    [85, 16_000],
    [120, 44_100],
    [175, 48_000],
    [230, 22_050],
    [300, 16_000],
  ])(
    "of a sample at %i Hz (%i samples a second) has its pitch, and speech in it is measured there",
    async (hz, rate) => {
      const voice = await clone(hz, rate);
      expect(voice.label).toBe("keeper");
      expect(Math.abs((voice.pitchHz ?? 0) - hz)).toBeLessThan(2);
      await render(`clone-${hz}.wav`, { kind: "speech", input: { text }, voice });
      const { pitch, loudness } = await heard(`clone-${hz}.wav`);
      expect(Math.abs((pitch ?? 0) - hz)).toBeLessThan(3);
      expect(Math.abs((loudness ?? 0) - (voice.loudnessDb ?? 0))).toBeLessThan(1.5);
    },
  );

  test("takes a low voice for low samples and a high one for high samples", async () => {
    expect((await clone(90, 16_000)).base).toBe("rms");
    expect((await clone(210, 16_000)).base).toBe("slt");
  });

  test("of a sample that is no sound fails and says which field", async () => {
    await writeFile(path("bad.wav"), Buffer.from("RIFF????WAVEnothing here that could be read"));
    const failing = render("none", { kind: "voice", media: { audio: [media("bad.wav", "audio/wav")] } });
    await expect(failing).rejects.toMatchObject({ code: "RENDER_INPUT", message: expect.stringContaining("audio") });
  });
});

describe("speech", () => {
  test("is a WAV that is the same bytes every time", async () => {
    const result = await render("one.wav", { kind: "speech", input: { text }, voice: sarah });
    expect(result).toMatchObject({ contentType: "audio/wav", width: null, fps: null });
    expect(result.durationMs).toBeGreaterThan(3000);
    await render("two.wav", { kind: "speech", input: { text }, voice: sarah });
    expect(await readFile(path("one.wav"))).toEqual(await readFile(path("two.wav")));
  });

  test("is shorter by the speed, at the same pitch", async () => {
    const voice = { ...sarah, pitchHz: 200 };
    const slow = await render("slow.wav", { kind: "speech", input: { text, speed: 0.8 }, voice });
    const fast = await render("fast.wav", { kind: "speech", input: { text, speed: 1.2 }, voice });
    expect((slow.durationMs ?? 0) / (fast.durationMs ?? 1)).toBeCloseTo(1.5, 1);
    expect((await heard("slow.wav")).pitch).toBeCloseTo((await heard("fast.wav")).pitch ?? 0, -1);
  });

  test("keeps its tempo when the pitch moves", async () => {
    const low = await render("low.wav", { kind: "speech", input: { text }, voice: { ...sarah, pitchHz: 140 } });
    const high = await render("high.wav", { kind: "speech", input: { text }, voice: { ...sarah, pitchHz: 260 } });
    expect((low.durationMs ?? 0) / (high.durationMs ?? 1)).toBeCloseTo(1, 1);
  });

  test("comes as MP3 on request", async () => {
    const input = { text: "Hello.", output_format: "mp3" };
    const result = await render("hello.mp3", { kind: "speech", input, voice: sarah });
    expect(result).toMatchObject({ contentType: "audio/mpeg" });
  });

  test("of a text without a word that can be said fails", async () => {
    const failing = render("x.wav", { kind: "speech", input: { text: "你好 👋" }, voice: sarah });
    await expect(failing).rejects.toMatchObject({ code: "RENDER_INPUT" });
  });

  test("cuts a long text into pieces that lose no word", () => {
    const long = `${"word ".repeat(400)}end. “Fine” — said Zoë.`;
    const pieces = sentencesOf(long);
    expect(Math.max(...pieces.map((piece) => piece.length))).toBeLessThanOrEqual(280);
    expect(words(pieces.join(" ")).filter((word) => word === "word")).toHaveLength(400);
    expect(pieces.at(-1)).toBe('"Fine" , said Zoe.');
  });
});
