import { expect, test } from "vitest";
import { PICTURE } from "../../../src/local-service/start.ts";
import { type Body, estimate, key, made, post, read, start, uploaded } from "../support/service.ts";

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
    const { status, body } = await estimate(service, "video-1", input);
    return status === 200 ? "fine" : `${body.error.param} ${body.error.details[0].reason}`;
  };
  const fine = async (...inputs: readonly object[]) => {
    for (const input of inputs) expect([input, await reasonOf(input)]).toEqual([input, "fine"]);
  };
  const seconds = Array.from({ length: 15 }, (_, index) => 1000 * (index + 1));
  await fine(...seconds.slice(2).map((duration_ms) => ({ ...film, duration_ms })));
  for (const duration_ms of [2999, 3500, 16_000])
    expect(await reasonOf({ ...film, duration_ms })).toBe("input.duration_ms enum");
  await fine(...["16:9", "9:16", "1:1"].map((aspect_ratio) => ({ ...film, aspect_ratio })));
  await fine(...[0, 0.5, 1].map((cfg_scale) => ({ ...film, cfg_scale })));
  await fine(...["customize", "intelligent"].map((shot_type) => ({ ...film, shot_type })));
  await fine({ ...film, num_outputs: 1 }, { ...film, generate_audio: false });
  await fine({ ...film, negative_prompt: "x".repeat(2500) });
  await fine(shots(6, 2000), ...seconds.map((duration_ms) => shots(1, duration_ms)));
  const shot = "input.multi_prompt[0]";
  for (const [input, reason] of [
    [{ ...film, cfg_scale: -0.1 }, "input.cfg_scale minimum"],
    [{ ...film, generate_audio: "no" }, "input.generate_audio type"],
    [{ ...film, shot_type: "wild" }, "input.shot_type enum"],
    [{ ...film, negative_prompt: "x".repeat(2501) }, "input.negative_prompt maxLength"],
    ...[0, 500, 1500, 16_000].map((duration_ms) => [shots(1, duration_ms), `${shot}.duration_ms enum`] as const),
    [{ ...bare, multi_prompt: [{ prompt: 1 }] }, `${shot}.prompt type`],
    [{ ...bare, multi_prompt: [{ prompt: "a", seed: 1 }] }, `${shot}.seed unknown_field`],
    [shots(2, 8000), "input.multi_prompt max_total_duration_ms"],
  ] as const)
    expect(await reasonOf(input)).toBe(reason);
});

test("a start image alone, with an end image, or neither is fine under either quality [V34]", async () => {
  const service = await start();
  const picture = await uploaded(service, PICTURE.bytes);
  for (const tier of [{ quality: "standard" }, { quality: "pro", resolution: "4K" }]) {
    for (const frames of [{}, { start_image: picture }, { start_image: picture, end_image: picture }]) {
      expect((await estimate(service, "video-1", { ...film, ...tier, ...frames })).status).toBe(200);
    }
  }
});

test("a media reference in either form takes no other field [M10 V2]", async () => {
  const service = await start();
  const { asset_id } = (await made(service, "image-1", { prompt: "x" })).outputs[0];
  const forms = [await uploaded(service, PICTURE.bytes), { source: "asset", asset_id }];
  for (const form of forms) {
    const reply = async (start_image: object) => estimate(service, "video-1", { ...film, start_image });
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
      return (await post(service, "/models/video-1/estimate", body, credential)).body.error.details[0];
    };
    expect(await detail(picture)).toMatchObject({ field: "input.start_image.url", reason: "not_found" });
    const asset = { source: "asset", asset_id };
    expect(await detail(asset)).toMatchObject({ field: "input.start_image.asset_id", reason: "not_found" });
    expect((await read(service, "/jobs", { credential })).data).toEqual([]);
  },
);
