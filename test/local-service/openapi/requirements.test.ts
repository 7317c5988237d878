import { rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { PUBLISHED_MODELS } from "../../../src/local-service/catalog/builtin/published.ts";
import { PICTURE, SOUND } from "../../../src/local-service/start.ts";
import { VOICE } from "../support/model-inputs.ts";
import {
  ask,
  type Body,
  finished,
  get,
  made,
  post,
  read,
  refusal,
  start,
  submit,
  upload,
  uploaded,
} from "../support/service.ts";

/* Sentences of the API description that no other suite is about; docs/internal/coverage.md names them all. */

const film = { prompt: "a cat", aspect_ratio: "9:16", duration_ms: 3000 };

test("each kind of output leaves null what it does not have, and its ids have their form [J10 O2 O6 O10 O12 O15 O16 O17 O18 O19 O20 O22 O23 S1]", async () => {
  const service = await start();
  const sound = await uploaded(service, SOUND.bytes);
  const of = async (model: string, input: unknown): Promise<Body> => (await made(service, model, input)).outputs[0];
  const uuid = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}";
  const asset = expect.stringMatching(new RegExp(`^asset_${uuid}$`));
  const whole = expect.any(Number);
  const size = { width: whole, height: whole };
  const ids = { asset_id: null, voice_id: null, url: null, expires_at: null };
  const none = { status: "COMPLETED", error: null, ...ids, content_type: null, width: null, height: null };
  const blank = { ...none, duration_ms: null, fps: null };
  const expires_at = expect.stringMatching(/^\d{4}-.*Z$/);
  const file = { ...blank, asset_id: asset, url: expect.stringMatching(/^http/), expires_at };
  const voice_id = expect.stringMatching(new RegExp(`^voice_${uuid}$`));
  expect(await of("image-1", { prompt: "x" })).toEqual({ ...file, content_type: "image/png", ...size });
  const moving = { ...file, content_type: "video/mp4", ...size, duration_ms: whole, fps: whole };
  expect(await of("video-1", film)).toEqual(moving);
  const spoken = { ...file, content_type: "audio/wav", duration_ms: whole };
  expect(await of("speech-1", { text: "Hello.", voice_id: VOICE })).toEqual(spoken);
  expect(await of("voice-clone-1", { audio: sound, name: "narrator" })).toEqual({ ...blank, voice_id });
});

test("uploading is free and works on an empty wallet; the submit meets the funding check, and only there [P27 S11 S12 WK5]", async () => {
  const service = await start({ balance: 0 });
  const { status, body } = await upload(service, PICTURE.bytes);
  expect(status).toBe(201);
  expect(await read(service, "/balance")).toMatchObject({ balance: 0, spent: 0 });
  const input = { image: { source: "url", url: body.url } };
  const refused = await post(service, "/models/upscale-1", { input });
  expect(refused.body.error.code).toBe("INSUFFICIENT_BALANCE");
  await service.fund(1);
  const { job_id } = await submit(service, "upscale-1", input);
  expect((await finished(service, job_id)).status).toBe("COMPLETED");
});

test("a download URL needs no credential, and stops working with its time [O13]", async () => {
  const service = await start();
  const { url } = (await made(service, "image-1", { prompt: "x" })).outputs[0];
  expect((await fetch(url)).headers.get("content-type")).toBe("image/png");
  await service.clock.advance(2 * 3_600_000);
  expect((await fetch(url)).status).toBe(403);
});

test("the catalog is listed whole, or by modality [P5 P6]", async () => {
  const service = await start();
  const ids = async (query: string) => (await read(service, `/models${query}`)).data.map((model: Body) => model.id);
  const own = ["image-1", "video-1", "avatar-1", "speech-1", "voice-clone-1", "upscale-1"];
  const published = (modality?: string) =>
    PUBLISHED_MODELS.flatMap(({ entry }) => (modality === undefined || entry.modality === modality ? [entry.id] : []));
  expect(await ids("")).toEqual([...own, ...published(), "chat-1"]);
  expect(await ids("?modality=audio")).toEqual(["speech-1", "voice-clone-1", ...published("audio")]);
  expect(await ids("?modality=image")).toEqual(["image-1", ...published("image")]);
  expect(await ids("?modality=text")).toEqual(["chat-1"]);
});

test("the old API's header is no credential here, and its endpoints are not here [A15 X4]", async () => {
  const service = await start();
  const headers = { "X-API-Key": service.apiKey };
  expect((await get(service, "/balance", { credential: null, headers })).status).toBe(401);
  expect((await post(service, "/generations", {})).status).toBe(404);
});

test("an unexpected error is a 500 that tells nothing of its cause, which the operator is told [E39]", async () => {
  const defects: string[] = [];
  const service = await start({ onDefect: (error, traceId) => defects.push(`${traceId} ${String(error)}`) });
  rmSync(join(service.dataDir, "incoming"), { recursive: true });
  const reply = await upload(service, PICTURE.bytes);
  expect(reply).toMatchObject(refusal(500, { code: "INTERNAL", retryable: true, retry_after: 1 }));
  expect(JSON.stringify(reply.body)).not.toMatch(/ENOENT|incoming|\//);
  expect(defects).toEqual([expect.stringContaining(`${reply.headers.get("x-trace-id")} Error: ENOENT`)]);
});

test("a message is the same for the same condition, whatever the request said [E3 E24]", async () => {
  const service = await start();
  const message = async (id: string) => (await read(service, `/jobs/${id}`)).error.message;
  expect(await message("job_x")).toBe(await message("<script>"));
  const bad = async (input: object) => (await post(service, "/models/image-1", { input })).body.error;
  expect((await bad({ prompt: 1 })).message).toBe((await bad({ prompt: "x", quality: "best" })).message);
  expect((await bad({ prompt: 1, quality: "best" })).message).toContain("2 invalid input fields");
});

test("a key and a token of it spend from one wallet, in either header form [A1 A2 A3 A4]", async () => {
  const service = await start();
  const { token } = (await post(service, "/tokens", {})).body;
  for (const credential of [`Key ${service.apiKey}`, `Bearer ${service.apiKey}`, `bearer ${token}`]) {
    const headers = { Authorization: credential };
    const body = { input: { prompt: "x" } };
    expect((await ask(service, "POST", "/models/image-1", { body, headers, credential: null })).status).toBe(202);
  }
  expect(await read(service, "/balance")).toMatchObject({ spent: 0.06 });
});
