import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { greyMp4, greyPng, plainWav } from "../../src/core/kit/placeholder-media.ts";
import { PUBLISHED_MODELS } from "../../src/local-service/catalog/builtin/published.ts";
import type { LocalService } from "../../src/local-service/index.ts";
import type { MediaFile, RenderRequest } from "../../src/local-service/render/contract.ts";
import { createRenderer } from "../../src/local-service/render/index.ts";
import { newFolder } from "../support/temporary-folder.ts";
import { publishedInputs } from "./support/model-inputs.ts";
import { estimate, made, read, start, uploaded } from "./support/service.ts";

/* The models of hosted services, with the fields and limits that were published. */

async function inputs(service: LocalService) {
  return publishedInputs({
    image: await uploaded(service, Buffer.from(greyPng(512))),
    audio: await uploaded(service, Buffer.from(plainWav(2500, 6000))),
    video: await uploaded(service, Buffer.from(greyMp4(1500, { width: 96, height: 64 }))),
  });
}

describe("the models of hosted services", () => {
  test("are 27, and each takes its required fields, has a price, which it is charged, and makes what it says [P9 WM5]", async () => {
    const service = await start();
    const all = Object.entries(await inputs(service));
    expect(all).toHaveLength(PUBLISHED_MODELS.length);
    expect(all).toHaveLength(27);
    for (const [id, input] of all) {
      const { body } = await estimate(service, id, input);
      expect([id, body.cost]).toEqual([id, expect.any(Number)]);
      const { status, outputs, cost } = await made(service, id, input);
      expect([id, status, cost, outputs.length]).toEqual([id, "COMPLETED", body.cost, 1]);
      const { modality } = await read(service, `/models/${id}`);
      const kind = id.endsWith("voice-clone") ? null : modality;
      expect([id, outputs[0].content_type?.split("/")[0] ?? null]).toEqual([id, kind]);
    }
  });

  test.each([
    ["elevenlabs-sound-effects", { duration_ms: 30_001 }, "input.duration_ms"],
    ["elevenlabs-music", { lyrics: "la", force_instrumental: true }, "input.force_instrumental"],
    ["topaz-image-upscaler", { target_resolution: "8K" }, "input.target_resolution"],
    ["topaz-image-upscaler-transparency", { target_resolution: "4K" }, "input.target_resolution"],
    ["topaz-video-upscaler-starlight-precise", { reduce_sharpening: true }, "input.reduce_sharpening"],
    ["grok-imagine", { resolution: "2k" }, "input.quality"],
    ["minimax-h3", { resolution: "720p" }, "input.resolution"],
    ["wan-3-0", { quality: "pro" }, "input.quality"],
    ["gpt-image-2.5-flare", { quality: "ultra" }, "input.quality"],
  ])("%s refuses %j", async (id, wrong, field) => {
    const service = await start();
    const input = { ...(await inputs(service))[id], ...wrong };
    const { status, body } = await estimate(service, id, input);
    expect([status, body.error.details.map((detail: { field: string }) => detail.field)]).toEqual([400, [field]]);
  });

  test("a picture model draws at its standard level where none is given", async () => {
    const service = await start();
    const input = { prompt: "a boat", aspect_ratio: "1:1" };
    expect((await made(service, "mai-image-2-5", input)).quality).toBe("standard");
    expect((await made(service, "grok-imagine", input)).quality).toBe("standard");
  });
});

describe("what is rendered", () => {
  const folder = newFolder();
  const renderer = createRenderer();
  const file = async (name: string, bytes: Uint8Array, facts: Partial<MediaFile>): Promise<MediaFile> => {
    const path = join(folder, name);
    await writeFile(path, bytes);
    return { path, contentType: "", width: null, height: null, durationMs: null, ...facts };
  };
  const render = async (id: string, input: Record<string, unknown>, media: RenderRequest["media"] = {}) => {
    const model = PUBLISHED_MODELS.find(({ entry }) => entry.id === id)!;
    const kindOf = ({ width, durationMs }: MediaFile) =>
      width === null ? "audio" : durationMs === null ? "image" : "video";
    const measured = Object.entries(media).map(([name, files]) => [
      name,
      files.map((one) => ({ ...one, kind: kindOf(one) })),
    ]);
    const work = { input, media: Object.fromEntries(measured) as never };
    const { input: adapted, rename } = model.adapt!(work);
    const renamed = Object.fromEntries(Object.entries(media).map(([name, files]) => [rename[name] ?? name, files]));
    const voice = "voice_id" in input ? ({ base: "slt", pitchHz: 240, loudnessDb: null, label: "x" } as const) : null;
    const outPath = join(folder, `${id}.out`);
    const request = { kind: model.kind(work), index: 0, seed: 1, input: adapted, media: renamed, voice, outPath };
    return { ...(await renderer.render(request)), bytes: await readFile(outPath) };
  };

  test("is a larger picture and film, a sound as long as it was, and music and noise of the length that is asked for", async () => {
    const image = [await file("i.png", greyPng(300, 200), { width: 300, height: 200 })];
    const size = { width: 96, height: 64 };
    const source = [await file("v.mp4", greyMp4(400, size), { ...size, durationMs: 400 })];
    const audio = [await file("a.wav", plainWav(1250, 6000), { durationMs: 1250 })];
    const [large, video] = [{ width: 1620, height: 1080 }, { source_video: source }];
    for (const [id, input, media, facts] of [
      ["topaz-image-upscaler", { target_resolution: "1080p" }, { source_image: image }, large],
      ["topaz-image-upscaler-transparency", {}, { source_image: image }, { width: 600, height: 400 }],
      ["topaz-video-upscaler", { resolution: "1080p" }, video, { ...large, durationMs: 400 }],
      ["eyeline-id-relight", { prompt: "dusk" }, { ...video, images: image }, { ...size, durationMs: 400 }],
      ["elevenlabs-sound-effects", { text: "rain", duration_ms: 700 }, {}, { durationMs: 700 }],
      ["elevenlabs-music", { prompt: "calm", duration_ms: 3100 }, {}, { durationMs: 3100 }],
    ] as const)
      expect(await render(id, input, media), id).toMatchObject(facts);
    const isolated = await render("elevenlabs-audio-isolation", {}, { audio });
    expect(isolated).toMatchObject({ contentType: "audio/wav", durationMs: 1250 });
    const spoken = await render("elevenlabs-english-sts-v2", { voice_id: "voice_x" }, { audio });
    expect(spoken).toMatchObject({ durationMs: 1250 });
    expect(spoken.bytes.equals(isolated.bytes)).toBe(false);
    await renderer.close();
  }, 60_000);
});
