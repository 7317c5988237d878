import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import {
  ApiError,
  type Client,
  type ClientOptions,
  ConnectionError,
  createClient,
  type FollowEvent,
  type JobResult,
  type SubmitAck,
  TimeoutError,
  UnknownOutcomeError,
  usableOutputs,
} from "../../../src/core/api/index.ts";
import { type FaultRule, type LocalService, startLocalService } from "../../../src/local-service/index.ts";
import { skippingClock } from "../../support/simulated-clock.ts";
import { newFolder } from "../../support/temporary-folder.ts";
import { countingClock, watchLeftovers } from "./support/leftovers.ts";
import { seedCount, seeded } from "./support/seeded.ts";

const submitRoute = "POST /models/{model}";
const open: { close(): Promise<void> }[] = [];
const leftovers = watchLeftovers();
let service: LocalService;
const folder = newFolder();
let serial = 0;

beforeAll(async () => {
  const rateLimit = { requests: 1e9, windowMs: 60_000 };
  service = await startLocalService({ renderer: "stub", balance: 1_000_000, rateLimit });
});
afterEach(async () => {
  service.faults([]);
  for (const each of open.splice(0)) await each.close();
});
afterAll(async () => {
  leftovers.stop();
  await service.close();
});

/** A client whose waits take no time, and which must leave nothing behind when it is closed. */
function clientOf(options: Partial<ClientOptions> = {}, { baseUrl, apiKey, port } = service): Client {
  const clock = countingClock(skippingClock());
  const client = createClient({ baseUrl, apiKey, clock, random: () => 0.5, ...options });
  open.push({
    async close() {
      await client.close();
      await leftovers.expectNone(port, clock);
    },
  });
  return client;
}

function image(more: Readonly<Record<string, unknown>> = {}) {
  const key = `job-${++serial}`;
  return { model: "image-1", input: { prompt: key, ...more }, idempotencyKey: key };
}

/** Matches this submit only: late sends of earlier ones may still be under way on the service. */
const submitOf = ({ idempotencyKey }: { readonly idempotencyKey: string }) => ({
  route: submitRoute,
  prompt: `^${idempotencyKey}$`,
});

const made = (key: string) => service.stats().jobs_by_key[key] ?? 0;
const caught = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => expect.fail("it should have been refused"),
    (error: unknown) => error,
  );

type Strategy = "stream" | "poll" | "auto";

async function endOf(client: Client, jobId: string, strategy: Strategy = "auto") {
  const told: FollowEvent[] = [];
  for await (const event of client.follow(jobId, { strategy, signal: AbortSignal.timeout(30_000) })) told.push(event);
  const end = told.at(-1);
  if (end?.type !== "finished") throw new Error(`${jobId} did not settle`);
  return end;
}

async function finished(client: Client, request = image()): Promise<JobResult> {
  const ack = await client.submit(request);
  return (await endOf(client, ack.jobId)).job;
}

for (const when of ["before", "after"] as const) {
  test(`a connection cut ${when} the work is answered by the same key, and makes one job`, async () => {
    const request = image();
    service.faults([{ kind: "drop", when, ...submitOf(request), count: 2 }]);
    expect(await clientOf().submit(request)).toMatchObject({ replayed: when === "after" });
    expect(made(request.idempotencyKey)).toBe(1);
  });
}

test.each<[string, FaultRule, boolean?]>([
  ["a connection cut every time", { kind: "drop", when: "after" }, true],
  ["a proxy's page in place of an answer", { kind: "error", status: 502, envelope: false }],
  ["ALREADY_EXISTS", { kind: "error", code: "ALREADY_EXISTS" }],
  ["CANCELLED", { kind: "error", code: "CANCELLED" }],
])(
  "%s proves nothing of whether a job was made; the same key finds it, or makes the one",
  async (_, fault, replayed) => {
    const request = image();
    service.faults([{ ...fault, ...submitOf(request) }]);
    const client = clientOf();
    expect(await caught(client.submit(request))).toBeInstanceOf(UnknownOutcomeError);
    service.faults([]);
    expect(await client.submit(request, { mayExist: true })).toMatchObject({
      replayed: replayed ?? expect.any(Boolean),
    });
    expect(made(request.idempotencyKey)).toBe(1);
  },
);

