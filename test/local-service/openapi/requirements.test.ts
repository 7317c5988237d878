import { rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { PUBLISHED_MODELS } from "../../../src/local-service/catalog/builtin/published.ts";
import { PICTURE, SOUND } from "../../../src/local-service/start.ts";
import { ask, type Body, finished, get, key, made, start, submit, upload, uploaded } from "../support/service.ts";

/* Sentences of the API description that no other suite is about; docs/internal/coverage.md names them all. */

const VOICE = "voice_1f0c5f6e-0a51-4c3f-8f0e-5a1d0c9b7a01";
const film = { prompt: "a cat", aspect_ratio: "9:16", duration_ms: 3000 };

test("each kind of output leaves null what it does not have, and its ids have their form [J10 O2 O6 O10 O12 O15 O16 O17 O18 O19 O20 O22 O23 S1]", async () => {
  const service = await start();
  const sound = await uploaded(service, SOUND.bytes);
  const of = async (model: string, input: unknown): Promise<Body> => (await made(service, model, input)).outputs[0];
  const uuid = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}";
  const asset = expect.stringMatching(new RegExp(`^asset_${uuid}$`));
  const whole = expect.any(Number);
  const file = {
    status: "COMPLETED",
    asset_id: asset,
    voice_id: null,
    url: expect.stringMatching(/^http/),
    error: null,
    expires_at: expect.stringMatching(/^\d{4}-.*Z$/),
  };
  expect(await of("image-1", { prompt: "x" })).toEqual({
    ...file,
    content_type: "image/png",
    width: whole,
    height: whole,
    duration_ms: null,
    fps: null,
  });
  expect(await of("video-1", film)).toEqual({
    ...file,
    content_type: "video/mp4",
    width: whole,
    height: whole,
    duration_ms: whole,
    fps: whole,
  });
  expect(await of("speech-1", { text: "Hello.", voice_id: VOICE })).toEqual({
    ...file,
    content_type: "audio/wav",
    width: null,
    height: null,
    duration_ms: whole,
    fps: null,
  });
  expect(await of("voice-clone-1", { audio: sound, name: "narrator" })).toEqual({
    ...file,
    asset_id: null,
    voice_id: expect.stringMatching(new RegExp(`^voice_${uuid}$`)),
    url: null,
    expires_at: null,
    content_type: null,
    width: null,
    height: null,
    duration_ms: null,
    fps: null,
  });
});

test("a failed output within a completed job says why, with code and message [E42 O3 O5 O22 S6]", async () => {
  const service = await start();
  service.faults([{ kind: "fail_output", outputs: [1], code: "MODERATION_FAILED" }]);
  const job = await made(service, "image-1", { prompt: "x", num_outputs: 3 });
  expect(job.status).toBe("COMPLETED");
  expect(job.outputs.map((output: Body) => output.status)).toEqual(["COMPLETED", "FAILED", "COMPLETED"]);
  expect(job.outputs[1]).toMatchObject({
    error: { code: "MODERATION_FAILED", message: expect.any(String) },
    asset_id: null,
    url: null,
  });
});

test("uploading is free and works on an empty wallet; the submit meets the funding check, and only there [P27 S11 S12 WK5]", async () => {
  const service = await start({ balance: 0 });
  const { status, body } = await upload(service, PICTURE.bytes);
  expect(status).toBe(201);
  expect((await get(service, "/balance")).body).toMatchObject({ balance: 0, spent: 0 });
  const input = { image: { source: "url", url: body.url } };
  const refused = await ask(service, "POST", "/models/upscale-1", { body: { input } });
  expect(refused.body.error.code).toBe("INSUFFICIENT_BALANCE");
  await service.fund(1);
  const { job_id } = await submit(service, "upscale-1", input);
  expect((await finished(service, job_id)).status).toBe("COMPLETED");
});

test("an upload is what its bytes are, whatever name and type it is sent with, and its handle holds for an hour [WA1 WA2 WA3]", async () => {
  const service = await start();
  service.clock.manual();
  const form = new FormData();
  form.append("file", new Blob([Uint8Array.from(PICTURE.bytes)], { type: "audio/mpeg" }), "song.mp3");
  const headers = { Authorization: `Bearer ${service.apiKey}` };
  const response = await fetch(`${service.baseUrl}/files`, { method: "POST", headers, body: form });
  expect([response.status, await response.json()]).toEqual([
    201,
    {
      url: expect.stringMatching(/^http/),
      content_type: "image/png",
      expires_at: new Date(service.clock.now() + 3_600_000).toISOString(),
    },
  ]);
});

test("a download URL needs no credential, and stops working with its time [O13]", async () => {
  const service = await start();
  const { url } = (await made(service, "image-1", { prompt: "x" })).outputs[0];
  expect((await fetch(url)).headers.get("content-type")).toBe("image/png");
  await service.clock.advance(2 * 3_600_000);
  expect((await fetch(url)).status).toBe(403);
});

test("an estimate is what the submit then charges; one that is impossible says so [P9 P10 WM5]", async () => {
  const service = await start();
  const estimate = async (model: string, input: unknown) =>
    (await ask(service, "POST", `/models/${model}/estimate`, { body: { input } })).body;
  const told = await estimate("video-1", film);
  expect(told).toEqual({ model: "video-1", cost: expect.any(Number), currency: "USD" });
  expect((await made(service, "video-1", film)).cost).toBe(told.cost);
  const image = await uploaded(service, PICTURE.bytes);
  expect(await estimate("upscale-1", { image })).toMatchObject({
    cost: null,
    quotable: false,
    reason: expect.any(String),
  });
});

