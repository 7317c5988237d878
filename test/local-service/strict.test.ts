/** `serve --strict`: what a hosted service answers, timings aside. */
import { expect, test } from "vitest";
import { OURS } from "../../src/core/families/index.ts";
import type { LocalService, LocalServiceOptions } from "../../src/local-service/index.ts";
import { PICTURE } from "../../src/local-service/start.ts";
import { words } from "../support/word-list.ts";
import { ended } from "./support/deliveries.ts";
import { receiver } from "./support/receiver.ts";
import {
  ask,
  type Body,
  clientOf,
  estimate,
  get,
  key,
  made,
  post,
  read,
  refusal,
  start,
  submit,
  upload,
  uploaded,
} from "./support/service.ts";

const strictly = (options: LocalServiceOptions = {}) => start({ strict: true, ...options });

/** The message of the same refusal in both profiles. */
async function messages(refused: (service: LocalService) => Promise<{ readonly body: Body }>, catalog?: unknown[]) {
  const options = catalog === undefined ? {} : { catalog };
  const said = async (service: LocalService) => (await refused(service)).body.error.message as string;
  return { usual: await said(await start(options)), strict: await said(await strictly(options)) };
}

test("a 402 sends a person to a console of the deployment, and the operator still adds funds", async () => {
  const service = await strictly({ balance: 0, brand: "Acme" });
  const refused = await post(service, "/models/image-1", { input: { prompt: "x" } });
  const funding_url = "https://console.acme.example/billing?workspace_id=workspace_local";
  expect(refused.body.error.billing).toMatchObject({ funding_url });
  expect((await post(service, "/_local/wallet", { add: 1 })).status).toBe(200);
  expect((await made(service, "image-1", { prompt: "x" })).status).toBe("COMPLETED");
});

test("a message tells the condition, not what this request or this machine has", async () => {
  const unsupported = { id: "soon", modality: "image", input_schema: {}, x_local: { unsupported: "Coming in May." } };
  const broken = { id: "broken", modality: "image", input_schema: { type: "nonsense" } };
  const reused = async (service: LocalService) => {
    await submit(service, "image-1", { prompt: "x" }, { idempotency_key: "k" });
    return post(service, "/models/video-1", { input: {}, idempotency_key: "k" });
  };
  const outlived = async (service: LocalService) => {
    const expires_at = new Date(service.clock.now() + 60_000).toISOString();
    const { credential } = (await post(service, "/keys", { expires_at })).body;
    return post(service, "/keys", { expires_at: "2999-01-01T00:00:00Z" }, credential);
  };
  const fault = (service: LocalService) => {
    service.faults([{ kind: "error", code: "UNAVAILABLE", status: 502 }]);
    return get(service, "/balance");
  };
  const unknown = (service: LocalService) => post(service, "/chat/completions", { model: "x", messages: [] });
  const NOT_YET = "This model is not supported on v3 yet.";
  const rows = [
    [await messages((service) => get(service, "/models/image-0")), "image-0", "This model is retired."],
    [await messages((service) => get(service, "/models/soon"), [unsupported]), "in May", NOT_YET],
    [await messages((service) => get(service, "/models/broken"), [broken]), "does not compile", NOT_YET],
    [await messages(reused), "image-1", "This idempotency key was used with another model."],
    [await messages(outlived), "expires at", "A key cannot outlive the credential that creates it."],
    [await messages(unknown), "chat-1", "There is no such chat model."],
    [await messages(fault), "injected", "The request could not be served."],
  ] as const;
  for (const [{ usual, strict }, part, fixed] of rows) {
    expect(usual).toContain(part);
    expect(strict).toBe(fixed);
  }
});

test("a rule of a model family is refused like any other", async () => {
  const properties = { prompt: { type: "string" }, quality: { enum: ["std", "pro"] }, resolution: { enum: ["1080p"] } };
  const catalog = [{ id: "acme-1", modality: "video", input_schema: { type: "object", properties } }];
  const when = { field: "quality", is: ["pro"] };
  const rule = { kind: "requires" as const, when, fields: ["resolution"], message: "pro is 1080p" };
  const families = [{ name: "acme", models: ["acme-1"], rules: [rule] }];
  const said = async (service: LocalService) =>
    (await post(service, "/models/acme-1", { input: { prompt: "x", quality: "pro" } })).body.error.details[0].message;
  const strict = await said(await strictly({ catalog, families }));
  expect(strict).toBe("input.resolution: is required: pro is 1080p");
  expect(await said(await start({ catalog, families }))).toBe(`${strict} (${OURS})`);
});

