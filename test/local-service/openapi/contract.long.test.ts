import { crc32 } from "node:zlib";
import { describe, expect, test } from "vitest";
import { plainWav } from "../../../src/core/kit/placeholder-media.ts";
import type { LocalService } from "../../../src/local-service/index.ts";
import { FILM, PICTURE, SOUND } from "../../../src/local-service/start.ts";
import type { Receiver } from "../../support/receiver.ts";
import { words } from "../../support/word-list.ts";
import { deliveryUntil } from "../support/deliveries.ts";
import { exampleInputs, publishedInputs, VOICE } from "../support/model-inputs.ts";
import { receiver } from "../support/receiver.ts";
import {
  ask,
  type Body,
  contractOfService,
  finished,
  get,
  key,
  made,
  post,
  read,
  start,
  submit,
  upload,
  uploaded,
} from "../support/service.ts";

/* Every request goes through `ask` or `upload`, which hold the answer against the document. */

const NO_JOB = "job_00000000-0000-4000-8000-000000000000";

/** A good input for each model, with media of the key's own. */
async function inputs(service: LocalService, credential: string): Promise<Readonly<Record<string, Body>>> {
  const media = async (bytes: Uint8Array) => ({
    source: "url",
    url: (await upload(service, bytes, credential)).body.url,
  });
  const [image, audio] = [await media(PICTURE.bytes), await media(SOUND.bytes)];
  const long = await media(Buffer.from(plainWav(2500, 6000)));
  return { ...exampleInputs(image, audio), ...publishedInputs({ image, audio: long, video: await media(FILM.bytes) }) };
}

/** Without a credential, without its scope, over the limit, and when something breaks. */
async function everyOperationRefuses(service: LocalService): Promise<void> {
  const { operations, promised } = contractOfService(service);
  const bare = await key(service, { scopes: [] });
  const token = (await post(service, "/tokens", {})).body.token;
  const each = async (credential: string | null, among = operations) => {
    for (const operation of among) {
      const [method = "", path = ""] = operation.split(" ");
      await ask(service, method, path.replaceAll(/\{\w+\}/g, "unknown"), { credential });
    }
  };
  await each(null);
  await each("key_unknown:secret");
  await each(bare);
  await post(service, "/tokens", {}, token);
  service.faults([{ kind: "error", code: "INTERNAL" }]);
  await each(service.apiKey);
  service.faults([{ kind: "error", code: "RESOURCE_EXHAUSTED" }]);
  // What needs no credential counts against no limit.
  const limited = operations.filter((operation) => promised.includes(`${operation} 429`));
  await each(service.apiKey, limited);
  service.faults([]);
  await each(service.apiKey);
}

async function submits(service: LocalService): Promise<void> {
  const poor = await key(service, { workspace_id: "poor" });
  const [ours, theirs] = [await inputs(service, service.apiKey), await inputs(service, poor)];
  await post(service, "/models/image-1", { input: ours["image-1"], idempotency_key: "one" });
  await post(service, "/models/speech-1", { input: ours["speech-1"], idempotency_key: "two" });
  for (const [model, input] of Object.entries(ours)) {
    const path = `/models/${model}`;
    expect((await post(service, path, { input })).status, model).toBe(202);
    expect((await post(service, path, { input: { ...input, unknown: 1 } })).status, model).toBe(400);
    expect((await post(service, path, { input: theirs[model] }, poor)).status, model).toBe(402);
    const taken = model === "image-1" ? "two" : "one";
    expect((await post(service, path, { input, idempotency_key: taken })).status, model).toBe(409);
    const trigger = Object.fromEntries(
      ["prompt", "text", "name"].filter((name) => name in input).map((name) => [name, "moderation-refused"]),
    );
    await post(service, path, { input: { ...input, ...trigger } });
    await post(service, `${path}/estimate`, { input });
    await get(service, path);
    await get(service, `${path}/openapi.json`);
    await get(service, `${path}/voices?limit=1`);
    await get(service, `${path}/jobs`);
  }
  for (const model of ["image-0", "video-2", "nothing"]) {
    for (const more of ["", "/openapi.json", "/jobs", "/voices", "/voices/search?q=x"])
      await get(service, `/models/${model}${more}`);
    for (const more of ["", "/estimate"]) await post(service, `/models/${model}${more}`, { input: { prompt: "x" } });
  }
  await post(service, "/models/image-1/estimate", { input: {} });
  await post(service, "/models/image-1/estimate", { input: { prompt: "moderation-refused" } });
  for (const more of ["jobs", "voices"]) await get(service, `/models/speech-1/${more}?limit=0`);
  for (const query of ["", "?q=al&gender=male&language=en&limit=1"])
    await get(service, `/models/speech-1/voices/search${query}`);
  for (let count = 0; count < 10; count++) await post(service, "/models/image-1", { input: { prompt: "x" } }, poor);
  expect((await upload(service, PICTURE.bytes, poor)).status).toBe(402);
  await get(service, "/models?modality=audio");
  await get(service, "/models?modality=smell");
  await upload(service, new TextEncoder().encode("no media"));
}

