/** What moves the wallet, and what is said when a top-off fails. */
import { expect, test } from "vitest";
import { PICTURE } from "../../src/local-service/start.ts";
import { collected } from "../support/collected.ts";
import { receiver } from "./support/receiver.ts";
import {
  ask,
  type Body,
  chat,
  clientOf,
  get,
  made,
  post,
  read,
  refusal,
  start,
  startHeld,
  upload,
} from "./support/service.ts";

test("transactions are what moved the wallet, newest first, and add up to the balance", async () => {
  const service = await startHeld({ balance: 2 });
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
  const client = clientOf(service);
  const items: Body[] = await collected(client.transactions({ limit: 2 }));
  expect(items.map(({ id }) => id)).toEqual(data.map(({ id }: Body) => id));
  expect(items[1]).toMatchObject({ kind: "usage", amountMicros: -40_000, currency: "USD" });
  expect(await client.usage()).toMatchObject({ totalRequests: 0, totalJobs: 2 });
});

test("a request to a language model that failed is listed by the code of its error", async () => {
  const service = await start();
  for (const code of ["CANCELLED", "DEADLINE_EXCEEDED", "UNAVAILABLE"] as const) {
    service.faults([{ kind: "fail_job", code }]);
    await chat(service, "Say hi");
  }
  const { data } = (await get(service, "/usage/llm")).body;
  expect(data.map(({ status }: Body) => status)).toEqual(["upstream_error", "timeout", "client_abort"]);
});

test("requests to language models are listed with what they were charged, by time, model and key, and a cursor is good for these alone", async () => {
  const service = await start();
  const client = clientOf(service);
  const whole = await chat(service, "one");
  service.faults([{ kind: "fail_job" }]);
  await chat(service, "two");
  service.faults([]);
  await chat(service, "three", { stream: true });
  const { data } = await read(service, "/usage/llm");
  expect(data.map(({ status, streamed }: Body) => [status, streamed])).toEqual([
    ["ok", true],
    ["upstream_error", false],
    ["ok", false],
  ]);
  const { usage, id } = whole.body;
  const { prompt_tokens, completion_tokens } = usage;
  const [keyId] = service.apiKey.split(":");
  expect(data[2]).toEqual({
    ...{ id: whole.headers.get("x-request-id"), model: "chat-1", status: "ok", streamed: false },
    ...{ prompt_tokens, completion_tokens, reasoning_tokens: 0, usage_estimated: false },
    ...{ cost: (await read(service, `/jobs/${id}`)).cost, currency: "USD" },
    ...{ ttft_ms: expect.any(Number), duration_ms: expect.any(Number), key_id: keyId, completion_id: id },
    ...{ created_at: expect.any(String), settled_at: expect.any(String) },
  });
  expect(data[1]).toMatchObject({ cost: 0 });
  const ids = async (query: object) =>
    (await collected(client.llmRequests({ limit: 1, ...query }))).map(({ completionId }) => completionId);
  const all = data.map(({ completion_id }: Body) => completion_id);
  expect(await ids({})).toEqual(all);
  expect(await ids({ model: "CHAT-1", keyId, end: "2100-01-01" })).toEqual(all);
  for (const none of [{ keyId: "key_unknown" }, { model: "chat-2" }, { start: "2100-01-01" }, { end: "2000-01-01" }])
    expect(await ids(none)).toEqual([]);
  const { next_cursor } = (await get(service, "/usage/llm?limit=1&model=chat-1")).body;
  expect((await get(service, `/usage/llm?model=chat-1&cursor=${next_cursor}`)).status).toBe(200);
  const wrong = ["", "&model=chat-2", "&model=chat-1&end=2100-01-01"].map((other) => `cursor=${next_cursor}${other}`);
  for (const query of [...wrong, "start=2026-02-02&end=2026-02-01"]) {
    const reply = await get(service, `/usage/llm?${query}`);
    expect(reply).toMatchObject(refusal(400, { code: "INVALID_ARGUMENT", param: query.split("=")[0] }));
  }
});

test("a request to a language model that is being answered is listed as pending, with neither tokens nor cost", async () => {
  const service = await startHeld({ speed: 1 });
  const answered = chat(service, "x");
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
  await post(service, "/_local/wallet", { top_off: 5 });
  expect((await read(service, "/balance")).balance).toBe(6);
  await post(service, "/_local/wallet", { card_declined: true, top_off: 5 });
  const [sent] = await hook.arrived(1);
  const event = JSON.parse(String(sent!.body));
  expect(event).toEqual({
    ...{ id: expect.stringMatching(/^evt_/), type: "billing.top_off_failed", created_at: expect.any(String) },
    ...{ reason: "payment_method_declined", amount_attempted: 5, balance: 6, currency: "USD" },
  });
  expect(sent!.headers).toMatchObject({ "x-studio-webhook-id": event.id, "x-studio-webhook-event": event.type });
  expect((await get(service, "/webhooks/deliveries")).body.data).toEqual([]);
  expect((await ask(service, "POST", `/webhooks/deliveries/${event.id}/redeliver`)).status).toBe(404);
  expect((await get(service, "/balance")).body.balance).toBe(6);
});

test("after ten refusals for funds in a row uploads are paused until funds are added", async () => {
  const service = await start({ balance: 0 });
  const refuse = () => post(service, "/models/image-1", { input: { prompt: "x" } });
  for (let count = 0; count < 9; count++) expect((await refuse()).status).toBe(402);
  expect((await upload(service, PICTURE.bytes)).status).toBe(201);
  await refuse();
  const { status, body } = await upload(service, PICTURE.bytes);
  expect([status, body.error.code, body.error.billing.required]).toEqual([402, "INSUFFICIENT_BALANCE", null]);
  await service.fund(0.01);
  expect((await upload(service, PICTURE.bytes)).status).toBe(201);
});