test("a job that its input spoils does not tell what the renderer here cannot read", async () => {
  const errorOf = async (service: LocalService) =>
    (await made(service, "speech-1", { text: "水", voice_id: "voice_1f0c5f6e-0a51-4c3f-8f0e-5a1d0c9b7a01" })).error;
  const usual = await errorOf(await start({ renderer: "real", speed: 1000 }));
  const strict = await errorOf(await strictly({ renderer: "real", speed: 1000 }));
  expect(usual).toMatchObject({ code: "INVALID_ARGUMENT", message: expect.stringContaining("English voice") });
  expect(strict).toEqual({ ...usual, message: "The input could not be used." });
});

test("the catalog is open and shows the fields of the description only; a switch of its own closes it", async () => {
  const model = { id: "draw", modality: "image", input_schema: { type: "object" }, x_extra: 1, price: { usd: 1 } };
  const service = await strictly({ catalog: [model] });
  const { status, body } = await get(service, "/models", { credential: null });
  expect(status).toBe(200);
  expect(Object.keys(body.data[0]).sort()).toEqual(words("description id logo_url modality name price_description"));
  const closed = await strictly({ openCatalog: false });
  expect((await get(closed, "/models", { credential: null })).status).toBe(401);
});

test("what cannot be quoted is refused, which our client reads as not quotable, as it is described", async () => {
  const service = await strictly();
  const input = { image: await uploaded(service, PICTURE.bytes) };
  expect(await estimate(service, "upscale-1", input)).toMatchObject(refusal(400, "FAILED_PRECONDITION"));
  const { Estimate } = (await read(service, "/openapi.json")).components.schemas;
  expect(Object.keys(Estimate.properties)).toEqual(["model", "cost", "currency"]);
  const quote = await clientOf(service).estimate({ model: "upscale-1", input });
  expect(quote).toMatchObject({ costMicros: null, quotable: false });
});

test("webhooks do not reach this machine, unless they may", async () => {
  const hook = await receiver();
  const service = await strictly();
  const { job_id } = await submit(service, "image-1", { prompt: "x" }, { webhook: hook.url });
  const failed = { status: "FAILED", last_error: { code: "FAILED_PRECONDITION" } };
  expect(await ended(service, job_id, 1)).toMatchObject(failed);
  const allowed = await strictly({ deliverToLoopback: true });
  const job = await submit(allowed, "image-1", { prompt: "x" }, { webhook: hook.url });
  expect(await ended(allowed, job.job_id, 1)).toMatchObject({ status: "DELIVERED" });
});

test("no answer names the operator's side or this machine, but for the bytes that lie here", async () => {
  const service = await strictly({ balance: 1 });
  const poor = await key(service, { workspace_id: "poor" });
  const { body: file } = await upload(service, PICTURE.bytes);
  const job = await made(service, "image-1", { prompt: "x" });
  const answers = [
    await get(service, "/openapi.json"),
    await get(service, "/models"),
    await get(service, "/models/upscale-1"),
    await get(service, "/models/upscale-1/openapi.json"),
    await get(service, "/nothing"),
    await get(service, "/jobs/job_x"),
    await get(service, "/balance", { credential: null }),
    await post(service, "/models/image-1", { input: { prompt: 1 } }),
    await post(service, "/models/image-1", { input: { prompt: "x" } }, poor),
    { body: { ...file, url: null } },
    { body: { ...job, outputs: job.outputs.map((output: Body) => ({ ...output, url: null })) } },
  ];
  for (const { body } of answers)
    expect(JSON.stringify(body)).not.toMatch(/_local\/|127\.0\.0\.1|localhost|local service/i);
});

/** What of an answer does not change from one service or moment to the next. */
function steady({ status, body }: { readonly status: number; readonly body: Body }): string {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return `${status} ${text
    .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{32}|key_\w+|[\w-]{32,}/g, "ID")
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "INSTANT")
    .replaceAll(/http:\/\/127\.0\.0\.1:\d+\/(media|uploads)\/[^"]+/g, "URL")
    .replaceAll(/(?<=cursor":")[^"]+/g, "CURSOR")
    .replaceAll(/"(progress|processing_time_ms)":[\d.]+/g, '"$1":N')}`;
}

