import { expect, test } from "vitest";
import { collected } from "../../support/collected.ts";
import { announced, ended } from "../support/deliveries.ts";
import { SECRET } from "../support/drains.ts";
import { receiver } from "../support/receiver.ts";
import { clientOf, start } from "../support/service.ts";

test("our client manages the default webhook, lists deliveries and sends one again", async () => {
  const service = await start();
  const client = clientOf(service);
  const hook = await receiver();
  expect(await client.webhooks.default.set({ url: hook.url })).toMatchObject({ url: hook.url, enabled: true });
  expect(await client.webhooks.default.test()).toEqual({ ok: true, responseStatus: 200, error: null });
  const jobId = await announced(service, null);
  await ended(service, jobId, 1);
  expect(await client.webhooks.redeliver(jobId)).toMatchObject({ jobId, redeliveryCount: 1, status: "PENDING" });
  await ended(service, jobId, 2);
  const seen = await collected(client.webhooks.deliveries());
  const redeliveries = [{ status: "DELIVERED", attempts: 1, lastResponseStatus: 200, lastError: null }];
  expect(seen).toMatchObject([
    {
      ...{ jobId, jobAccessible: true, eventType: "job.completed", status: "DELIVERED" },
      ...{ source: "default", attempts: 2, redeliveries },
    },
  ]);
  await client.webhooks.default.delete();
  expect(await client.webhooks.default.get()).toMatchObject({ url: null, enabled: false });
});

test("our client makes, changes, tests and removes a log drain", async () => {
  const client = clientOf(await start());
  const hook = await receiver();
  const made = await client.drains.create({ name: "logs", url: hook.url, secret: SECRET, headers: { "X-A": "1" } });
  expect(made).toMatchObject({ format: "ndjson", headerNames: ["X-A"], batchSize: 1000, enabled: true });
  const change = { enabled: false, batchSize: 7 };
  expect(await client.drains.update(made.id, change)).toMatchObject(change);
  expect(await client.drains.test(made.id)).toMatchObject({ ok: true });
  await client.drains.delete(made.id);
  await expect(client.drains.get(made.id)).rejects.toMatchObject({ code: "NOT_FOUND" });
});
