import { expect, test } from "vitest";
import { startLocalService } from "../../../src/local-service/index.ts";
import { announced, deliveryOf, deliveryUntil, ended, eventOf } from "../support/deliveries.ts";
import { dataFolder, startProcess } from "../support/killable.ts";
import { receiver } from "../support/receiver.ts";
import { ask, finished, read, start } from "../support/service.ts";

test("killed in the middle of an attempt, the service makes it again after a restart, signed with the same key", async () => {
  const folder = await dataFolder();
  const { service: first, kill } = await startProcess(folder);
  const hook = await receiver((index) => (index === 0 ? undefined : 200));
  const jobId = await announced(first, hook.url);
  await hook.arrived(1);
  const publicKey = (await read(first, "/webhooks/public-key")).public_key;
  await kill();
  const second = await start({ dataDir: folder });
  await hook.arrived(2);
  expect((await read(second, "/webhooks/public-key")).public_key).toBe(publicKey);
  expect(await eventOf(second, hook.received[1])).toMatchObject({ id: jobId, attempt: 2, redelivery: false });
  expect(await ended(second, jobId, 2)).toMatchObject({ status: "DELIVERED", last_response_status: 200 });
});

test("killed between two attempts, the retry schedule continues where it was", async () => {
  const folder = await dataFolder();
  const { service: first, kill } = await startProcess(folder);
  const hook = await receiver((index) => (index === 0 ? 500 : 200));
  const jobId = await announced(first, hook.url);
  await ended(first, jobId, 1);
  await kill();
  const second = await start({ dataDir: folder });
  expect(await deliveryOf(second, jobId)).toMatchObject({ status: "PENDING", attempts: 1, last_response_status: 500 });
  await second.clock.advance(10_000);
  expect(await deliveryOf(second, jobId)).toMatchObject({ status: "DELIVERED", attempts: 2 });
});

test("killed again and again while jobs finish, the service announces every accepted job in the end", async () => {
  const folder = await dataFolder();
  const hook = await receiver();
  const jobs: string[] = [];
  for (const round of [1, 2, 3]) {
    const { service, kill } = await startProcess(folder);
    for (let index = 0; index < 5; index += 1) jobs.push(await announced(service, hook.url));
    await hook.arrived(round);
    await kill();
  }
  const last = await start({ dataDir: folder });
  for (const jobId of jobs) {
    await finished(last, jobId);
    expect(await deliveryUntil(last, jobId, (row) => row.status === "DELIVERED")).toMatchObject({
      event_type: "job.completed",
    });
  }
  const announcedIds = hook.received.map((post) => String(post.headers["x-studio-webhook-id"]));
  expect(new Set(announcedIds)).toEqual(new Set(jobs));
});

test("an ordinary end of the service in the middle of an attempt loses nothing either", async () => {
  const folder = await dataFolder();
  const first = await startLocalService({ dataDir: folder, renderer: "stub" });
  const hook = await receiver((index) => (index === 0 ? undefined : 200));
  await ask(first, "PUT", "/webhooks/default", { body: { url: hook.url } });
  const jobId = await announced(first, null);
  await hook.arrived(1);
  await first.close();
  const second = await start({ dataDir: folder });
  expect(await deliveryUntil(second, jobId, (row) => row.status === "DELIVERED")).toMatchObject({
    attempts: 2,
    source: "default",
  });
  expect((await read(second, "/webhooks/default")).url).toBe(hook.url);
});
