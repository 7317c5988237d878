import { expect, test } from "vitest";
import { announced, bodyOf, deliveryOf, deliveryUntil, ended, eventOf, verdictOf } from "../support/deliveries.ts";
import { receiver } from "../support/receiver.ts";
import { ask, finished, read, refusal, start, startHeld, submit } from "../support/service.ts";

test("a finished job is announced by a signed POST that the client verifies [D9 D11 D17 N1 N6 N9 P3 S3 S21 WH1 WH2]", async () => {
  const service = await start();
  const hook = await receiver();
  const jobId = await announced(service, `${hook.url}/hook?a=1`);
  const [post] = await hook.arrived(1);
  const event = { id: jobId, event: "job.completed", redelivery: false, attempt: 1, brand: "studio" };
  expect(await eventOf(service, post)).toMatchObject(event);
  expect(post).toMatchObject({ path: "/hook?a=1", headers: { "content-type": "application/json" } });
  expect(await ended(service, jobId, 1)).toMatchObject({
    ...{ status: "DELIVERED", event_type: "job.completed", attempts: 1 },
    ...{ last_response_status: 200, last_error: null, redelivery_count: 0, redeliveries: [] },
  });
});

test("a body, a time, an event or an id that was changed on the way does not verify [N6 WH3]", async () => {
  const service = await start();
  const hook = await receiver();
  await announced(service, hook.url);
  const [post] = await hook.arrived(1);
  const { headers, body } = post!;
  const later = String(Number(headers["x-studio-webhook-timestamp"]) + 1);
  const changed = { event: "job.failed", id: "job_other", redelivery: "true", timestamp: later };
  const forgeries = Object.entries(changed).map(([name, value]) => ({
    ...post!,
    headers: { ...headers, [`x-studio-webhook-${name}`]: value },
  }));
  expect(await verdictOf(service, post!)).toMatchObject({ ok: true });
  for (const forged of [...forgeries, { ...post!, body: Buffer.concat([body, Buffer.from(" ")]) }])
    expect(await verdictOf(service, forged)).toEqual({ ok: false, reason: "bad-signature" });
});

test("the body is the result envelope without logs, cost and currency [WH6]", async () => {
  const service = await start();
  const hook = await receiver();
  const jobId = await announced(service, hook.url);
  const [post] = await hook.arrived(1);
  const { logs, cost, currency, outputs, ...rest } = await finished(service, jobId);
  expect([logs.length > 0, cost, currency]).toEqual([true, 0.02, "USD"]);
  const { outputs: sent, ...payload } = bodyOf(post);
  expect(payload).toEqual(rest);
  expect(sent.map(({ url: _url, ...item }: { url: string }) => item)).toEqual(
    outputs.map(({ url: _url, ...item }: { url: string }) => item),
  );
  expect((await fetch(sent[0].url)).status).toBe(200);
});

test("a failed job is announced as job.failed, with its error [D9 E41 N1]", async () => {
  const service = await start();
  const hook = await receiver();
  service.faults([{ kind: "fail_job" }]);
  const jobId = await announced(service, hook.url);
  const [post] = await hook.arrived(1);
  expect(await eventOf(service, post)).toMatchObject({ id: jobId, event: "job.failed" });
  expect(bodyOf(post)).toMatchObject({ status: "FAILED", outputs: [], error: { code: "INTERNAL" } });
});

test("a delivery row is inserted at submit: PENDING, its event null, nothing attempted [D1 D3 D7 D8 D10 D17 D20 WH17]", async () => {
  const service = await startHeld({ speed: 1 });
  const webhook_url = "http://127.0.0.1:9/never";
  const jobId = await announced(service, webhook_url);
  expect(await deliveryOf(service, jobId)).toEqual({
    ...{ job_id: jobId, job_accessible: true, model: "image-1", webhook_url, source: "per_job" },
    ...{ status: "PENDING", event_type: null, attempts: 0, redelivery_count: 0, redeliveries: [] },
    ...{ last_response_status: null, last_error: null, last_attempt_at: null },
    created_at: new Date(service.clock.now()).toISOString(),
  });
});

test("a job without any webhook, and a refused submit, have no delivery row [WH18]", async () => {
  const service = await start();
  await ask(service, "POST", "/models/image-1", { body: { input: {}, webhook: "http://127.0.0.1:9/" } });
  await finished(service, await announced(service, null));
  expect(await read(service, "/webhooks/deliveries")).toEqual({ data: [], next_cursor: null });
});

test("a replayed submit adds no second row and no second POST [N2]", async () => {
  const service = await start();
  const hook = await receiver();
  const more = { webhook: hook.url, idempotency_key: "one" };
  const { job_id } = await submit(service, "image-1", { prompt: "x" }, more);
  await ended(service, job_id, 1);
  await submit(service, "image-1", { prompt: "x" }, more);
  await service.clock.advance(60_000);
  expect((await read(service, "/webhooks/deliveries")).data).toHaveLength(1);
  expect(hook.received).toHaveLength(1);
});

test.each(["not a uri", "/relative", "", "ftp://example.com/", "javascript:alert(1)"])(
  "a webhook that is no http URI is 400 with param webhook: %j [P3 WH20]",
  async (webhook) => {
    const service = await start();
    const reply = await ask(service, "POST", "/models/image-1", { body: { input: { prompt: "x" }, webhook } });
    expect(reply).toMatchObject({ status: 400, body: { error: { code: "INVALID_ARGUMENT", param: "webhook" } } });
  },
);

test("while the receiver thinks, the delivery is DELIVERING and cannot be sent again [P32 WH13 WH19]", async () => {
  const service = await start();
  let answer: () => void = () => undefined;
  const hook = await receiver((_index, response) => {
    answer = () => void response.writeHead(204).end();
    return undefined;
  });
  const jobId = await announced(service, hook.url);
  await hook.arrived(1);
  const waits = { status: "DELIVERING", event_type: "job.completed", attempts: 1, last_response_status: null };
  expect(await deliveryOf(service, jobId)).toMatchObject(waits);
  const refused = await ask(service, "POST", `/webhooks/deliveries/${jobId}/redeliver`);
  expect(refused).toMatchObject(refusal(409, "ALREADY_IN_PROGRESS"));
  answer();
  const after = await deliveryUntil(service, jobId, (row) => row.status !== "DELIVERING");
  expect(after).toMatchObject({ status: "DELIVERED", last_response_status: 204 });
});

test("a job that was deleted before its webhook went out is announced without prompt and media", async () => {
  const service = await startHeld();
  const hook = await receiver((index) => (index === 0 ? 500 : 200));
  const jobId = await announced(service, hook.url);
  await ended(service, jobId, 1);
  expect((await ask(service, "DELETE", `/jobs/${jobId}`)).status).toBe(204);
  await service.clock.advance(10_000);
  expect(bodyOf(hook.received[1])).toMatchObject({ status: "COMPLETED", outputs: [{ status: "EXPIRED", url: null }] });
  expect(bodyOf(hook.received[1])).not.toHaveProperty("prompt");
});

test("a brand of its own names the headers [N9 WC19]", async () => {
  const service = await start({ brand: "Acme" });
  const hook = await receiver();
  await announced(service, hook.url);
  const [post] = await hook.arrived(1);
  expect(await eventOf(service, post)).toMatchObject({ brand: "acme" });
});
