import { expect, test } from "vitest";
import { drain, drainNow, drainUntil, lines } from "../support/drains.ts";
import { dataFolder, startProcess } from "../support/killable.ts";
import { receiver } from "../support/receiver.ts";
import { made, read, start, startHeld } from "../support/service.ts";

test("killed in the middle of a batch, the service posts it again after a restart: every event at least once [WD8]", async () => {
  const folder = await dataFolder();
  const { service: first, kill } = await startProcess(folder);
  const hook = await receiver((index) => (index === 0 ? undefined : 200));
  const { id } = await drain(first, { url: hook.url });
  const { job_id } = await made(first, "image-1", { prompt: "x" });
  const { data: logs } = await read(first, `/jobs/${job_id}/logs?limit=100`);
  await hook.arrived(1);
  await kill();
  const second = await start({ dataDir: folder });
  await drainUntil(second, id, (row) => row.last_success_at !== null);
  const arrived = hook.received.slice(1).flatMap(lines);
  expect(arrived.map((line) => line.studio_event)).toEqual(logs.map((log: { event: string }) => log.event));
});

test("what was accepted before a kill is not posted again", async () => {
  const folder = await dataFolder();
  const { service: first, kill } = await startProcess(folder);
  const hook = await receiver();
  const { id } = await drain(first, { url: hook.url });
  const before = await made(first, "image-1", { prompt: "x" });
  await hook.arrived(1);
  const seen = () => hook.received.flatMap(lines).map((line) => `${line.studio_job_id} ${line.studio_event}`);
  while (!seen().includes(`${before.job_id} completed`)) await hook.arrived(hook.received.length + 1);
  const { last_success_at: then } = await drainUntil(first, id, (row) => row.last_success_at !== null);
  await kill();
  const count = hook.received.length;
  const second = await start({ dataDir: folder });
  const after = await made(second, "image-1", { prompt: "x" });
  await drainUntil(second, id, (row) => row.last_success_at > then);
  const later = hook.received.slice(count).flatMap(lines);
  expect(new Set(later.map((line) => line.studio_job_id))).toEqual(new Set([after.job_id]));
});

test("a drain that was switched off stays off after a restart", async () => {
  const folder = await dataFolder();
  const first = await startHeld({ dataDir: folder });
  const hook = await receiver(() => 500);
  const { id } = await drain(first, { url: hook.url });
  await made(first, "image-1", { prompt: "x" });
  await first.clock.advance(3_600_000);
  await first.close();
  const second = await start({ dataDir: folder });
  await second.clock.advance(3_600_000);
  expect(await drainNow(second, id)).toMatchObject({ enabled: false, disabled_reason: "consecutive_failures" });
  expect(hook.received).toHaveLength(5);
});
