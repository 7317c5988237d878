import { expect, test } from "vitest";
import { PICTURE } from "../../../src/local-service/start.ts";
import { ask, type Body, get, key, made, start, uploaded } from "../support/service.ts";

/* The rest of the rules of the described video model; validation.test.ts has the others. */

const film = { aspect_ratio: "16:9", duration_ms: 5000, prompt: "waves" };
const { prompt: _prompt, ...bare } = film;
const shots = (count: number, duration_ms: number) => ({
  ...bare,
  multi_prompt: Array(count).fill({ prompt: "a", duration_ms }),
});

test("every listed value of the example model is accepted, and the next one beyond is not [V2 V3 V5 V12 V13 V14 V16 V18 V20 V22 V24 V25 V26]", async () => {
  const service = await start();
  const reasonOf = async (input: object) => {
    const { status, body } = await ask(service, "POST", "/models/video-1/estimate", { body: { input } });
    return status === 200 ? "fine" : `${body.error.param} ${body.error.details[0].reason}`;
  };
  for (let duration_ms = 3000; duration_ms <= 15_000; duration_ms += 1000) {
    expect(await reasonOf({ ...film, duration_ms })).toBe("fine");
  }
  for (const duration_ms of [2999, 3500, 16_000]) {
    expect(await reasonOf({ ...film, duration_ms })).toBe("input.duration_ms enum");
  }
  for (const aspect_ratio of ["16:9", "9:16", "1:1"]) expect(await reasonOf({ ...film, aspect_ratio })).toBe("fine");
  for (const cfg_scale of [0, 0.5, 1]) expect(await reasonOf({ ...film, cfg_scale })).toBe("fine");
  expect(await reasonOf({ ...film, cfg_scale: -0.1 })).toBe("input.cfg_scale minimum");
  expect(await reasonOf({ ...film, num_outputs: 1 })).toBe("fine");
  expect(await reasonOf({ ...film, generate_audio: false })).toBe("fine");
  expect(await reasonOf({ ...film, generate_audio: "no" })).toBe("input.generate_audio type");
  for (const shot_type of ["customize", "intelligent"]) expect(await reasonOf({ ...film, shot_type })).toBe("fine");
  expect(await reasonOf({ ...film, shot_type: "wild" })).toBe("input.shot_type enum");
  expect(await reasonOf({ ...film, negative_prompt: "x".repeat(2500) })).toBe("fine");
  expect(await reasonOf({ ...film, negative_prompt: "x".repeat(2501) })).toBe("input.negative_prompt maxLength");
  expect(await reasonOf(shots(6, 2000))).toBe("fine");
  expect(await reasonOf(shots(1, 15_000))).toBe("fine");
  for (let duration_ms = 1000; duration_ms <= 15_000; duration_ms += 1000) {
    expect(await reasonOf(shots(1, duration_ms))).toBe("fine");
  }
  for (const duration_ms of [0, 500, 16_000]) {
    expect(await reasonOf(shots(1, duration_ms))).toBe("input.multi_prompt[0].duration_ms enum");
  }
  expect(await reasonOf({ ...bare, multi_prompt: [{ prompt: 1 }] })).toBe("input.multi_prompt[0].prompt type");
  expect(await reasonOf({ ...bare, multi_prompt: [{ prompt: "a", seed: 1 }] })).toBe(
    "input.multi_prompt[0].seed unknown_field",
  );
  expect(await reasonOf(shots(1, 1500))).toBe("input.multi_prompt[0].duration_ms enum");
  expect(await reasonOf(shots(2, 8000))).toBe("input.multi_prompt max_total_duration_ms");
});

test("a start image alone, with an end image, or neither is fine under either quality [V34]", async () => {
  const service = await start();
  const picture = await uploaded(service, PICTURE.bytes);
  for (const tier of [{ quality: "standard" }, { quality: "pro", resolution: "4K" }]) {
    for (const frames of [{}, { start_image: picture }, { start_image: picture, end_image: picture }]) {
      const body = { input: { ...film, ...tier, ...frames } };
      expect((await ask(service, "POST", "/models/video-1/estimate", { body })).status).toBe(200);
    }
  }
});

test("a media reference in either form takes no other field [M10 V2]", async () => {
  const service = await start();
  const { asset_id } = (await made(service, "image-1", { prompt: "x" })).outputs[0];
  const forms = [await uploaded(service, PICTURE.bytes), { source: "asset", asset_id }];
  for (const form of forms) {
    const reply = async (start_image: object) =>
      ask(service, "POST", "/models/video-1/estimate", { body: { input: { ...film, start_image } } });
    expect((await reply(form)).status).toBe(200);
    expect((await reply({ ...form, name: "me" })).body.error.details).toMatchObject([
      { field: "input.start_image.name", reason: "unknown_field", allowed: Object.keys(form) },
    ]);
  }
});

test.each([{ owner_id: "colleague" }, { workspace_id: "elsewhere" }])(
  "an upload, an asset and a list of an account are unknown to %j [E34 M9 WC8 WC15 WJ19]",
  async (place) => {
    const service = await start();
    const picture = await uploaded(service, PICTURE.bytes);
    const { asset_id } = (await made(service, "image-1", { prompt: "x" })).outputs[0];
    const credential = await key(service, place);
    const detail = async (start_image: object): Promise<Body> => {
      const body = { input: { ...film, start_image } };
      return (await ask(service, "POST", "/models/video-1/estimate", { body, credential })).body.error.details[0];
    };
    expect(await detail(picture)).toMatchObject({ field: "input.start_image.url", reason: "not_found" });
    const asset = { source: "asset", asset_id };
    expect(await detail(asset)).toMatchObject({ field: "input.start_image.asset_id", reason: "not_found" });
    expect((await get(service, "/jobs", { credential })).body.data).toEqual([]);
  },
);