async function jobs(service: LocalService): Promise<void> {
  for (const { job_id } of (await read(service, "/jobs?limit=100")).data) await finished(service, job_id);
  service.faults([
    { kind: "fail_output", outputs: [1] },
    { kind: "fail_job", prompt: "doomed" },
  ]);
  const half = await made(service, "image-1", { prompt: "two cats", num_outputs: 2 });
  await made(service, "image-1", { prompt: "doomed" });
  service.faults([]);
  const voice = await made(service, "voice-clone-1", (await inputs(service, service.apiKey))["voice-clone-1"]);
  await get(service, "/models/speech-1/voices");
  const one = `/jobs/${half.job_id}`;
  for (const more of words("/status /status?logs_after=start /status?logs_after=x /logs /logs?limit=2 /logs?limit=0")) {
    await get(service, one + more);
  }
  service.faults([{ kind: "delete_unavailable", count: 1 }]);
  expect((await ask(service, "DELETE", one)).status).toBe(503);
  expect((await ask(service, "DELETE", one)).status).toBe(204);
  expect((await ask(service, "DELETE", `/jobs/${voice.job_id}`)).status).toBe(400);
  await get(service, one);
  await get(service, `${one}/stream`);
  await get(service, "/jobs?limit=1");
  await get(service, "/jobs?limit=101");
  for (const more of ["", "/status", "/logs", "/stream"]) await get(service, `/jobs/${NO_JOB}${more}`);
}

/** A job that is still waiting, because time stands still. */
async function waiting(service: LocalService): Promise<void> {
  service.clock.manual();
  const { job_id } = await submit(service, "image-1", { prompt: "later" }, { webhook: "https://example.com/hook" });
  await get(service, `/jobs/${job_id}`);
  await get(service, `/jobs/${job_id}/status`);
  expect((await ask(service, "DELETE", `/jobs/${job_id}`)).status).toBe(409);
  await get(service, "/webhooks/deliveries");
  expect((await post(service, `/webhooks/deliveries/${job_id}/redeliver`, {})).status).toBe(409);
  await post(service, `/webhooks/deliveries/${NO_JOB}/redeliver`, {});
  service.clock.real();
}

async function account(service: LocalService): Promise<void> {
  for (const path of words(`
    /balance /usage /usage?group_by=day /usage?group_by=model /usage?group_by=moon /usage/llm?limit=1
    /usage/llm?start=then /transactions?limit=1 /transactions?limit=0 /keys?limit=1 /keys?limit=x
  `)) {
    await get(service, path);
  }
  const made = { name: "second", scopes: ["jobs:read"], kind: "service", expires_at: "2999-01-01T00:00:00Z" };
  const { key_id } = (await post(service, "/keys", made)).body;
  await post(service, "/keys", { scopes: ["nothing"] });
  await post(service, `/keys/${key_id}/rotate`, {});
  await post(service, `/keys/${key_id}/rotate`, { grace_period_seconds: -1 });
  await get(service, "/keys");
  expect((await ask(service, "DELETE", `/keys/${key_id}`)).status).toBe(204);
  expect((await post(service, `/keys/${key_id}/rotate`, {})).status).toBe(400);
  await get(service, "/keys");
  await post(service, "/tokens", { ttl_seconds: 60, scopes: ["jobs:read"] });
  await post(service, "/tokens", { ttl_seconds: 0 });
}