test("the profiles differ in what docs/local-service.md lists, and in nothing else", async () => {
  const [usual, strict] = [await start({ deliverToLoopback: false }), await strictly()];
  const differing: string[] = [];
  const both = async (name: string, call: (service: LocalService) => Promise<{ status: number; body: Body }>) => {
    if (steady(await call(usual)) !== steady(await call(strict))) differing.push(name);
  };
  const [poor, jobs] = [new Map<LocalService, string>(), new Map<LocalService, string>()];
  for (const service of [usual, strict]) poor.set(service, await key(service, { workspace_id: "poor" }));
  const jobOf = (service: LocalService) => jobs.get(service) ?? "";
  const SUBMIT = { input: { prompt: "x", seed: 1 }, idempotency_key: "k", webhook: "http://127.0.0.1:9/" };
  const image = async (service: LocalService) => ({ image: await uploaded(service, PICTURE.bytes) });
  const reads = ["/models", "/models/video-1", "/models/video-1/voices", "/models/speech-1/openapi.json"];
  for (const path of [...reads, "/models/image-0", "/models/none", "/models/video-1-pro", "/balance", "/openapi.json"])
    await both(`GET ${path}`, (service) => get(service, path));
  for (const path of [...reads, "/balance"])
    await both(`GET ${path}, no key`, (service) => get(service, path, { credential: null }));
  await both("submit", async (service) => {
    const reply = await post(service, "/models/image-1", SUBMIT);
    jobs.set(service, reply.body.job_id);
    await get(service, `/jobs/${jobOf(service)}/stream`);
    return reply;
  });
  for (const service of [usual, strict]) await ended(service, jobOf(service), 1);
  for (const path of ["", "/status", "/status?logs_after=start", "/logs", "/stream"])
    await both(`GET job ${path}`, (service) => get(service, `/jobs/${jobOf(service)}${path}`));
  await both("upload", (service) => upload(service, PICTURE.bytes));
  await both("no media", (service) => upload(service, new TextEncoder().encode("no media")));
  const MODELS = "/models/image-1";
  await both("replayed", (service) => post(service, MODELS, SUBMIT));
  await both("key of another model", (service) => post(service, "/models/video-1", SUBMIT));
  await both("invalid", (service) => post(service, "/models/video-1", { input: { prompt: 1, nothing: 2 } }));
  await both("moderated", (service) => post(service, MODELS, { input: { prompt: "moderation-refused" } }));
  await both("no funds", (service) => post(service, MODELS, { input: { prompt: "x" } }, poor.get(service)));
  await both("estimate", (service) => post(service, `${MODELS}/estimate`, { input: { prompt: "x" } }));
  await both("unquotable", async (service) => estimate(service, "upscale-1", await image(service)));
  await both("chat model", (service) => post(service, "/chat/completions", { model: "x" }));
  await both("token", (service) => post(service, "/tokens", {}));
  await both("key", (service) => post(service, "/keys", { scopes: ["jobs:read"] }));
  await both("keys", (service) => get(service, "/keys"));
  const hook = { body: { url: "http://127.0.0.1:9/" } };
  await both("webhook", (service) => ask(service, "PUT", "/webhooks/default", hook));
  await both("webhook test", (service) => post(service, "/webhooks/default/test", {}));
  await both("deliveries", (service) => get(service, "/webhooks/deliveries"));
  const drain = { name: "d", url: "http://10.0.0.1/", format: "otlp" };
  await both("drain", (service) => post(service, "/log-drains", drain));
  await both("nothing there", (service) => get(service, "/nothing"));
  await both("delete", (service) => ask(service, "DELETE", `/jobs/${jobOf(service)}`));
  expect(differing).toEqual([
    "GET /models/image-0",
    // Who may read the catalog, and the shape of an estimate.
    "GET /openapi.json",
    ...reads.map((path) => `GET ${path}, no key`),
    "key of another model",
    "no funds",
    "unquotable",
    "chat model",
  ]);
});
