import { describe, expect, test } from "vitest";
import { PICTURE, SOUND } from "../../src/local-service/start.ts";
import {
  ask,
  type Body,
  estimate,
  made,
  post,
  read,
  refusal,
  start,
  startHeld,
  upload,
  uploaded,
} from "./support/service.ts";

const film = { aspect_ratio: "16:9", duration_ms: 5000, prompt: "waves" };

async function problems(input: unknown, model = "video-1"): Promise<Body> {
  const service = await start();
  const reply = await post(service, `/models/${model}/estimate`, { input });
  return reply.status === 200 ? "fine" : reply.body.error;
}

const without = (field: string) => Object.fromEntries(Object.entries(film).filter(([name]) => name !== field));

const shots = (...multi_prompt: readonly object[]) => ({ ...without("prompt"), multi_prompt });
const from = (start_image: object) => ({ ...film, start_image });
const WEB = "https://a.example/";

describe("the example video model", () => {
  test.each([
    ["the least", film],
    ["standard with 720p", { ...film, quality: "standard", resolution: "720p" }],
    ["pro with 1080p", { ...film, quality: "pro", resolution: "1080p" }],
    ["pro with 4K", { ...film, quality: "pro", resolution: "4K" }],
    ["shots in place of a prompt", shots({ prompt: "a" }, { prompt: "b" }, { prompt: "c" })],
    ["an empty shot prompt", shots({ prompt: "" })],
    ["a shot type without shots", { ...film, shot_type: "intelligent" }],
    ["a prompt of 2500 characters", { ...film, prompt: "𝒙".repeat(2500) }],
  ])("accepts %s [V7 V8 V10 V13 V15 V19 V23 V31 V32]", async (_name, input) => {
    expect(await problems(input)).toBe("fine");
  });

  test.each([
    ["no aspect ratio", without("aspect_ratio"), "input.aspect_ratio", "required"],
    ["an aspect ratio of 4:3", { ...film, aspect_ratio: "4:3" }, "input.aspect_ratio", "enum"],
    ["2 seconds", { ...film, duration_ms: 2000 }, "input.duration_ms", "enum"],
    ["seconds as text", { ...film, duration_ms: "5000" }, "input.duration_ms", "type"],
    ["pro without a resolution", { ...film, quality: "pro" }, "input.resolution", "required"],
    ["pro with 720p", { ...film, quality: "pro", resolution: "720p" }, "input.resolution", "enum"],
    ["standard with 1080p", { ...film, resolution: "1080p" }, "input.resolution", "enum"],
    ["standard with 4K", { ...film, quality: "standard", resolution: "4K" }, "input.resolution", "enum"],
    ["a resolution of 480p", { ...film, quality: "pro", resolution: "480p" }, "input.resolution", "enum"],
    ["a quality of best", { ...film, quality: "best" }, "input.quality", "enum"],
    ["neither prompt nor shots", without("prompt"), "input.prompt", "required"],
    ["both prompt and shots", { ...film, multi_prompt: [{ prompt: "a" }] }, "input.multi_prompt", "exclusive"],
    ["a prompt of white space", { ...film, prompt: " \n\t" }, "input.prompt", "pattern"],
    ["a prompt of control characters", { ...film, prompt: "\u0007\u009f" }, "input.prompt", "pattern"],
    ["a prompt of 2501 characters", { ...film, prompt: "x".repeat(2501) }, "input.prompt", "maxLength"],
    ["no shots", shots(), "input.multi_prompt", "minItems"],
    ["seven shots", shots(...Array(7).fill({ prompt: "a", duration_ms: 1000 })), "input.multi_prompt", "maxItems"],
    ["four shots of 5 s each", shots(...Array(4).fill({ prompt: "a" })), "input.multi_prompt", "max_total_duration_ms"],
    ["a shot without a prompt", shots({ duration_ms: 1000 }), "input.multi_prompt[0].prompt", "required"],
    ["two outputs", { ...film, num_outputs: 2 }, "input.num_outputs", "enum"],
    ["a cfg_scale above 1", { ...film, cfg_scale: 1.1 }, "input.cfg_scale", "maximum"],
    ["a media reference of no form", from({ source: "file" }), "input.start_image.source", "enum"],
    ["one that mixes the forms", from({ source: "asset", url: WEB }), "input.start_image.asset_id", "required"],
    ["a foreign URL", from({ source: "url", url: WEB }), "input.start_image.url", "not_found"],
    ["a job for an asset", from({ source: "asset", asset_id: "job_1" }), "input.start_image.asset_id", "not_an_asset"],
  ])(
    "refuses %s [E9 E13 E14 E15 E25 M7 M8 M9 O9 P2 V3 V4 V5 V6 V7 V8 V9 V10 V11 V13 V14 V17 V18 V19 V25 V26 V30 V31 V32 WC6 WC7 WC8 WJ17 WJ20]",
    async (_name, input, field, reason) => {
      const error = await problems(input);
      expect(error).toMatchObject({ code: "INVALID_ARGUMENT", param: field });
      expect(error.details.filter((item: Body) => item.reason !== "unknown_field")).toHaveLength(1);
      expect(error.details[0]).toMatchObject({ field, reason });
      expect(error.details[0].message.startsWith(`${field}:`)).toBe(true);
    },
  );

  test("refuses an end image without a start image [V33]", async () => {
    const service = await start();
    const end_image = await uploaded(service, PICTURE.bytes);
    const details = [{ field: "input.end_image", reason: "dependentRequired" }];
    expect(await estimate(service, "video-1", { ...film, end_image })).toMatchObject(refusal(400, { details }));
  });
});