test("the catalog is listed whole, or by modality [P5 P6]", async () => {
  const service = await start();
  const ids = async (query: string) => (await get(service, `/models${query}`)).body.data.map((model: Body) => model.id);
  const own = ["image-1", "video-1", "avatar-1", "speech-1", "voice-clone-1", "upscale-1"];
  const published = (modality?: string) =>
    PUBLISHED_MODELS.flatMap(({ entry }) => (modality === undefined || entry.modality === modality ? [entry.id] : []));
  expect(await ids("")).toEqual([...own, ...published(), "chat-1"]);
  expect(await ids("?modality=audio")).toEqual(["speech-1", "voice-clone-1", ...published("audio")]);
  expect(await ids("?modality=image")).toEqual(["image-1", ...published("image")]);
  expect(await ids("?modality=text")).toEqual(["chat-1"]);
});

test("a page has 20 items by default, and 100 at most [P11 P12 P15]", async () => {
  const service = await start({ balance: 100 });
  await Promise.all(Array.from({ length: 101 }, () => submit(service, "image-1", { prompt: "x" })));
  expect((await get(service, "/jobs")).body.data).toHaveLength(20);
  const page = (await get(service, "/jobs?limit=100")).body;
  expect(page.data).toHaveLength(100);
  expect((await get(service, `/jobs?limit=100&cursor=${page.next_cursor}`)).body).toMatchObject({
    data: [{ status: expect.any(String) }],
    next_cursor: null,
  });
});

test("a status carries no events unless logs_after asks for them [J13 J14 P22]", async () => {
  const service = await start();
  const { job_id } = await made(service, "image-1", { prompt: "x" });
  const plain = (await get(service, `/jobs/${job_id}/status`)).body;
  expect(Object.keys(plain)).toEqual(["job_id", "status", "progress", "estimated_completion_at"]);
  const tail = (await get(service, `/jobs/${job_id}/status?logs_after=start`)).body;
  expect(tail.logs.length).toBeGreaterThan(0);
  const newer = (await get(service, `/jobs/${job_id}/status?logs_after=${tail.logs_next_cursor}`)).body;
  expect([newer.logs, "logs_next_cursor" in newer]).toEqual([[], false]);
});

test("the old API's header is no credential here, and its endpoints are not here [A15 X4]", async () => {
  const service = await start();
  const headers = { "X-API-Key": service.apiKey };
  expect((await get(service, "/balance", { credential: null, headers })).status).toBe(401);
  expect((await ask(service, "POST", "/generations", { body: {} })).status).toBe(404);
});

test("the limit of one key does not touch another key [L1]", async () => {
  const service = await start({ rateLimit: { requests: 3, windowMs: 60_000 } });
  const other = await key(service, {});
  for (let n = 0; n < 3; n++) expect((await get(service, "/balance")).status).toBe(200);
  expect((await get(service, "/balance")).status).toBe(429);
  expect((await get(service, "/balance", { credential: other })).status).toBe(200);
});

test("an unexpected error is a 500 that tells nothing of its cause, which the operator is told [E39]", async () => {
  const defects: string[] = [];
  const service = await start({ onDefect: (error, traceId) => defects.push(`${traceId} ${String(error)}`) });
  rmSync(join(service.dataDir, "incoming"), { recursive: true });
  const { status, body, headers } = await upload(service, PICTURE.bytes);
  expect(status).toBe(500);
  expect(body.error).toMatchObject({ code: "INTERNAL", retryable: true, retry_after: 1 });
  expect(JSON.stringify(body)).not.toMatch(/ENOENT|incoming|\//);
  expect(defects).toEqual([expect.stringContaining(`${headers.get("x-trace-id")} Error: ENOENT`)]);
});

test("a message is the same for the same condition, whatever the request said [E3 E24]", async () => {
  const service = await start();
  const message = async (id: string) => (await get(service, `/jobs/${id}`)).body.error.message;
  expect(await message("job_x")).toBe(await message("<script>"));
  const bad = async (input: object) => (await ask(service, "POST", "/models/image-1", { body: { input } })).body.error;
  expect((await bad({ prompt: 1 })).message).toBe((await bad({ prompt: "x", quality: "best" })).message);
  expect((await bad({ prompt: 1, quality: "best" })).message).toContain("2 invalid input fields");
});

test("a key and a token of it spend from one wallet, in either header form [A4]", async () => {
  const service = await start();
  const { token } = (await ask(service, "POST", "/tokens", { body: {} })).body;
  for (const Authorization of [`Key ${service.apiKey}`, `Bearer ${service.apiKey}`, `Bearer ${token}`]) {
    const headers = { Authorization };
    const body = { input: { prompt: "x" } };
    expect((await ask(service, "POST", "/models/image-1", { body, headers, credential: null })).status).toBe(202);
  }
  expect((await get(service, "/balance")).body).toMatchObject({ spent: 0.06 });
});

test("a catalog's schema may refer to itself", async () => {
  const tree = {
    type: "object",
    required: ["prompt"],
    additionalProperties: false,
    properties: { prompt: { type: "string" }, parts: { type: "array", items: { $ref: "#" } } },
  };
  const service = await start({ catalog: [{ id: "tree-1", modality: "image", name: "Tree", input_schema: tree }] });
  await submit(service, "tree-1", { prompt: "a", parts: [{ prompt: "b", parts: [] }] });
  const refused = await ask(service, "POST", "/models/tree-1", {
    body: { input: { prompt: "a", parts: [{ prompt: 1 }] } },
  });
  expect(refused.body.error.param).toBe("input.parts[0].prompt");
});
