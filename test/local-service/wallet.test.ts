import { expect, test } from "vitest";
import { ask, finished, get, key, start, submit } from "./support/service.ts";

const cat = { prompt: "a cat" };

test("the price is charged at submit, and the balance shows it [M16 P28 S7 T3 WA4 WC2 WJ24]", async () => {
  const service = await start({ balance: 1 });
  service.clock.manual();
  await submit(service, "image-1", { ...cat, quality: "pro", num_outputs: 2 });
  expect((await get(service, "/balance")).body).toEqual({ balance: 0.88, currency: "USD", spent: 0.12 });
});

test("an empty wallet refuses with 402, the balance of GET /balance, what is required, and a usable funding_url [E12 E18 E19 E20 E21 E30 P28 S10]", async () => {
  const service = await start({ balance: 0.03 });
  const body = { input: { ...cat, num_outputs: 2 } };
  const refused = await ask(service, "POST", "/models/image-1", { body });
  expect(refused.status).toBe(402);
  const { code, billing } = refused.body.error;
  expect(code).toBe("INSUFFICIENT_BALANCE");
  expect(billing).toMatchObject({ balance: 0.03, required: 0.04, currency: "USD", reason: null });
  expect((await get(service, "/balance")).body.balance).toBe(billing.balance);
  expect((await fetch(billing.funding_url)).status).toBe(200);
  const form = new URLSearchParams({ dollars: "1" });
  expect((await fetch(billing.funding_url, { method: "POST", body: form })).status).toBe(200);
  expect((await get(service, "/balance")).body.balance).toBe(1.03);
  expect((await ask(service, "POST", "/models/image-1", { body })).status).toBe(202);
});

test("a declined card is told as the reason, on demand [E22]", async () => {
  const service = await start({ balance: 0 });
  await ask(service, "POST", "/_local/wallet", { body: { card_declined: true } });
  const refused = await ask(service, "POST", "/models/image-1", { body: { input: cat } });
  expect(refused.body.error.billing.reason).toBe("card_declined");
});

test("a model that cannot be quoted requires null, and is charged what was measured [E19 P10 WJ24 WM6]", async () => {
  const service = await start({ balance: 0 });
  const { body } = await ask(service, "POST", "/_local/wallet", { body: { add: 0.06 } });
  expect(body.data[0].balance).toBe(0.06);
  const picture = (await finished(service, (await submit(service, "image-1", cat)).job_id)).outputs[0];
  const input = { image: { source: "asset", asset_id: picture.asset_id }, scale: 4 };
  const quote = await ask(service, "POST", "/models/upscale-1/estimate", { body: { input } });
  expect(quote.body).toMatchObject({ cost: null, quotable: false, reason: expect.any(String) });
  const job = await finished(service, (await submit(service, "upscale-1", input)).job_id);
  expect(job.cost).toBe(0.04);
  const refused = await ask(service, "POST", "/models/upscale-1", { body: { input } });
  expect(refused.body.error.billing.required).toBeNull();
});

test("many submits at once never spend more than there is [WA15]", async () => {
  const service = await start({ balance: 0.1 });
  const replies = await Promise.all(
    Array.from({ length: 20 }, () => ask(service, "POST", "/models/image-1", { body: { input: cat } })),
  );
  expect(replies.filter((reply) => reply.status === 202)).toHaveLength(5);
  expect(replies.filter((reply) => reply.status === 402)).toHaveLength(15);
  expect((await get(service, "/balance")).body.balance).toBe(0);
});

test("a failed job is refunded in full and says so [E41 WJ4 WJ6 WJ8 WJ12 WJ25]", async () => {
  const service = await start({ balance: 1 });
  service.faults([{ kind: "fail_job", code: "UNAVAILABLE" }]);
  const job = await finished(service, (await submit(service, "image-1", cat)).job_id);
  expect(job).toMatchObject({
    status: "FAILED",
    cost: 0,
    outputs: [],
    error: { code: "UNAVAILABLE", retryable: true },
  });
  expect((await get(service, `/jobs/${job.job_id}/status`)).body).toMatchObject({ status: "FAILED", progress: null });
  expect((await get(service, "/balance")).body).toMatchObject({ balance: 1, spent: 0 });
});

test("a failed output of a completed job says why, and is refunded pro rata [E42 O3 O5 O22 S6 WJ26]", async () => {
  const service = await start({ balance: 1 });
  service.faults([{ kind: "fail_output", outputs: [1] }]);
  const job = await finished(service, (await submit(service, "image-1", { ...cat, num_outputs: 4 })).job_id);
  expect(job.status).toBe("COMPLETED");
  const statuses = job.outputs.map((output: { status: string }) => output.status);
  expect(statuses).toEqual(["COMPLETED", "FAILED", "COMPLETED", "COMPLETED"]);
  expect(job.outputs[1]).toMatchObject({
    asset_id: null,
    url: null,
    error: { code: "INTERNAL", message: expect.any(String) },
  });
  expect(job.cost).toBe(0.06);
  expect((await get(service, "/balance")).body.balance).toBe(0.94);
});

test("a new workspace starts at zero; funds of one do not pay for another [S8 S9 S10 WC16]", async () => {
  const service = await start({ balance: 5 });
  const credential = await key(service, { workspace_id: "other" });
  expect((await get(service, "/balance", { credential })).body.balance).toBe(0);
  expect((await ask(service, "POST", "/models/image-1", { body: { input: cat }, credential })).status).toBe(402);
});
