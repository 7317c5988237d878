/** What moves the wallet, and what is said when a top-off fails. */
import { expect, test } from "vitest";
import { createClient } from "../../src/core/api/index.ts";
import { PICTURE } from "../../src/local-service/start.ts";
import { receiver } from "./support/receiver.ts";
import { ask, type Body, get, made, start, upload } from "./support/service.ts";

test("transactions are what moved the wallet, newest first, and add up to the balance", async () => {
  const service = await start({ balance: 2 });
  service.clock.manual();
  await made(service, "image-1", { prompt: "x" });
  await service.clock.advance(1000);
  await service.fund(3);
  service.faults([{ kind: "fail_job" }]);
  await service.clock.advance(1000);
  await made(service, "image-1", { prompt: "y", num_outputs: 2 });
  const { data } = (await get(service, "/transactions")).body;
  expect(data.map(({ kind, amount }: Body) => [kind, amount])).toEqual([
    ["refund", 0.04],
    ["usage", -0.04],
    ["purchase", 3],
    ["usage", -0.02],
    ["grant", 2],
  ]);
  const { balance } = (await get(service, "/balance")).body;
  expect(data.reduce((sum: number, { amount }: Body) => sum + amount, 0)).toBeCloseTo(balance, 6);
  const client = createClient({ baseUrl: service.baseUrl, apiKey: service.apiKey });
  const read: Body[] = [];
  for await (const item of client.transactions({ limit: 2 })) read.push(item);
  expect(read.map(({ id }) => id)).toEqual(data.map(({ id }: Body) => id));
  expect(read[1]).toMatchObject({ kind: "usage", amountMicros: -40_000, currency: "USD" });
  expect(await client.usage()).toMatchObject({ totalRequests: 0, totalJobs: 2 });
  await client.close();
});

test("a request to a language model that failed is listed by the code of its error", async () => {
  const service = await start();
  for (const code of ["CANCELLED", "DEADLINE_EXCEEDED", "UNAVAILABLE"] as const) {
    service.faults([{ kind: "fail_job", code }]);
    await ask(service, "POST", "/chat/completions", {
      body: { model: "chat-1", messages: [{ role: "user", content: "Say hi" }] },
    });
  }
  const { data } = (await get(service, "/usage/llm")).body;
  expect(data.map(({ status }: Body) => status)).toEqual(["upstream_error", "timeout", "client_abort"]);
});

test("requests to language models are listed with what they were charged, by time, model and key, and a cursor is good for these alone", async () => {
  const service = await start();
  const client = createClient({ baseUrl: service.baseUrl, apiKey: service.apiKey });
  const chat = (content: string, more: object = {}) =>
    ask(service, "POST", "/chat/completions", {
      body: { model: "chat-1", messages: [{ role: "user", content }], ...more },
    });
  const whole = await chat("one");
  service.faults([{ kind: "fail_job" }]);
  await chat("two");
  service.faults([]);
  await chat("three", { stream: true });
  const { data } = (await get(service, "/usage/llm")).body;
  expect(data).toHaveLength(3);
  expect(data.map(({ status, streamed }: Body) => [status, streamed])).toEqual([
    ["ok", true],
    ["upstream_error", false],
    ["ok", false],
  ]);
  const { usage, id } = whole.body;
  expect(data[2]).toEqual({
    id: whole.headers.get("x-request-id"),
    model: "chat-1",
    status: "ok",
    streamed: false,
    prompt_tokens: usage.prompt_tokens,
    completion_tokens: usage.completion_tokens,
    reasoning_tokens: 0,
    usage_estimated: false,
    cost: (await get(service, `/jobs/${id}`)).body.cost,
    currency: "USD",
    ttft_ms: expect.any(Number),
    duration_ms: expect.any(Number),
    key_id: service.apiKey.split(":")[0],
    completion_id: id,
    created_at: expect.any(String),
    settled_at: expect.any(String),
  });
  expect(data[1]).toMatchObject({ cost: 0 });
  const ids = async (query: object) => {
    const found: (string | null)[] = [];
    for await (const { completionId } of client.llmRequests({ limit: 1, ...query })) found.push(completionId);
    return found;
  };
  const all = data.map(({ completion_id }: Body) => completion_id);
  expect(await ids({})).toEqual(all);
  expect(await ids({ model: "CHAT-1", keyId: service.apiKey.split(":")[0], end: "2100-01-01" })).toEqual(all);
  for (const none of [{ keyId: "key_unknown" }, { model: "chat-2" }, { start: "2100-01-01" }, { end: "2000-01-01" }])
    expect(await ids(none)).toEqual([]);
  const { next_cursor } = (await get(service, "/usage/llm?limit=1&model=chat-1")).body;
  expect((await get(service, `/usage/llm?model=chat-1&cursor=${next_cursor}`)).status).toBe(200);
  for (const other of ["", "&model=chat-2", "&model=chat-1&end=2100-01-01"]) {
    const { status, body } = await get(service, `/usage/llm?cursor=${next_cursor}${other}`);
    expect([status, body.error.param]).toEqual([400, "cursor"]);
  }
  const { body } = await get(service, "/usage/llm?start=2026-02-02&end=2026-02-01");
  expect(body.error).toMatchObject({ code: "INVALID_ARGUMENT", param: "start" });
  await client.close();
});

