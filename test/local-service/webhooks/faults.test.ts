import { expect, test } from "vitest";
import { announced, deliveryOf, ended, eventOf } from "../support/deliveries.ts";
import { receiver } from "../support/receiver.ts";
import { finished, start, startHeld } from "../support/service.ts";

test("a duplicated webhook arrives twice under one id, and is one delivery", async () => {
  const service = await start();
  const hook = await receiver();
  service.faults([{ kind: "webhook_duplicate", count: 1 }]);
  const jobId = await announced(service, hook.url);
  const posts = await hook.arrived(2);
  const events = await Promise.all(posts.map((post) => eventOf(service, post)));
  expect(events).toMatchObject(Array(2).fill({ id: jobId, redelivery: false }));
  expect(await ended(service, jobId, 1)).toMatchObject({ status: "DELIVERED" });
  await announced(service, hook.url);
  await service.clock.advance(60_000);
  await hook.arrived(3);
});

test("a delayed webhook arrives at its instant on the service's clock, not before, and after later ones", async () => {
  const service = await startHeld();
  const hook = await receiver();
  service.faults([{ kind: "webhook_delay", delay_ms: 45_000, prompt: "slow" }]);
  const jobId = await announced(service, hook.url, "a slow one");
  await finished(service, jobId);
  await ended(service, await announced(service, hook.url, "a quick one"), 1);
  await service.clock.advance(44_999);
  expect(hook.received).toHaveLength(1);
  const held = { status: "PENDING", event_type: "job.completed", attempts: 0 };
  expect(await deliveryOf(service, jobId)).toMatchObject(held);
  await service.clock.advance(1);
  expect(await eventOf(service, hook.received[1])).toMatchObject({ id: jobId });
});

test("a webhook that is never sent leaves its delivery PENDING", async () => {
  const service = await startHeld();
  const hook = await receiver();
  service.faults([{ kind: "webhook_never" }]);
  const jobId = await announced(service, hook.url);
  await finished(service, jobId);
  await service.clock.advance(86_400_000);
  expect(hook.received).toHaveLength(0);
  expect(await deliveryOf(service, jobId)).toMatchObject({ status: "PENDING", event_type: null, attempts: 0 });
});
