import { expect, test } from "vitest";
import type { LocalService } from "../../src/local-service/index.ts";
import { get, key, post, start, startHeld, submit } from "./support/service.ts";

/* A submit with everything wrong at once is refused for one thing after the other, in the order of the checks. */

const BAD = { prompt: "moderation-refused", num_outputs: 99 };
const OBJECTIONABLE = { prompt: "moderation-refused" };
const FINE = { prompt: "a cat" };

const send = (service: LocalService, model: string, input: object, credential: string | null, more: object = {}) =>
  post(service, `/models/${model}`, { input, ...more }, credential);

test("a submit is checked for credential, scope, rate, key, model, input, moderation and funds, in this order [WJ22]", async () => {
  const service = await startHeld({ rateLimit: { requests: 7, windowMs: 60_000 } });
  const unscoped = await key(service, { workspace_id: "poor", scopes: ["jobs:read"] });
  const poor = await key(service, { workspace_id: "poor" });
  const known = { idempotency_key: "known" };
  await service.fund(0.02, "poor");
  const first = await send(service, "image-1", FINE, poor, known);
  const order = [
    await send(service, "nothing", BAD, null),
    await send(service, "nothing", BAD, unscoped),
    await send(service, "nothing", BAD, poor, known),
    await send(service, "nothing", BAD, poor),
    await send(service, "image-1", BAD, poor),
    await send(service, "image-1", OBJECTIONABLE, poor),
    await send(service, "image-1", FINE, poor),
    await send(service, "image-1", BAD, poor, known),
    await send(service, "nothing", BAD, poor, known),
  ];
  expect(order.map(({ status, body }) => [status, body.error?.code ?? body.job_id])).toEqual([
    [401, "UNAUTHORIZED"],
    [403, "PERMISSION_DENIED"],
    [409, "ALREADY_EXISTS"],
    [404, "NOT_FOUND"],
    [400, "INVALID_ARGUMENT"],
    [422, "MODERATION_FAILED"],
    [402, "INSUFFICIENT_BALANCE"],
    [202, first.body.job_id],
    [429, "RESOURCE_EXHAUSTED"],
  ]);
});

test("a missing scope is told also to a key that is over its limit [WJ22]", async () => {
  const service = await start({ rateLimit: { requests: 1, windowMs: 60_000 } });
  const credential = await key(service, { scopes: ["jobs:read"] });
  expect((await get(service, "/jobs", { credential })).status).toBe(200);
  expect((await get(service, "/jobs", { credential })).status).toBe(429);
  expect((await send(service, "image-1", FINE, credential)).status).toBe(403);
});

test("whatever a submit is refused for, its idempotency key stays unused [WJ23]", async () => {
  const service = await start({ balance: 0 });
  for (const [model, input, status] of [
    ["nothing", FINE, 404],
    ["image-0", FINE, 410],
    ["video-2", FINE, 400],
    ["image-1", BAD, 400],
    ["image-1", OBJECTIONABLE, 422],
    ["image-1", FINE, 402],
  ] as const)
    expect((await send(service, model, input, service.apiKey, { idempotency_key: "k" })).status).toBe(status);
  await service.fund(1);
  await submit(service, "image-1", FINE, { idempotency_key: "k" });
  expect(service.stats()).toMatchObject({ jobs_created: 1, replayed_submits: 0, jobs_by_key: { k: 1 } });
});
