import { copyFile, readFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { markFile, readMarks } from "../../../src/core/marks/index.ts";
import { decodedHash, exiftool } from "../../support/media-programs.ts";
import { makeSamples, type Samples, sampleNames } from "./samples.ts";

const PROPERTY = "XMP-iptcExt:DigitalSourceType";
const TRAINED = "http://cv.iptc.org/newscodes/digitalsourcetype/trainedAlgorithmicMedia";
const COMPOSITE = "http://cv.iptc.org/newscodes/digitalsourcetype/compositeWithTrainedAlgorithmicMedia";
const trained = { digitalSourceType: "trainedAlgorithmicMedia" } as const;
const composite = { digitalSourceType: "compositeWithTrainedAlgorithmicMedia" } as const;

let samples: Samples;

beforeAll(async () => {
  samples = await makeSamples();
});
afterAll(() => samples[Symbol.asyncDispose]());

async function copyOf(name: string): Promise<string> {
  const path = samples.path(`copy-${Math.random().toString(36).slice(2)}-${name}`);
  await copyFile(samples.path(name), path);
  return path;
}

test("exiftool reads the mark of every kind of file, and finds nothing wrong with it", async () => {
  const paths = await Promise.all(sampleNames.map(copyOf));
  const before = await exiftool(...paths);
  for (const path of paths) expect(await markFile(path, composite)).toEqual({ status: "marked" });
  const after = await exiftool(...paths);
  for (const [index, name] of sampleNames.entries()) {
    expect(after[index]?.[PROPERTY], name).toBe(COMPOSITE);
    expect(after[index]?.["ExifTool:Validate"], name).toBe(before[index]?.["ExifTool:Validate"]);
  }
});

// ffmpeg plays no animated WebP.
test.each(sampleNames.filter((name) => name !== "animated.webp"))(
  "pictures and sound of %s are those from before",
  async (name) => {
    const path = await copyOf(name);
    const before = await decodedHash(path);
    await markFile(path, trained);
    expect(await decodedHash(path)).toBe(before);
  },
);

test.each(sampleNames)("%s says what it was marked with, and keeps it", async (name) => {
  const path = await copyOf(name);
  expect(await readMarks(path)).toMatchObject({ digitalSourceType: null, contentCredentials: null, problem: null });
  await markFile(path, trained);
  expect(await readMarks(path)).toMatchObject({ digitalSourceType: TRAINED, problem: null });
  const marked = await readFile(path);
  expect(await markFile(path, composite)).toEqual({ status: "kept", digitalSourceType: TRAINED });
  expect((await readFile(path)).equals(marked)).toBe(true);
});
