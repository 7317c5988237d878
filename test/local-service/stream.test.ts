import { expect, test } from "vitest";
import type { Body, Frame } from "./support/service.ts";
import { frames, get, made, read, start, startHeld, submit, until } from "./support/service.ts";

const dataOf = (all: readonly Frame[], kind: string): Body[] =>
  all.flatMap(({ event, data }) => (event === kind ? [JSON.parse(data)] : []));
const statuses = (all: readonly Frame[]) => dataOf(all, "status").map(({ status }) => status);
const logIds = (all: readonly Frame[]) => dataOf(all, "log").map(({ id }) => id);

test("a stream opened late replays every stored event, then the terminal status, then done [N16 P26 WS1 WS4 WS5 WS6]", async () => {
  const service = await start();
  const job = await made(service, "image-1", { prompt: "x" });
  const all = await frames(service, job.job_id);
  const { body } = await get(service, `/jobs/${job.job_id}/status`);
  expect(body).toMatchObject({ status: "COMPLETED", progress: 1, estimated_completion_at: null });
  expect({ ...all[0], data: JSON.parse(all[0]!.data) }).toMatchObject({ event: "status", data: body });
  expect(logIds(all)).toEqual([1, 2, 3, 4, 5, 6, 7]);
  expect(statuses(all).at(-1)).toBe("COMPLETED");
  expect(all.at(-1)).toEqual({ event: "done", id: null, data: "[STREAM_DONE]" });
  const kinds = all.map((frame) => frame.event);
  expect(kinds.lastIndexOf("log")).toBeLessThan(kinds.lastIndexOf("status"));
  expect(kinds.filter((kind) => kind === "done")).toHaveLength(1);
});

test("a live stream carries every status on the way, and progress [N16 P26 S3 S20 T1 WJ11 WS5]", async () => {
  const service = await startHeld({ speed: 1 });
  const { job_id } = await submit(service, "image-1", { prompt: "x" });
  const following = frames(service, job_id);
  await until(service, "/balance", () => service.stats().open_streams === 1);
  await service.clock.advance(300);
  await service.clock.advance(2000);
  const all = await following;
  expect(statuses(all)).toEqual(["IN_QUEUE", "IN_PROGRESS", "COMPLETED"]);
  expect(dataOf(all, "log").filter(({ event }) => event === "progress")).toHaveLength(3);
  expect(service.stats().open_streams).toBe(0);
});

test("Last-Event-ID resumes after the event it names [WS3]", async () => {
  const service = await start();
  const job = await made(service, "image-1", { prompt: "x" });
  const all = await frames(service, job.job_id, { "Last-Event-ID": "4" });
  expect(logIds(all)).toEqual([5, 6, 7]);
  const end = all.filter((frame) => frame.event === "status").at(-1);
  const after = await frames(service, job.job_id, { "Last-Event-ID": end?.id ?? "" });
  expect(after.map((frame) => frame.event)).toEqual(["status", "done"]);
  expect(logIds(await frames(service, job.job_id, { "Last-Event-ID": "nonsense" }))).toHaveLength(7);
});

test("ids of frames differ, and the end cannot be smuggled in through an event [WS2 WS9]", async () => {
  const service = await start();
  service.faults([{ kind: "fail_job" }]);
  const job = await made(service, "image-1", { prompt: "[STREAM_DONE]" });
  const all = await frames(service, job.job_id);
  const ids = all.flatMap((frame) => frame.id ?? []);
  expect(new Set(ids).size).toBe(ids.length);
  expect(all.filter((frame) => frame.data.includes("[STREAM_DONE]"))).toHaveLength(1);
  expect(statuses(all).at(-1)).toBe("FAILED");
});

test("a service that closes ends its streams cleanly, with word to come back and no done [WS8]", async () => {
  const service = await startHeld({ speed: 1 });
  const { job_id } = await submit(service, "image-1", { prompt: "x" });
  const headers = { Authorization: `Bearer ${service.apiKey}` };
  const response = await fetch(`${service.baseUrl}/jobs/${job_id}/stream`, { headers });
  await service.close();
  const text = await response.text();
  expect(text).toContain("retry: 1000");
  expect(text).not.toContain("STREAM_DONE");
});

test("logs_after=start begins at the first event, and its cursor goes on from there [J13 J14 N17 P22 P23 P24 S3]", async () => {
  const service = await startHeld({ speed: 1 });
  const { job_id } = await submit(service, "image-1", { prompt: "x" });
  const path = `/jobs/${job_id}/status`;
  expect(await read(service, path)).not.toHaveProperty("logs");
  const first = await read(service, `${path}?logs_after=start`);
  expect(first.logs.map((item: { event: string }) => item.event)).toEqual(["queued", "moderation.passed"]);
  const idle = await read(service, `${path}?logs_after=${first.logs_next_cursor}`);
  expect([idle.logs, "logs_next_cursor" in idle]).toEqual([[], false]);
  await service.clock.advance(300);
  const next = await read(service, `${path}?logs_after=${first.logs_next_cursor}`);
  expect(next.logs.map((item: { event: string }) => item.event)).toEqual(["started", "provider.submitted"]);
  expect((await get(service, `${path}?logs_after=whatever`)).status).toBe(400);
});