test("an answer that comes too late is unknown, never a second job [E45 E46]", async () => {
  const request = image();
  service.faults([{ kind: "delay", delay_ms: 150, ...submitOf(request) }]);
  const client = clientOf();
  const error = await caught(client.submit(request, { timeoutMs: 20 }));
  expect(error).toBeInstanceOf(UnknownOutcomeError);
  expect((error as UnknownOutcomeError).cause).toBeInstanceOf(TimeoutError);
  service.faults([]);
  await client.submit(request, { mayExist: true });
  expect(made(request.idempotencyKey)).toBe(1);
});

for (const code of [
  ...(["INVALID_ARGUMENT", "UNAUTHORIZED", "INSUFFICIENT_BALANCE", "PERMISSION_DENIED"] as const),
  ...(["NOT_FOUND", "GONE", "MODERATION_FAILED"] as const),
]) {
  test(`${code} is a definite refusal: said once, no job made`, async () => {
    const request = image();
    service.faults([{ kind: "error", code, ...submitOf(request), count: 1 }]);
    const error = await caught(clientOf().submit(request));
    expect(error).toBeInstanceOf(ApiError);
    expect(error).toMatchObject({ code });
    expect(made(request.idempotencyKey)).toBe(0);
  });
}

for (const code of ["RESOURCE_EXHAUSTED", "UNKNOWN", "INTERNAL", "UNAVAILABLE", "DEADLINE_EXCEEDED"] as const) {
  test(`${code} is waited out, and the same key makes one job`, async () => {
    const request = image();
    service.faults([{ kind: "error", code, ...submitOf(request), count: 3, retry_after: 2 }]);
    expect(await clientOf().submit(request)).toMatchObject({ replayed: false });
    expect(made(request.idempotencyKey)).toBe(1);
  });
}

for (const clean of [true, false]) {
  test(`a stream that is ${clean ? "ended" : "reset"} after every frame is followed to its end, each log told once`, async () => {
    service.faults([{ kind: "cut_stream", after_frames: 3, clean, count: 2 }]);
    const client = clientOf();
    const ack = await client.submit(image());
    const ids: number[] = [];
    for await (const event of client.follow(ack.jobId, { strategy: "stream" })) {
      if (event.type === "log") ids.push(event.log.id);
      if (event.type === "finished") expect(event.outcome).toBe("completed");
    }
    expect(ids.length).toBeGreaterThan(3);
    expect(new Set(ids).size).toBe(ids.length);
  });
}

test("a slow stream is waited for", async () => {
  service.faults([{ kind: "slow_stream", delay_ms: 5 }]);
  const client = clientOf();
  const ack = await client.submit(image());
  expect((await endOf(client, ack.jobId, "stream")).outcome).toBe("completed");
});

test("a failed job ends as failed, with its error and no charge", async () => {
  const request = image();
  service.faults([{ kind: "fail_job", code: "INTERNAL", retryable: true, prompt: `^${request.idempotencyKey}$` }]);
  const client = clientOf();
  const ack = await client.submit(request);
  const { outcome, job } = await endOf(client, ack.jobId);
  expect(outcome).toBe("failed");
  expect(job).toMatchObject({ costMicros: 0, outputs: [], error: { code: "INTERNAL", retryable: true } });
});

test("a failed output of a completed job is not usable, not paid and not downloaded", async () => {
  const client = clientOf();
  const whole = await finished(client, image({ num_outputs: 2 }));
  const request = image({ num_outputs: 2 });
  service.faults([{ kind: "fail_output", outputs: [0], prompt: `^${request.idempotencyKey}$` }]);
  const job = await finished(client, request);
  expect(job.status).toBe("COMPLETED");
  expect(job.outputs.map((output) => output.status)).toEqual(["FAILED", "COMPLETED"]);
  expect(usableOutputs(job)).toEqual([job.outputs[1]]);
  expect(job.costMicros).toBe(whole.costMicros! / 2);
  expect(await caught(client.download({ jobId: job.jobId, outputIndex: 0 }, join(folder, "failed")))).toMatchObject({
    code: "DOWNLOAD_FAILED",
    reason: "no-url",
  });
});

test("an output that expired at once is known as expired, and its download says so", async () => {
  const request = image();
  service.faults([{ kind: "expire_now", prompt: `^${request.idempotencyKey}$` }]);
  const client = clientOf();
  const job = await finished(client, request);
  expect(job.outputs[0]).toMatchObject({ status: "EXPIRED", url: null, assetId: null });
  expect(usableOutputs(job)).toEqual([]);
  expect(await caught(client.download({ jobId: job.jobId, outputIndex: 0 }, join(folder, "expired")))).toMatchObject({
    reason: "expired",
  });
});

