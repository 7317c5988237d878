/** Half a file is seen as one; a whole file that was written carelessly is not. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { damageOf } from "../../../../src/core/engine/media/media-reader.ts";
import { mediaSamples, type SampleName } from "../../../local-service/support/media-samples.ts";
import { newFolder } from "../../../support/temporary-folder.ts";

const samples = await mediaSamples();
const names = Object.keys(samples) as SampleName[];
const UNSTATED = { contentType: null, width: null, height: null, durationMs: null };

const folder = newFolder();

async function damage(bytes: Uint8Array, stated: object = UNSTATED): Promise<string | null> {
  const path = join(folder, "output");
  await writeFile(path, bytes);
  return damageOf(path, { ...UNSTATED, ...stated });
}

function statedOf(name: SampleName) {
  const { contentType, width, height, durationMs } = samples[name];
  return { contentType, width, height, durationMs };
}

describe.each(names)("%s", (name) => {
  const { bytes } = samples[name];

  test("is whole, as it is stated and where nothing is", async () => {
    expect(await damage(bytes, statedOf(name))).toBeNull();
    expect(await damage(bytes)).toBeNull();
  });

  test("is seen to be cut wherever it ends, whatever is stated of it", async () => {
    const unseen: number[] = [];
    for (let part = 4; part < 60; part++) {
      const end = Math.floor((bytes.length * part) / 60);
      if ((await damage(bytes.subarray(0, end))) === null) unseen.push(end);
    }
    expect(unseen).toEqual([]);
  });

  test("is whole with bytes behind its end, and with a size and duration that were rounded", async () => {
    const { width, height, durationMs, contentType } = statedOf(name);
    const rounded = { width: width && width * 1.5, height: height && height * 1.2, durationMs: durationMs && 1_080 };
    for (const tail of [Buffer.alloc(128), Buffer.from(`TAG${"x".repeat(125)}`)]) {
      expect(await damage(Buffer.concat([bytes, tail]), { contentType, ...rounded })).toBeNull();
    }
  });
});

test("a WAV whose header was written before its sound was known is whole, and half of it is known by its duration", async () => {
  const { bytes } = samples.wav;
  const streamed = Buffer.from(bytes);
  streamed.writeUInt32LE(0xffff_ffff, 4);
  streamed.writeUInt32LE(0xffff_ffff, 40);
  expect(await damage(streamed, { durationMs: 1_000 })).toBeNull();
  const half = streamed.subarray(0, 44 + Math.floor((streamed.length - 44) / 2));
  expect(await damage(half, { durationMs: 1_260 })).toBe("it lasts 500 ms, not 1260 ms");
});

test("a film with padding behind it is whole, even where the padding is cut", async () => {
  const padding = Buffer.from("000000806672656500000000", "hex");
  expect(await damage(Buffer.concat([samples.mp4.bytes, padding]))).toBeNull();
});

test("a film whose boxes are all there but one is not whole", async () => {
  const { bytes } = samples.mp4;
  const boxes: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += bytes.readUInt32BE(at)) {
    boxes.push(bytes.subarray(at, at + bytes.readUInt32BE(at)));
  }
  for (const missing of ["moov", "mdat"]) {
    const rest = boxes.filter((box) => box.toString("latin1", 4, 8) !== missing);
    expect(await damage(Buffer.concat(rest))).toBe(`its ${missing} box is missing`);
  }
});

test.each([
  ["a picture in place of a film", samples.png.bytes, { contentType: "video/mp4" }, "it is image/png, not video/mp4"],
  ["a preview", samples.jpeg.bytes, { width: 1024, height: 1024 }, "it is 96 × 64 pixels, not 1024 × 1024"],
])("%s is not what was stated", async (_what, bytes, stated, said) => {
  expect(await damage(bytes, stated)).toBe(said);
});

test.each([
  ["another format of the same kind", samples.jpeg.bytes, { contentType: "image/png" }],
  ["a picture on its side", samples.png.bytes, { width: 64, height: 96 }],
  ["a format that nobody knows", Buffer.alloc(500), { contentType: "audio/pcm" }],
  ["sound in the container of a film", samples.m4a.bytes, { contentType: "audio/mp4", durationMs: 1_000 }],
])("%s is taken as it comes", async (_what, bytes, stated) => {
  expect(await damage(bytes, stated)).toBeNull();
});
