import { expect, test } from "vitest";
import { readDrainEvents, verifyLogDrain } from "../../../src/core/api/webhooks/webhook-handler.ts";
import type { LocalService } from "../../../src/local-service/index.ts";
import {
  attributes,
  change,
  decodeOtlp,
  drain,
  drainNow,
  drainUntil,
  GATHERED_MS,
  lines,
  SECRET,
} from "../support/drains.ts";
import { receiver } from "../support/receiver.ts";
import { ask, type Body, key, made, read, start, startHeld } from "../support/service.ts";

const logsOf = async (service: LocalService, jobId: string): Promise<Body[]> =>
  (await read(service, `/jobs/${jobId}/logs?limit=100`)).data;

/** The fields that a brand's drain adds to an event of a job of image-1. */
const own = (brand: string, { event, source, data }: Body, jobId: string) => {
  const fields = { log_id: expect.stringMatching(/^log_\d+$/), job_id: jobId, model: "image-1", event, source };
  const all = Object.entries({ ...fields, ...(Object.keys(data).length > 0 && { data }) });
  return Object.fromEntries(all.map(([name, value]) => [`${brand}_${name}`, value]));
};

test("every lifecycle event is one NDJSON line, in order, signed with the drain's secret [N18 WD4 WD5]", async () => {
  const service = await startHeld();
  const hook = await receiver();
  await drain(service, { url: `${hook.url}/logs`, headers: { Authorization: "Bearer t" } });
  const { job_id } = await made(service, "image-1", { prompt: "x" });
  await service.clock.advance(GATHERED_MS);
  const [post] = hook.received;
  const sent = { "content-type": "application/x-ndjson", authorization: "Bearer t" };
  expect(post).toMatchObject({ path: "/logs", headers: sent });
  const verified = [SECRET, `${SECRET}x`].map((secret) => verifyLogDrain({ ...post!, secret }));
  expect(verified).toEqual([true, false]);
  const logs = await logsOf(service, job_id);
  expect(logs.length).toBeGreaterThan(4);
  const line = ({ timestamp, level, message, ...log }: Body) => ({
    timestamp,
    level,
    message,
    ...own("studio", log, job_id),
  });
  expect(lines(post)).toEqual(logs.map(line));
  expect(readDrainEvents(post!.body).map((event) => event.event)).toEqual(logs.map((log) => log.event));
});

test("OTLP: an independent decoder reads the same fields from the protobuf [N18 WC19 WD6]", async () => {
  const service = await startHeld({ brand: "Acme" });
  const hook = await receiver();
  await drain(service, { url: hook.url, format: "otlp", secret: undefined, headers: { "X-Token": "t" } });
  service.faults([{ kind: "fail_job" }]);
  const { job_id } = await made(service, "image-1", { prompt: "x" });
  await service.clock.advance(GATHERED_MS);
  const [post] = hook.received;
  expect(post!.headers).toMatchObject({ "content-type": "application/x-protobuf", "x-token": "t" });
  const { resource_logs } = decodeOtlp(post!.body);
  expect(resource_logs).toHaveLength(1);
  expect(attributes(resource_logs[0].resource.attributes)).toEqual({ "service.name": "acme" });
  const records = resource_logs[0].scope_logs[0].log_records;
  const logs = await logsOf(service, job_id);
  const told = records.map((record: Body) => [record.time_unix_nano, record.severity_text, record.body.string_value]);
  expect(told).toEqual(logs.map((log) => [`${Date.parse(log.timestamp)}000000`, log.level, log.message]));
  const found = records.map((record: Body) => attributes(record.attributes));
  expect(found).toEqual(logs.map((log) => own("acme", log, job_id)));
  const severities = records.map((record: Body) => [record.severity_text, record.severity_number]);
  expect(Object.fromEntries(severities)).toMatchObject({ info: 9, error: 17 });
});

test("batches hold at most batch_size events, and together every event once [WD7]", async () => {
  const service = await startHeld();
  const hook = await receiver();
  await drain(service, { url: hook.url, batch_size: 4 });
  const jobs = await Promise.all([1, 2, 3].map(() => made(service, "image-1", { prompt: "x" })));
  await service.clock.advance(GATHERED_MS);
  const sizes = hook.received.map((post) => lines(post).length);
  expect(Math.max(...sizes)).toBe(4);
  expect(sizes.slice(0, -1).every((size) => size === 4)).toBe(true);
  const sent = hook.received.flatMap(lines);
  expect(new Set(sent.map((line) => line.studio_log_id)).size).toBe(sent.length);
  const seen = sent.map((line) => `${line.studio_job_id} ${line.studio_event}`);
  const expected = await Promise.all(
    jobs.map(async ({ job_id }) => (await logsOf(service, job_id)).map((log) => `${job_id} ${log.event}`)),
  );
  expect(seen.toSorted()).toEqual(expected.flat().toSorted());
});