test("a frame rate that is measured late is null, and there at a later read", async () => {
  service.faults([{ kind: "fps_late", delay_ms: 60_000, model: "video-1" }]);
  const client = clientOf();
  const input = { prompt: "late", aspect_ratio: "16:9", duration_ms: 3000 };
  const job = await finished(client, { ...image(), model: "video-1", input });
  expect(job.outputs[0]).toMatchObject({ status: "COMPLETED", fps: null });
  await service.clock.advance(61_000);
  expect((await client.job(job.jobId)).outputs[0]?.fps).toBeGreaterThan(0);
});

test("a cost that is shown late is null at completion, and there at a later read", async () => {
  const request = image();
  service.faults([{ kind: "cost_late", delay_ms: 60_000, prompt: `^${request.idempotencyKey}$` }]);
  const client = clientOf();
  const job = await finished(client, request);
  expect(job.costMicros).toBeNull();
  await service.clock.advance(61_000);
  expect((await client.job(job.jobId)).costMicros).toBeGreaterThan(0);
});

test("a download cut again and again is resumed until it is whole", async () => {
  const client = clientOf();
  const job = await finished(client);
  service.faults([{ kind: "truncate_download", bytes: 20, count: 3 }]);
  const path = join(folder, "whole");
  const { sha256 } = await client.download({ jobId: job.jobId, outputIndex: 0 }, path);
  service.faults([]);
  const again = await client.download({ jobId: job.jobId, outputIndex: 0 }, join(folder, "again"));
  expect(sha256).toBe(again.sha256);
  expect(
    createHash("sha256")
      .update(await readFile(path))
      .digest("hex"),
  ).toBe(sha256);
  expect((await readdir(folder)).filter((name) => name.endsWith(".part"))).toEqual([]);
});

test("a delete that could not be finished is sent again", async () => {
  const client = clientOf();
  const job = await finished(client);
  service.faults([{ kind: "delete_unavailable", count: 3 }]);
  await client.deleteJob(job.jobId);
  expect((await client.job(job.jobId)).outputs[0]?.status).toBe("EXPIRED");
});

test("a service that asks the wallet before its keys cannot turn a paid job into a refusal", async () => {
  const price = (await clientOf().estimate(image())).costMicros!;
  const poor = await startLocalService({ renderer: "stub", balance: price / 1e6 });
  const client = clientOf({}, poor);
  poor.faults([{ kind: "funds_before_keys" }, { kind: "drop", when: "after", route: submitRoute, count: 1 }]);
  const request = image();
  const error = await caught(client.submit(request));
  expect(error).toBeInstanceOf(UnknownOutcomeError);
  expect((error as UnknownOutcomeError).cause).toMatchObject({ code: "INSUFFICIENT_BALANCE" });
  expect(await caught(client.submit(request, { mayExist: true }))).toBeInstanceOf(UnknownOutcomeError);
  await poor.fund(1);
  expect(await client.submit(request, { mayExist: true })).toMatchObject({ replayed: true });
  expect(poor.stats().jobs_by_key).toEqual({ [request.idempotencyKey]: 1 });
  await open.pop()!.close();
  await poor.close();
});

test("a service that forgets a key after a lost answer makes a second job, which no client can see", async () => {
  const request = image();
  service.faults([{ kind: "forget_key" }, { kind: "drop", when: "after", ...submitOf(request), count: 1 }]);
  const client = clientOf();
  const ack = await client.submit(request);
  expect(ack.replayed).toBe(false);
  expect((await endOf(client, ack.jobId)).outcome).toBe("completed");
  expect(made(request.idempotencyKey)).toBe(2);
});

