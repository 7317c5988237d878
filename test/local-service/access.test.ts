import { expect, test } from "vitest";
import { ask, get, key, start } from "./support/service.ts";

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

test("over the rate limit a key gets 429 with all four headers, and goes on in the next window [E7 E8 E38 L1 L2 L3 L4 L5 L6]", async () => {
  const service = await start({ rateLimit: { requests: 2, windowMs: 10_000 } });
  service.clock.manual();
  await get(service, "/balance");
  await get(service, "/balance");
  const refused = await get(service, "/balance");
  expect(refused.status).toBe(429);
  expect(refused.body.error).toMatchObject({
    code: "RESOURCE_EXHAUSTED",
    message: "Rate limit exceeded: 2 requests per 10 seconds.",
    retryable: true,
  });
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
