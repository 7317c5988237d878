import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { encodeSound } from "../../src/local-service/render/sound/render-speech.ts";
import { shiftSound } from "../../src/migrate/index.ts";
import { newFolder } from "../support/temporary-folder.ts";

const folder = newFolder();

interface WavFacts {
  readonly rate?: number;
  readonly bits?: number;
  readonly channels?: number;
  readonly coding?: number;
}

/** A WAV file of these bytes, with a chunk before the sound that readers skip. */
function wav(data: Uint8Array, { rate = 1000, bits = 16, channels = 1, coding = 1 }: WavFacts = {}): string {
  const frame = (bits / 8) * channels;
  const head = Buffer.alloc(20 + 16 + 10 + 8);
  head.write("RIFF\0\0\0\0WAVEfmt ", "latin1");
  head.writeUInt32LE(46 + data.length, 4);
  head.writeUInt32LE(16, 16);
  for (const [at, value] of [
    [20, coding],
    [22, channels],
    [32, frame],
    [34, bits],
  ] as const)
    head.writeUInt16LE(value, at);
  head.writeUInt32LE(rate, 24);
  head.writeUInt32LE(rate * frame, 28);
  head.write("LIST", 36, "latin1");
  head.writeUInt32LE(1, 40);
  head.write("data", 46, "latin1");
  head.writeUInt32LE(data.length, 50);
  const path = join(folder, `${Math.abs(data.length)}-${bits}-${channels}-${coding}.wav`);
  writeFileSync(path, Buffer.concat([head, data]));
  return path;
}

async function shifted(from: string, startMs: number): Promise<Buffer> {
  const to = join(folder, "out.wav");
  await shiftSound({ from, to, startMs });
  const bytes = readFileSync(to);
  expect(bytes.readUInt32LE(4)).toBe(bytes.length - 8);
  const at = bytes.indexOf("data", 12, "latin1");
  return bytes.subarray(at + 8, at + 8 + bytes.readUInt32LE(at + 4));
}

describe("shiftSound", () => {
  const samples = Buffer.from(Int16Array.from({ length: 100 }, (_, index) => index + 1).buffer);

  test("cuts off the beginning, to the sample", async () => {
    expect(await shifted(wav(samples), 30)).toEqual(samples.subarray(60));
  });

  test("puts silence before it: zeros, or the middle where samples have eight bits", async () => {
    expect(await shifted(wav(samples), -10)).toEqual(Buffer.concat([Buffer.alloc(20), samples]));
    expect(await shifted(wav(Buffer.alloc(9, 7), { bits: 8 }), -2)).toEqual(
      Buffer.from([128, 128, ...Buffer.alloc(9, 7)]),
    );
  });

  test("keeps channels together", async () => {
    expect(await shifted(wav(samples, { channels: 2 }), 10)).toEqual(samples.subarray(40));
  });

  test("takes MP3 too, and writes WAV", async () => {
    const rate = 24_000;
    const tone = Float32Array.from({ length: rate }, (_, at) => Math.sin((at * 2 * Math.PI * 220) / rate) / 2);
    const path = join(folder, "tone.mp3");
    writeFileSync(path, await encodeSound({ rate, channels: [tone] }, "mp3"));
    const [whole, later] = [await shifted(path, 0), await shifted(path, 250)];
    const frameBytes = readFileSync(join(folder, "out.wav")).readUInt16LE(32);
    expect(whole.length / frameBytes / rate).toBeCloseTo(1, 0);
    expect(later.equals(whole.subarray((rate / 4) * frameBytes))).toBe(true);
  });

  test("says why it cannot", async () => {
    await expect(shifted(wav(samples), 100)).rejects.toMatchObject({
      code: "SHIFT_SOUND",
      message: expect.stringContaining("shorter than"),
    });
    await expect(shifted(wav(samples, { coding: 85 }), 1)).rejects.toThrow(/neither PCM nor float/);
    const text = join(folder, "text.mp3");
    writeFileSync(text, "no sound at all");
    await expect(shifted(text, 1)).rejects.toThrow(/neither WAV nor MP3/);
  });
});