test("all bad fields are listed at once, counted, and accepted names come with the first unknown one only [E9 E10 E15 E16 E17 E24 V1 WC6 X5]", async () => {
  const error = await problems({ ...film, aspect_ratio: "2:1", foo: 1, bar: 2, cfg_scale: -1 });
  expect(error.message).toContain("4 invalid input fields");
  const byField = Object.fromEntries(error.details.map((item: Body) => [item.field, item]));
  expect(Object.keys(byField).toSorted()).toEqual(["input.aspect_ratio", "input.bar", "input.cfg_scale", "input.foo"]);
  expect(byField["input.aspect_ratio"].allowed).toEqual(["16:9", "9:16", "1:1"]);
  expect(byField["input.foo"].allowed).toContain("start_image");
  expect(byField["input.bar"].allowed).toBeNull();
  const missing = { field: "input.aspect_ratio", reason: "required", allowed: ["16:9", "9:16", "1:1"] };
  expect((await problems({ prompt: "x" })).details).toContainEqual(expect.objectContaining(missing));
});

test.each([
  ["absent", undefined, "required"],
  ["null", null, "required"],
  ["a list", [], "type"],
])("an input that is %s is one bad field [P2]", async (_name, input, reason) => {
  expect((await problems(input)).details).toMatchObject([{ field: "input", reason }]);
});

test("media of another kind, too large, expired, or foreign are refused by name [E15 E26 M8 M11 M15 V27 WA1 WA3 WJ20]", async () => {
  const service = await start();
  const problem = async (start_image: unknown) =>
    (await estimate(service, "video-1", { ...film, start_image })).body.error?.details[0];
  const sound = await uploaded(service, SOUND.bytes);
  expect(await problem(sound)).toMatchObject({ field: "input.start_image", reason: "media_type", allowed: ["image"] });
  service.clock.manual();
  const { url, expires_at } = (await upload(service, PICTURE.bytes)).body;
  expect(expires_at).toBe(new Date(service.clock.now() + 3_600_000).toISOString());
  const picture = { source: "url", url };
  expect(await problem(picture)).toBeUndefined();
  expect(await problem({ ...picture, url: url.replace("file_", "file_0") })).toMatchObject({ reason: "not_found" });
  await service.clock.advance(3_600_000);
  expect(await problem(picture)).toMatchObject({ field: "input.start_image.url", reason: "expired" });
});