test("a request to a language model that is being answered is listed as pending, with neither tokens nor cost", async () => {
  const service = await start({ speed: 1 });
  service.clock.manual();
  const answered = ask(service, "POST", "/chat/completions", {
    body: { model: "chat-1", messages: [{ role: "user", content: "x" }] },
  });
  const listed = async () => (await get(service, "/usage/llm")).body.data;
  await expect.poll(listed).toHaveLength(1);
  expect((await listed())[0]).toMatchObject({ status: "pending", prompt_tokens: null, cost: null, settled_at: null });
  await service.clock.advance(60_000);
  expect((await answered).status).toBe(200);
  expect((await listed())[0]).toMatchObject({ status: "ok", settled_at: expect.any(String) });
});

test("a top-off that the card declines is announced at the default webhook alone, signed, and is neither listed nor sent again", async () => {
  const service = await start({ balance: 1 });
  const hook = await receiver();
  await ask(service, "PUT", "/webhooks/default", { body: { url: hook.url } });
  const wallet = (body: object) => ask(service, "POST", "/_local/wallet", { body });
  await wallet({ top_off: 5 });
  expect((await get(service, "/balance")).body.balance).toBe(6);
  await wallet({ card_declined: true, top_off: 5 });
  const [post] = await hook.arrived(1);
  const { headers } = post!;
  const event = JSON.parse(String(post!.body));
  expect(event).toEqual({
    id: expect.stringMatching(/^evt_/),
    type: "billing.top_off_failed",
    created_at: expect.any(String),
    reason: "payment_method_declined",
    amount_attempted: 5,
    balance: 6,
    currency: "USD",
  });
  expect(headers).toMatchObject({ "x-studio-webhook-id": event.id, "x-studio-webhook-event": event.type });
  expect((await get(service, "/webhooks/deliveries")).body.data).toEqual([]);
  expect((await ask(service, "POST", `/webhooks/deliveries/${event.id}/redeliver`)).status).toBe(404);
  expect((await get(service, "/balance")).body.balance).toBe(6);
});

test("after ten refusals for funds in a row uploads are paused until funds are added", async () => {
  const service = await start({ balance: 0 });
  const refuse = () => ask(service, "POST", "/models/image-1", { body: { input: { prompt: "x" } } });
  for (let count = 0; count < 9; count++) expect((await refuse()).status).toBe(402);
  expect((await upload(service, PICTURE.bytes)).status).toBe(201);
  await refuse();
  const { status, body } = await upload(service, PICTURE.bytes);
  expect([status, body.error.code, body.error.billing.required]).toEqual([402, "INSUFFICIENT_BALANCE", null]);
  await service.fund(0.01);
  expect((await upload(service, PICTURE.bytes)).status).toBe(201);
});