test("a drain receives only events after its creation, and only of its own workspace", async () => {
  const service = await startHeld();
  const hook = await receiver();
  await drain(service, { url: (await receiver()).url });
  await made(service, "image-1", { prompt: "before" });
  await drain(service, { url: hook.url });
  await ask(service, "POST", "/_local/wallet", { body: { workspace_id: "elsewhere", add: 1 } });
  const credential = await key(service, { workspace_id: "elsewhere", owner_id: "stranger" });
  await ask(service, "POST", "/models/image-1", { credential, body: { input: { prompt: "x" } } });
  const { job_id } = await made(service, "image-1", { prompt: "after" });
  await service.clock.advance(GATHERED_MS);
  expect(new Set(hook.received.flatMap(lines).map((line) => line.studio_job_id))).toEqual(new Set([job_id]));
});

test("a failed batch is posted again until it is accepted, and nothing overtakes it [WD8]", async () => {
  const service = await startHeld();
  const hook = await receiver((index) => (index < 2 ? 500 : 200));
  const { id } = await drain(service, { url: hook.url });
  const first = await made(service, "image-1", { prompt: "x" });
  await service.clock.advance(GATHERED_MS);
  expect(await drainNow(service, id)).toMatchObject({
    ...{ enabled: true, consecutive_failures: 1, last_success_at: null, last_failure_at: expect.any(String) },
    ...{ last_failure_status: 500, last_error: { code: "UNAVAILABLE" } },
  });
  const second = await made(service, "image-1", { prompt: "x" });
  await service.clock.advance(10_000);
  expect((await drainNow(service, id)).consecutive_failures).toBe(2);
  await service.clock.advance(30_000);
  expect(await drainNow(service, id)).toMatchObject({ consecutive_failures: 0, last_success_at: expect.any(String) });
  const jobs = lines(hook.received[2]).map((line) => line.studio_job_id);
  expect([...new Set(jobs)]).toEqual([first.job_id, second.job_id]);
  expect(hook.received).toHaveLength(3);
});

test("five failed batches in a row switch the drain off; enabling it clears the count and sends what was pending [WD9]", async () => {
  const service = await startHeld();
  let status = 503;
  const hook = await receiver(() => status);
  const { id } = await drain(service, { url: hook.url });
  const { job_id } = await made(service, "image-1", { prompt: "x" });
  await service.clock.advance(3_600_000);
  expect(hook.received).toHaveLength(5);
  const off = { enabled: false, consecutive_failures: 5, disabled_reason: "consecutive_failures" };
  expect(await drainNow(service, id)).toMatchObject({ ...off, last_failure_status: 503 });
  await service.clock.advance(3_600_000);
  expect(hook.received).toHaveLength(5);
  status = 200;
  const on = { enabled: true, consecutive_failures: 0, disabled_reason: null };
  expect((await change(service, id, { enabled: true })).body).toMatchObject(on);
  await drainUntil(service, id, (row) => row.last_success_at !== null);
  expect(new Set(lines(hook.received[5]).map((line) => line.studio_job_id))).toEqual(new Set([job_id]));
});

test("a drain that a person switches off, or makes so, sends nothing, and says who did it [WD10]", async () => {
  const service = await startHeld();
  const hook = await receiver();
  const off = { enabled: false, disabled_reason: "disabled_by_user" };
  expect(await drain(service, { url: hook.url, enabled: false })).toMatchObject(off);
  const { id } = await drain(service, { url: hook.url });
  expect((await change(service, id, { enabled: false })).body).toMatchObject(off);
  await made(service, "image-1", { prompt: "x" });
  await service.clock.advance(60_000);
  expect(hook.received).toHaveLength(0);
});

test("a new URL is used at once, without waiting for the next try", async () => {
  const service = await startHeld();
  const broken = await receiver(() => 500);
  const whole = await receiver();
  const { id } = await drain(service, { url: broken.url });
  await made(service, "image-1", { prompt: "x" });
  await service.clock.advance(GATHERED_MS);
  await change(service, id, { url: whole.url });
  await whole.arrived(1);
  const row = await drainUntil(service, id, ({ last_success_at }) => last_success_at !== null);
  expect(row.consecutive_failures).toBe(0);
});

test("a removed drain is left alone, also while a batch is under way", async () => {
  const service = await start();
  let answer: () => void = () => undefined;
  const hook = await receiver((_index, response) => {
    answer = () => void response.writeHead(500).end();
    return undefined;
  });
  const { id } = await drain(service, { url: hook.url });
  await made(service, "image-1", { prompt: "x" });
  await hook.arrived(1);
  await ask(service, "DELETE", `/log-drains/${id}`);
  answer();
  await service.clock.advance(3_600_000);
  expect(hook.received).toHaveLength(1);
});

test("a drain into a blocked range fails without a connection", async () => {
  const service = await startHeld();
  const { id } = await drain(service, { url: "http://[fe80::1]/" });
  await made(service, "image-1", { prompt: "x" });
  await service.clock.advance(GATHERED_MS);
  const failed = { consecutive_failures: 1, last_failure_status: null, last_error: { code: "FAILED_PRECONDITION" } };
  expect(await drainNow(service, id)).toMatchObject(failed);
});

test("events of a job that was deleted in the meantime still reach the drain", async () => {
  const service = await startHeld();
  const hook = await receiver();
  await drain(service, { url: hook.url });
  const { job_id } = await made(service, "image-1", { prompt: "x" });
  await ask(service, "DELETE", `/jobs/${job_id}`);
  await service.clock.advance(GATHERED_MS);
  expect(lines(hook.received[0]).at(-1)).toMatchObject({ studio_job_id: job_id, studio_event: "completed" });
});
