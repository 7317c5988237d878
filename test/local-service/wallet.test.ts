import { expect, test } from "vitest";
import { estimate, finished, key, post, read, refusal, start, startHeld, submit } from "./support/service.ts";

const cat = { prompt: "a cat" };

test("the price is charged at submit, and the balance shows it [M16 P28 S7 T3 WA4 WC2 WJ24]", async () => {
  const service = await startHeld({ balance: 1 });
  await submit(service, "image-1", { ...cat, quality: "pro", num_outputs: 2 });
  expect(await read(service, "/balance")).toEqual({ balance: 0.88, currency: "USD", spent: 0.12 });
});

test("an empty wallet refuses with 402, the balance of GET /balance, what is required, and a usable funding_url [E12 E18 E19 E20 E21 E30 P28 S10]", async () => {
  const service = await start({ balance: 0.03 });
  const body = { input: { ...cat, num_outputs: 2 } };
  const refused = await post(service, "/models/image-1", body);
  expect(refused).toMatchObject(refusal(402, "INSUFFICIENT_BALANCE"));
  const { billing } = refused.body.error;
  expect(billing).toMatchObject({ balance: 0.03, required: 0.04, currency: "USD", reason: null });
  expect((await read(service, "/balance")).balance).toBe(billing.balance);
  expect((await fetch(billing.funding_url)).status).toBe(200);
  const form = new URLSearchParams({ dollars: "1" });
  expect((await fetch(billing.funding_url, { method: "POST", body: form })).status).toBe(200);
  expect((await read(service, "/balance")).balance).toBe(1.03);
  expect((await post(service, "/models/image-1", body)).status).toBe(202);
});

test("a declined card is told as the reason, on demand [E22]", async () => {
  const service = await start({ balance: 0 });
  await post(service, "/_local/wallet", { card_declined: true });
  const refused = await post(service, "/models/image-1", { input: cat });
  expect(refused.body.error.billing.reason).toBe("card_declined");
});

test("a model that cannot be quoted requires null, and is charged what was measured [E19 P10 WJ24 WM6]", async () => {
  const service = await start({ balance: 0 });
  const { body } = await post(service, "/_local/wallet", { add: 0.06 });
  expect(body.data[0].balance).toBe(0.06);
  const picture = (await finished(service, (await submit(service, "image-1", cat)).job_id)).outputs[0];
  const input = { image: { source: "asset", asset_id: picture.asset_id }, scale: 4 };
  const quote = await estimate(service, "upscale-1", input);
  expect(quote.body).toMatchObject({ cost: null, quotable: false, reason: expect.any(String) });
  const job = await finished(service, (await submit(service, "upscale-1", input)).job_id);
  expect(job.cost).toBe(0.04);
  const refused = await post(service, "/models/upscale-1", { input });
  expect(refused.body.error.billing.required).toBeNull();
});

test("many submits at once never spend more than there is [WA15]", async () => {
  const service = await start({ balance: 0.1 });
  const replies = await Promise.all(Array.from({ length: 20 }, () => post(service, "/models/image-1", { input: cat })));
  expect(replies.filter((reply) => reply.status === 202)).toHaveLength(5);
  expect(replies.filter((reply) => reply.status === 402)).toHaveLength(15);
  expect((await read(service, "/balance")).balance).toBe(0);
});

test("a failed job is refunded in full and says so [E41 WJ4 WJ6 WJ8 WJ12 WJ25]", async () => {
  const service = await start({ balance: 1 });
  service.faults([{ kind: "fail_job", code: "UNAVAILABLE" }]);
  const job = await finished(service, (await submit(service, "image-1", cat)).job_id);
  const error = { code: "UNAVAILABLE", retryable: true };
  expect(job).toMatchObject({ status: "FAILED", cost: 0, outputs: [], error });
  expect(await read(service, `/jobs/${job.job_id}/status`)).toMatchObject({ status: "FAILED", progress: null });
  expect(await read(service, "/balance")).toMatchObject({ balance: 1, spent: 0 });
});

test("a failed output of a completed job says why, and is refunded pro rata [E42 O3 O5 O22 S6 WJ26]", async () => {
  const service = await start({ balance: 1 });
  service.faults([{ kind: "fail_output", outputs: [1] }]);
  const job = await finished(service, (await submit(service, "image-1", { ...cat, num_outputs: 4 })).job_id);
  const [made, error] = [{ status: "COMPLETED" }, { code: "INTERNAL", message: expect.any(String) }];
  const failed = { status: "FAILED", asset_id: null, url: null, error };
  expect(job).toMatchObject({ status: "COMPLETED", cost: 0.06, outputs: [made, failed, made, made] });
  expect((await read(service, "/balance")).balance).toBe(0.94);
});

test("a new workspace starts at zero; funds of one do not pay for another [S8 S9 S10 WC16]", async () => {
  const service = await start({ balance: 5 });
  const credential = await key(service, { workspace_id: "other" });
  expect((await read(service, "/balance", { credential })).balance).toBe(0);
  expect((await post(service, "/models/image-1", { input: cat }, credential)).status).toBe(402);
});
