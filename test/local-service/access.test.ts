import { expect, test } from "vitest";
import { words } from "../support/word-list.ts";
import { get, key, post, refusal, start, startHeld } from "./support/service.ts";

test("an owner who left the workspace gets 403, and is let in again after coming back [A14 E32]", async () => {
  const service = await start();
  const credential = await key(service, { owner_id: "guest" });
  await post(service, "/_local/members", { owner_id: "guest", left: true });
  expect(await get(service, "/balance", { credential })).toMatchObject(refusal(403, "PERMISSION_DENIED"));
  await post(service, "/_local/members", { owner_id: "guest", left: false });
  expect((await get(service, "/balance", { credential })).status).toBe(200);
});

test("over the rate limit a key gets 429 with all four headers, and goes on in the next window [E7 E8 E38 L1 L2 L3 L4 L5 L6]", async () => {
  const service = await startHeld({ rateLimit: { requests: 2, windowMs: 10_000 } });
  await get(service, "/balance");
  await get(service, "/balance");
  const { status, body, headers } = await get(service, "/balance");
  const { retry_after, ...error } = body.error;
  const message = "Rate limit exceeded: 2 requests per 10 seconds.";
  expect([status, error]).toMatchObject([429, { code: "RESOURCE_EXHAUSTED", message, retryable: true }]);
  expect([Number.isInteger(retry_after), retry_after > 0, retry_after <= 10]).toEqual([true, true, true]);
  const reset = Math.ceil(service.clock.now() / 1000) + retry_after;
  const names = words("x-ratelimit-limit x-ratelimit-remaining x-ratelimit-reset retry-after");
  expect(names.map((name) => Number(headers.get(name)))).toEqual([2, 0, reset, retry_after]);
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
