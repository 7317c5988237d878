import { expect, test } from "vitest";
import { ask, get, key, made, start } from "./support/service.ts";

test("both header forms are accepted [A1 A2 A3]", async () => {
  const service = await start();
  const forms = [`Key ${service.apiKey}`, `Bearer ${service.apiKey}`, `bearer ${service.apiKey}`];
  for (const Authorization of forms) {
    const reply = await get(service, "/balance", { credential: null, headers: { Authorization } });
    expect(reply.status).toBe(200);
  }
});

test("missing and wrong credentials are 401 with the envelope and its ids [A12 A13 E1 E29 WC4]", async () => {
  const service = await start();
  const wrong = [null, "key_unknown:secret", `${service.apiKey}x`, "tok_nothing", "nonsense"];
  for (const credential of wrong) {
    const reply = await get(service, "/balance", { credential });
    expect(reply.status).toBe(401);
    expect(reply.body.error).toMatchObject({ code: "UNAUTHORIZED", message: expect.any(String), retryable: false });
    expect(reply.body.trace_id).toMatch(/^[0-9a-f]{32}$/);
    expect(reply.headers.get("x-trace-id")).toBe(reply.body.trace_id);
    expect(reply.headers.get("x-request-id")).toMatch(/^req_/);
  }
});

test("jobs of another owner, and of the same owner in another workspace, are not visible [E34 WC8 WC15 WJ19]", async () => {
  const service = await start();
  const job = await made(service, "image-1", { prompt: "mine" });
  for (const place of [{ owner_id: "someone" }, { workspace_id: "elsewhere" }]) {
    const credential = await key(service, place);
    expect((await get(service, `/jobs/${job.job_id}`, { credential })).status).toBe(404);
    expect((await get(service, "/jobs", { credential })).body.data).toEqual([]);
    const input = { prompt: "x", images: [{ source: "asset", asset_id: job.outputs[0].asset_id }] };
    const stolen = await ask(service, "POST", "/models/image-1/estimate", { body: { input }, credential });
    expect(stolen.body.error.details[0]).toMatchObject({ field: "input.images[0].asset_id", reason: "not_found" });
  }
});

test("an owner who left the workspace gets 403, and is let in again after coming back [A14 E32]", async () => {
  const service = await start();
  const credential = await key(service, { owner_id: "guest" });
  await ask(service, "POST", "/_local/members", { body: { owner_id: "guest", left: true } });
  const refused = await get(service, "/balance", { credential });
  expect(refused.status).toBe(403);
  expect(refused.body.error.code).toBe("PERMISSION_DENIED");
  await ask(service, "POST", "/_local/members", { body: { owner_id: "guest", left: false } });
  expect((await get(service, "/balance", { credential })).status).toBe(200);
});

test("over the rate limit a key gets 429 with all four headers, and goes on in the next window [E7 E8 E38 L1 L3 L4 L5 L6]", async () => {
  const service = await start({ rateLimit: { requests: 2, windowMs: 10_000 } });
  service.clock.manual();
  await get(service, "/balance");
  await get(service, "/balance");
  const refused = await get(service, "/balance");
  expect(refused.status).toBe(429);
  expect(refused.body.error).toMatchObject({ code: "RESOURCE_EXHAUSTED", retryable: true });
  const { retry_after } = refused.body.error;
  const reset = Number(refused.headers.get("x-ratelimit-reset"));
  expect(refused.headers.get("x-ratelimit-limit")).toBe("2");
  expect(refused.headers.get("x-ratelimit-remaining")).toBe("0");
  expect(refused.headers.get("retry-after")).toBe(String(retry_after));
  expect([Number.isInteger(retry_after), retry_after > 0, retry_after <= 10]).toEqual([true, true, true]);
  expect(reset).toBe(Math.ceil(service.clock.now() / 1000) + retry_after);
  const other = await key(service, {});
  expect((await get(service, "/balance", { credential: other })).status).toBe(200);
  await service.clock.advance(retry_after * 1000);
  expect((await get(service, "/balance")).status).toBe(200);
});

test("a browser page may read answers and the rate-limit headers [A7]", async () => {
  const service = await start();
  const headers = { Origin: "https://app.example" };
  const preflight = await fetch(`${service.baseUrl}/jobs`, { method: "OPTIONS", headers });
  expect(preflight.status).toBe(204);
  expect(preflight.headers.get("access-control-allow-headers")).toContain("Authorization");
  const reply = await get(service, "/jobs", { headers });
  expect(reply.headers.get("access-control-allow-origin")).toBe("*");
  for (const name of ["Retry-After", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"]) {
    expect(reply.headers.get("access-control-expose-headers")).toContain(name);
  }
});

test("the operator's side refuses web pages from elsewhere", async () => {
  const service = await start();
  const reply = await ask(service, "POST", "/_local/wallet", {
    body: { add: 1 },
    headers: { Origin: "https://elsewhere.example" },
  });
  expect(reply.status).toBe(403);
});