async function hooks(service: LocalService): Promise<void> {
  const hook = await receiver();
  await get(service, "/webhooks/public-key");
  await get(service, "/webhooks/default");
  await post(service, "/webhooks/default/test", {});
  await ask(service, "PUT", "/webhooks/default", { body: { url: "no url" } });
  await ask(service, "PUT", "/webhooks/default", { body: { url: hook.url } });
  await get(service, "/webhooks/default");
  await post(service, "/webhooks/default/test", {});
  const job_id = await announcedTo(service, "image-1", { prompt: "announced", quality: "pro" });
  await announcedTo(service, "speech-1", { text: "Announced.", voice_id: VOICE });
  service.faults([{ kind: "fail_job" }]);
  await announcedTo(service, "image-1", { prompt: "announced" });
  service.faults([]);
  expect((await post(service, `/webhooks/deliveries/${job_id}/redeliver`, {})).status).toBe(200);
  await get(service, "/webhooks/deliveries?limit=0");
  await post(service, "/_local/wallet", { card_declined: true, top_off: 5 });
  await post(service, "/_local/wallet", { card_declined: false });
  const posts = await hook.arrived(6);
  await ask(service, "DELETE", "/webhooks/default");
  const contract = contractOfService(service);
  for (const sent of posts) contract.checkSent(String(sent.headers["x-studio-webhook-event"]), sent);
}

/** The id of a job whose end was delivered. */
async function announcedTo(service: LocalService, model: string, input: object): Promise<string> {
  const { job_id } = await submit(service, model, input);
  await deliveryUntil(service, job_id, (row) => row.status === "DELIVERED");
  return job_id;
}

async function drains(service: LocalService): Promise<void> {
  const target = await receiver();
  const body = { name: "logs", url: target.url, secret: "s".repeat(64), headers: { "X-Team": "film" } };
  const { id } = (await post(service, "/log-drains", body)).body;
  await post(service, "/log-drains", { ...body, secret: "short" });
  const one = `/log-drains/${id}`;
  await get(service, "/log-drains");
  await get(service, "/log-drains?limit=0");
  await get(service, one);
  await ask(service, "PATCH", one, { body: { name: "more logs", batch_size: 10 } });
  await ask(service, "PATCH", one, { body: { batch_size: 0 } });
  await post(service, `${one}/test`, {});
  await ask(service, "PATCH", one, { body: { url: "http://10.0.0.1/x" } });
  await post(service, `${one}/test`, {});
  expect((await ask(service, "DELETE", one)).status).toBe(204);
  await drained(service, target, body);
  await drained(service, target, { name: "traces", url: target.url, format: "otlp" });
}

/** Lets a job's events arrive by a drain. */
async function drained(service: LocalService, target: Receiver, body: object): Promise<void> {
  const before = target.received.length;
  const { id } = (await post(service, "/log-drains", body)).body;
  await made(service, "image-1", { prompt: "logged" });
  await service.clock.advance(10_000);
  const posts = (await target.arrived(before + 1)).slice(before);
  for (const sent of posts) contractOfService(service).checkSent("log_drain.batch", sent);
  await ask(service, "DELETE", `/log-drains/${id}`);
}

async function chat(service: LocalService): Promise<void> {
  const asked = (content: string) => ({ messages: [{ role: "user", content }] });
  await askModel(service, "/chat/completions", asked);
  await askModel(service, "/responses", (content) => ({ input: content }));
  const said = { model: "chat-1", ...asked("Describe a mill.") };
  await post(service, "/chat/completions", { ...said, stream: true, stream_options: { include_usage: true } });
  const wrong = { ...said, messages: [{ role: "robot", content: 1 }], temperature: 9 };
  expect((await post(service, "/chat/completions", wrong)).status).toBe(400);
  await get(service, "/jobs");
}