/** One rule of most kinds, drawn anew; none is endless, so that everything can come to an end. */
function drawRules(random: () => number): FaultRule[] {
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)]!;
  const routes = [submitRoute, "GET /jobs/{job_id}", "GET /jobs/{job_id}/status", "GET /jobs/{job_id}/stream"];
  const common = () => ({ probability: 0.2 + random() * 0.8, count: 1 + Math.floor(random() * 4) });
  const request = () => ({ ...common(), route: pick(routes) });
  const kinds: readonly (() => FaultRule)[] = [
    () => ({ kind: "delay", delay_ms: pick([1, 2, 250]), ...request() }),
    () => ({ kind: "drop", when: pick(["before", "after"] as const), ...request() }),
    () => ({ kind: "drop", when: "after", ...common(), route: submitRoute }),
    () => ({ kind: "error", code: pick(["INTERNAL", "UNAVAILABLE", "RESOURCE_EXHAUSTED"] as const), ...request() }),
    () => ({ kind: "error", code: pick(["UNAUTHORIZED", "INVALID_ARGUMENT", "GONE"] as const), ...request() }),
    () => ({ kind: "error", status: pick([500, 502, 504]), envelope: false, ...request() }),
    () => ({ kind: "slow_stream", delay_ms: 1, ...common() }),
    () => ({ kind: "cut_stream", after_frames: Math.floor(random() * 6), clean: random() < 0.5, ...common() }),
    () => ({ kind: "truncate_download", bytes: Math.floor(random() * 60), ...common() }),
    () => ({ kind: "fail_job", ...common() }),
    () => ({ kind: "fail_output", ...common() }),
    () => ({ kind: "expire_now", ...common() }),
    () => ({ kind: "cost_late", delay_ms: 1_000, ...common() }),
    () => ({ kind: "funds_before_keys", ...common() }),
    () => ({ kind: "delete_unavailable", ...common() }),
  ];
  return Array.from({ length: 2 + Math.floor(random() * 5) }, () => pick(kinds)());
}

type End = { readonly is: "job"; readonly ack: SubmitAck } | { readonly is: "refused" | "unknown" };

async function submitted(client: Client, request: ReturnType<typeof image>): Promise<End> {
  try {
    return { is: "job", ack: await client.submit(request, { signal: AbortSignal.timeout(30_000) }) };
  } catch (error) {
    if (error instanceof UnknownOutcomeError) return { is: "unknown" };
    const isHarmless = (error instanceof ConnectionError || error instanceof TimeoutError) && !error.sent;
    if (error instanceof ApiError || isHarmless) return { is: "refused" };
    throw error;
  }
}

/** What the client gives up on with a definite error is taken up again, as an engine would; anything else is a defect. */
async function persist<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      const isDefinite = error instanceof ApiError || error instanceof ConnectionError || error instanceof TimeoutError;
      if (!isDefinite || tries === 40) throw error;
    }
  }
}

async function lived(client: Client, jobId: string, strategy: Strategy, path: string): Promise<void> {
  const { job, outcome } = await persist(() => endOf(client, jobId, strategy));
  expect(outcome).toBe(job.status === "COMPLETED" ? "completed" : "failed");
  if (usableOutputs(job).includes(job.outputs[0]!))
    await persist(() => client.download({ jobId, outputIndex: 0, url: job.outputs[0]?.url }, path));
  await persist(() => client.deleteJob(jobId));
}

test(`whatever goes wrong together, ${seedCount} times, every submit ends in one job or in a refusal that made none`, {
  timeout: 600_000,
}, async () => {
  const ends = { job: 0, refused: 0, unknown: 0 };
  for (let seed = 1; seed <= seedCount; seed++) {
    const random = seeded(seed);
    const rules = drawRules(random);
    service.faults(rules, seed);
    const client = clientOf({ random, timeoutMs: 200, retry: { maxAttempts: 1 + (seed % 4) } });
    const requests = [image(), image()];
    const strategies = requests.map(() => (["stream", "poll", "auto"] as const)[Math.floor(random() * 3)]!);
    const about = `seed ${seed}: ${JSON.stringify(rules)}`;
    const met = await Promise.all(requests.map((request) => submitted(client, request)));
    // What is unknown is settled by asking again with the key; meanwhile the rest goes wrong as before.
    await Promise.all(
      met.map(async (end, index) => {
        ends[end.is]++;
        const request = requests[index]!;
        if (end.is === "refused") return expect(made(request.idempotencyKey), about).toBe(0);
        const resend = async () => {
          for (let tries = 1; ; tries++) {
            const ack = await client.submit(request, { mayExist: true, timeoutMs: 10_000 }).catch((error: unknown) => {
              if (!(error instanceof UnknownOutcomeError) || tries === 60) throw error;
            });
            if (ack) return ack;
          }
        };
        const ack = end.is === "job" ? end.ack : await resend();
        expect(made(request.idempotencyKey), about).toBe(1);
        await lived(client, ack.jobId, strategies[index]!, join(folder, `seed-${seed}-${index}`));
      }),
    );
    await open.pop()!.close();
  }
  expect(ends.job).toBeGreaterThan(ends.unknown);
  expect(Math.min(ends.refused, ends.unknown)).toBeGreaterThan(0);
});
