import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createCanvas } from "@napi-rs/canvas";
import { afterAll, beforeAll, expect, test } from "vitest";
import { measureMedia } from "../../../src/core/engine/media/media-reader.ts";
import { fastFolder } from "../../../src/testing/surroundings.ts";

let folder: string;
beforeAll(async () => {
  folder = await fastFolder("measure-media-");
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function written(name: string, bytes: Uint8Array): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, bytes);
  return path;
}

function picture(type: "png" | "jpeg" | "webp" | "gif" | "avif"): Promise<Buffer> {
  const canvas = createCanvas(40, 24);
  canvas.getContext("2d").fillRect(0, 0, 9, 9);
  return type === "png" ? canvas.encode("png") : canvas.encode(type as "jpeg");
}

test.each(["png", "jpeg", "webp", "gif", "avif"] as const)("the size of %s is read without decoding", async (type) => {
  const bytes = await picture(type);
  expect(await measureMedia(await written(type, bytes), "image")).toEqual({
    ...{ contentType: `image/${type}`, width: 40, height: 24, durationMs: null, fps: null },
  });
  const half = await written(`half-${type}`, bytes.subarray(0, bytes.length - 20));
  expect(await measureMedia(half, "image")).toEqual({
    fault: expect.stringContaining(`it is truncated (image/${type}): `),
  });
});

test("a photograph that EXIF turns on its side has the size that people see", async () => {
  const jpeg = await picture("jpeg");
  const turned = Buffer.from("ffe1002245786966000049492a0008000000010012010300010000000600000000000000", "hex");
  const path = await written("turned", Buffer.concat([jpeg.subarray(0, 2), turned, jpeg.subarray(2)]));
  expect(await measureMedia(path, "image")).toMatchObject({ width: 24, height: 40 });
});