test("an asset is accepted until it expires, 24 hours after its submit [M9 O7 O8 O14 WJ13 WJ18]", async () => {
  const service = await startHeld();
  const job = await made(service, "image-1", { prompt: "x" });
  const { asset_id, expires_at } = job.outputs[0];
  const [{ created_at }] = (await read(service, "/jobs")).data;
  expect(Date.parse(expires_at)).toBe(Date.parse(created_at) + 24 * 3_600_000);
  const body = { input: { ...film, start_image: { source: "asset", asset_id } } };
  await service.clock.advance(Date.parse(expires_at) - service.clock.now() - 1);
  expect((await post(service, "/models/video-1/estimate", body)).status).toBe(200);
  await service.clock.advance(1);
  const expired = await post(service, "/models/video-1/estimate", body);
  expect(expired.body.error.details[0]).toMatchObject({ field: "input.start_image.asset_id", reason: "expired" });
  const after = (await read(service, `/jobs/${job.job_id}`)).outputs[0];
  expect(after).toMatchObject({ status: "EXPIRED", url: null, asset_id: null, expires_at: null, width: 64 });
  expect((await fetch(job.outputs[0].url)).ok).toBe(false);
});

test("a prompt that moderation objects to is 422, costs nothing and names the field [WA14]", async () => {
  const service = await start();
  const input = { prompt: "A Moderation-Refused picture" };
  const refused = await post(service, "/models/image-1", { input });
  expect(refused.status).toBe(422);
  expect(refused.body.error).toMatchObject({ code: "MODERATION_FAILED", param: "input.prompt" });
  const violent = await post(service, "/models/image-1", { input: { prompt: "moderation-refused:violence" } });
  expect(violent.body.error).toMatchObject({ param: "input.prompt", details: [{ reason: "violence" }] });
  expect(service.stats()).toMatchObject({ jobs_created: 0, charged_micros: 0 });
});

test("retired, unwired, unknown and old model ids answer alike everywhere [E11 E28 E35 WJ27 WJ28 X6 X7]", async () => {
  const service = await start();
  const ways = [
    ["GET", ""],
    ["GET", "/openapi.json"],
    ["POST", "/estimate"],
    ["POST", ""],
  ] as const;
  for (const [method, path] of ways) {
    const options = method === "POST" ? { body: { input: { prompt: "x" } } } : {};
    const reply = (model: string) => ask(service, method, `/models/${model}${path}`, options);
    expect(await reply("image-0")).toMatchObject(refusal(410, { code: "GONE", replaced_by: "image-1" }));
    expect(await reply("video-2")).toMatchObject(refusal(400, "FAILED_PRECONDITION"));
    expect(await reply("nothing")).toMatchObject(refusal(404, "NOT_FOUND"));
    expect((await reply("video-1-fast")).body.error.message).toContain('video-1 with quality "standard"');
  }
});

test("the input schema of the catalog entry and of openapi.json are the same, where keywords that OpenAPI does not know begin with x- [M4 M6 P7 P8 S15 WM2 X3]", async () => {
  const service = await start();
  for (const { id, modality } of (await read(service, "/models")).data) {
    if (modality === "text") continue;
    const entry = await read(service, `/models/${id}`);
    const document = await read(service, `/models/${id}/openapi.json`);
    expect(document.openapi).toMatch(/^3\.1\./);
    const { schema } = document.paths[`/models/${id}`].post.requestBody.content["application/json"];
    const plain = JSON.parse(JSON.stringify(schema.properties.input).replace(/"x-(\w+)":/g, '"$1":'));
    expect(plain).toEqual(entry.input_schema);
    expect(entry).toMatchObject({ price_description: expect.any(String), output_schema: { type: "object" } });
  }
});
