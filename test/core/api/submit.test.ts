import { expect, test } from "vitest";
import { ApiError, ConnectionError, UnknownOutcomeError } from "../../../src/core/api/index.ts";
import { clientSetup } from "../../support/client-setup.ts";
import { ack, failure, hangUp, json, silence } from "../../support/fake-service.ts";

const setUp = clientSetup();

const request = { model: "m", input: { prompt: "a" }, idempotencyKey: "k1" };

test("an ack carries the resolved model and absolute URLs on the origin", async () => {
  const { client, service } = await setUp([ack()]);
  expect(await client.submit(request)).toEqual({
    jobId: "job_1",
    model: "resolved-model",
    status: "IN_QUEUE",
    statusUrl: `${service.origin}/v3/jobs/job_1/status`,
    resultUrl: `${service.origin}/v3/jobs/job_1`,
    estimatedCompletionAt: null,
    replayed: false,
    sends: 1,
  });
  expect(JSON.parse(service.seen[0]!.body)).toEqual({ input: { prompt: "a" }, idempotency_key: "k1" });
});

for (const [name, first] of [
  ["a broken connection", hangUp],
  ["408", failure(408, "UNKNOWN")],
  ["429", failure(429, "RESOURCE_EXHAUSTED", { retryable: true, retry_after: 1 }, { "retry-after": "1" })],
  ["503 with an envelope", failure(503, "UNAVAILABLE", { retryable: true, retry_after: 1 })],
  ["502 without an envelope", json(502, "bad gateway")],
  ["a success that cannot be read", json(202, { nothing: true })],
] as const) {
  test(`after ${name} the same key and body are sent again until the ack [WK1]`, async () => {
    const { client, service } = await setUp([first, ack("IN_QUEUE", {}, { "x-idempotent-replayed": "true" })]);
    const acked = await client.submit(request);
    expect(acked).toMatchObject({ jobId: "job_1", replayed: true });
    expect(service.seen.map((seen) => seen.body)).toEqual([service.seen[0]!.body, service.seen[0]!.body]);
  });
}

test("a definite refusal of a clean first send is an ApiError and is not sent again [E43]", async () => {
  const { client, service } = await setUp([
    failure(402, "INSUFFICIENT_BALANCE", {
      billing: {
        balance: 0.29,
        required: null,
        currency: "USD",
        funding_url: "https://pay.example",
        reason: "card_declined",
      },
    }),
  ]);
  const error = await client.submit(request).catch((thrown) => thrown);
  expect(error).toBeInstanceOf(ApiError);
  expect(error).toMatchObject({
    code: "INSUFFICIENT_BALANCE",
    status: 402,
    retryable: false,
    billing: {
      balanceMicros: 290_000,
      requiredMicros: null,
      fundingUrl: "https://pay.example",
      reason: "card_declined",
    },
    traceId: "0123456789abcdef0123456789abcdef",
  });
  expect(service.seen).toHaveLength(1);
});

test("after an unknown outcome a refusal proves nothing and surfaces as unknown", async () => {
  const { client } = await setUp([hangUp, failure(402, "INSUFFICIENT_BALANCE")]);
  const error = await client.submit(request).catch((thrown) => thrown);
  expect(error).toBeInstanceOf(UnknownOutcomeError);
  expect(error).toMatchObject({ idempotencyKey: "k1", model: "m", cause: { code: "INSUFFICIENT_BALANCE" } });
});

test("with mayExist a first refusal is unknown, too", async () => {
  const { client } = await setUp([failure(400, "INVALID_ARGUMENT")]);
  await expect(client.submit(request, { mayExist: true })).rejects.toBeInstanceOf(UnknownOutcomeError);
});

test("after an unknown outcome 429 and 503 are waited out", async () => {
  const busy = failure(429, "RESOURCE_EXHAUSTED", { retryable: true }, { "retry-after": "2" });
  const down = failure(503, "UNAVAILABLE", { retryable: true, retry_after: 3 });
  const { client, service } = await setUp([hangUp, busy, down, busy, ack()]);
  expect(await client.submit(request)).toMatchObject({ jobId: "job_1" });
  expect(service.seen).toHaveLength(5);
});

test("an outcome that stays unknown ends bounded [E44]", async () => {
  const { client, service } = await setUp([hangUp], { retry: { maxAttempts: 3 } });
  await expect(client.submit(request)).rejects.toBeInstanceOf(UnknownOutcomeError);
  expect(service.seen).toHaveLength(3);
});

test("429 without end is given up in bounded time as a plain refusal", async () => {
  const { client } = await setUp([failure(429, "RESOURCE_EXHAUSTED", { retryable: true }, { "retry-after": "30" })], {
    retry: { maxElapsedMs: 100_000 },
  });
  await expect(client.submit(request)).rejects.toMatchObject({ code: "RESOURCE_EXHAUSTED", status: 429 });
});

test("without a key a submit is sent once, whatever comes", async () => {
  for (const reply of [hangUp, failure(503, "UNAVAILABLE", { retryable: true }), failure(429, "RESOURCE_EXHAUSTED")]) {
    const { client, service } = await setUp([reply]);
    await expect(client.submit({ model: "m", input: {} })).rejects.toThrow();
    expect(service.seen).toHaveLength(1);
  }
});

test("without a key a lost answer is unknown with no key to ask by", async () => {
  const { client } = await setUp([hangUp]);
  await expect(client.submit({ model: "m", input: {} })).rejects.toMatchObject({
    code: "UNKNOWN_OUTCOME",
    idempotencyKey: null,
  });
});

test("a service that is not there is a ConnectionError that was not sent", async () => {
  const { client, service } = await setUp([ack()], { retry: { maxAttempts: 2 } });
  await service.close();
  const error = await client.submit(request).catch((thrown) => thrown);
  expect(error).toBeInstanceOf(ConnectionError);
  expect(error.sent).toBe(false);
});

test("aborting a submit in flight is unknown, aborting before it left is only an abort", async () => {
  const { client, service } = await setUp([silence]);
  const gone = AbortSignal.abort(new Error("stop"));
  await expect(client.submit(request, { signal: gone })).rejects.toThrow("stop");
  const controller = new AbortController();
  const inFlight = client.submit(request, { signal: controller.signal }).catch((thrown) => thrown);
  while (service.seen.length === 0) await new Promise((resolve) => setImmediate(resolve));
  controller.abort(new Error("stop"));
  expect(await inFlight).toMatchObject({ code: "UNKNOWN_OUTCOME", cause: new Error("stop") });
});

test("a submit that times out is unknown [E45]", async () => {
  const { client } = await setUp([silence], { retry: { maxAttempts: 1 }, timeoutMs: 50, clock: undefined });
  await expect(client.submit(request)).rejects.toMatchObject({
    code: "UNKNOWN_OUTCOME",
    cause: { code: "CLIENT_TIMEOUT", sent: true },
  });
});
