import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { openBench } from "./bench.ts";
import { difference, readPicture } from "./look.ts";

const { render, path, media } = await openBench(1);
const portrait = { prompt: "portrait of a woman", aspect_ratio: "9:16" };

describe("an image", () => {
  test("is the same bytes for the same prompt, seed and index, and another picture for another seed or index", async () => {
    const input = { prompt: "mountains at dawn", aspect_ratio: "16:9" };
    await Promise.all([
      render("one.png", { kind: "image", input }),
      render("two.png", { kind: "image", input }),
      render("seed.png", { kind: "image", input, seed: 8 }),
      render("index.png", { kind: "image", input, index: 1 }),
    ]);
    const [one, two, seed, index] = await Promise.all(
      ["one", "two", "seed", "index"].map((n) => readFile(path(`${n}.png`))),
    );
    expect(one).toEqual(two);
    expect(one).not.toEqual(seed);
    expect(one).not.toEqual(index);
  });

  test.each([
    ["16:9", "720p", 1280, 720],
    ["9:16", "1080p", 1080, 1920],
    ["1:1", "1K", 1024, 1024],
    ["4:3", "2K", 2368, 1776],
  ])("of %s at %s is %i by %i pixels, measured", async (aspect_ratio, resolution, width, height) => {
    const input = { prompt: "a cat", aspect_ratio, resolution };
    const result = await render(`size-${resolution}.png`, { kind: "image", input });
    expect(result).toMatchObject({ contentType: "image/png", width, height, durationMs: null, fps: null, voice: null });
    expect(result.sizeBytes).toBe((await readFile(path(`size-${resolution}.png`))).length);
  });

  test.each([
    ["jpeg", "image/jpeg"],
    ["webp", "image/webp"],
  ])("comes as %s when asked", async (output_format, contentType) => {
    const input = { prompt: "a red car", output_format };
    expect(await render(`format.${output_format}`, { kind: "image", input })).toMatchObject({ contentType });
  });

  test("of a person has lips where an avatar will look for them", async () => {
    await render("face.png", { kind: "image", input: portrait });
    const { rgba, width } = await readPicture(path("face.png"), 768, 1368);
    const at = (x: number, y: number) =>
      [0, 1, 2].map((i) => rgba[(Math.round(y) * width + Math.round(x)) * 4 + i] ?? 0);
    const radius = Math.min(768 * 0.27, 1368 * 0.2);
    const [mouthY, noseY] = [1368 * 0.42 + radius * 0.78, 1368 * 0.42 + radius * 0.1];
    const redness = ([r = 0, g = 0]: number[]) => r - g;
    expect(redness(at(384, mouthY))).toBeGreaterThan(redness(at(384 - radius * 0.12, noseY)) + 8);
  });

  test("shows its reference image: the left of it lies nearer to the reference than a picture without one", async () => {
    await render("reference.png", { kind: "image", input: { prompt: "sailing boat at sunset", aspect_ratio: "16:9" } });
    const input = { prompt: "snowy forest", aspect_ratio: "16:9" };
    await render("plain.png", { kind: "image", input });
    await render("blended.png", { kind: "image", input, media: { images: [media("reference.png", "image/png")] } });
    const pictureOf = (name: string) => readPicture(path(`${name}.png`), 640, 360);
    const [reference, plain, blended] = await Promise.all([
      pictureOf("reference"),
      pictureOf("plain"),
      pictureOf("blended"),
    ]);
    const left = { left: 0, top: 0, right: 0.3, bottom: 0.8 };
    const right = { left: 0.8, top: 0, right: 1, bottom: 0.8 };
    expect(difference(blended, plain, left)).toBeGreaterThan(2 * difference(blended, reference, left));
    expect(difference(blended, reference, right)).toBeGreaterThan(difference(blended, plain, right));
  });
});
