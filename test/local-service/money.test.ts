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

test("as of 3.9 there are no transactions, and usage counts no requests", async () => {
  const service = await start({ asOf: "3.9" });
  expect((await get(service, "/transactions")).status).toBe(404);
  expect((await get(service, "/usage")).body).not.toHaveProperty("total_requests");
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