async function askModel(service: LocalService, path: string, of: (content: string) => object): Promise<void> {
  const said = { model: "chat-1", ...of("Describe a mill.") };
  const limit = path === "/responses" ? { max_output_tokens: 3 } : { max_tokens: 3 };
  expect((await post(service, path, { ...said, ...limit })).status).toBe(200);
  service.faults([{ kind: "fail_job", model: "chat-1" }]);
  await post(service, path, { ...said, stream: true });
  service.faults([]);
  const poor = await key(service, { workspace_id: "poor" });
  const refused = [
    await post(service, path, {}),
    await post(service, path, said, poor),
    await post(service, path, { ...said, model: "chat-0" }),
    await post(service, path, { ...said, ...of("moderation-refused") }),
  ];
  expect(refused.map(({ status }) => status)).toEqual([400, 402, 404, 422]);
}

describe.each([
  ["the default profile", {}],
  ["the strict profile", { strict: true, deliverToLoopback: true }],
])("%s", (_profile, options) => {
  test("every operation keeps every promise of the document: each status that it names is met, with the body described [D4 E1 E3 E5 E14 J1 J2 J4 M1 M2 M3 M6 M14 P5 P7 P27 S22 T1 WA1 WA7 WC1 WC2 WJ1 WJ8 WJ9 WM1 WM4]", async () => {
    const service = await start({ speed: 1000, ...options });
    await everyOperationRefuses(service);
    await submits(service);
    await jobs(service);
    await waiting(service);
    await account(service);
    await hooks(service);
    await drains(service);
    await chat(service);
    const { met, promised } = contractOfService(service);
    const unmet = promised.filter((one) => !met.has(one));
    // These have no words that moderation could object to.
    const wordless = Object.entries(await inputs(service, service.apiKey)).flatMap(([model, input]) =>
      ["prompt", "text", "name"].some((name) => name in input) ? [] : [`POST /models/${model} 422`],
    );
    expect(unmet).toEqual(wordless);
  });
});

/** The tiny picture, made larger by a chunk that shows nothing. */
function pictureOf(bytes: number): Buffer {
  const picture = Buffer.from(PICTURE.bytes);
  const headerEnd = 33;
  const chunk = Buffer.alloc(bytes - picture.length);
  chunk.writeUInt32BE(chunk.length - 12, 0);
  chunk.write("teSt", 4, "latin1");
  chunk.writeUInt32BE(crc32(chunk.subarray(4, chunk.length - 4)), chunk.length - 4);
  return Buffer.concat([picture.subarray(0, headerEnd), chunk, picture.subarray(headerEnd)]);
}

test("an image of 10485760 bytes is accepted, one of a byte more is refused by name [M13 V29]", async () => {
  const service = await start();
  const estimate = async (bytes: number) => {
    const start_image = await uploaded(service, pictureOf(bytes));
    const input = { aspect_ratio: "16:9", duration_ms: 5000, prompt: "waves", start_image };
    return ask(service, "POST", "/models/video-1/estimate", { body: { input } });
  };
  expect((await estimate(10_485_760)).status).toBe(200);
  const refused = await estimate(10_485_761);
  expect(refused.body.error.details).toMatchObject([{ field: "input.start_image", reason: "max_file_size_bytes" }]);
});

test("a submit of an unlimited shot prompt passes up to the stated body cap, and is refused beyond it [V15]", async () => {
  const service = await start();
  const shots = (length: number) => ({
    input: { aspect_ratio: "1:1", duration_ms: 5000, multi_prompt: [{ prompt: "x".repeat(length) }] },
  });
  expect((await ask(service, "POST", "/models/video-1", { body: shots(15_000_000) })).status).toBe(202);
  const refused = await ask(service, "POST", "/models/video-1", { body: shots(17_000_000) });
  expect(refused.status).toBe(400);
  expect(refused.body.error.message).toContain("1 invalid input field");
  expect(refused.body.error.details[0].message).toContain("16777216 bytes");
});
