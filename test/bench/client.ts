/**
 * The client alone, beside the local service in accelerated time: requests that a job costs by way of following it, a
 * hundred jobs within limits beside the lower bound and a naive poller, and ten thousand jobs followed at once.
 */
import { fork } from "node:child_process";
import { createServer } from "node:http";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setImmediate } from "node:timers/promises";
import { Agent } from "undici";
import { type Client, createClient, type FollowStrategyName, sleep } from "../../src/core/api/index.ts";
import { startLocalService } from "../../src/local-service/index.ts";
import { clockOf } from "../../src/testing/surroundings.ts";
import { answer, inProcess, type Report } from "./harness.ts";

type LocalService = Awaited<ReturnType<typeof startLocalService>>;

/** What an image with one output takes at speed 1. */
const IMAGE_MS = 2_000;

export async function measure(report: Report, { quick = false }: { readonly quick?: boolean } = {}): Promise<void> {
  for (const strategy of ["webhook", "stream", "poll"] as const) await requestsAJob(report, strategy);
  await withinLimits(report, quick);
  await followMany(report, quick ? 1_000 : 10_000);
}

/** Status and count of all requests so far. */
function answered(service: LocalService): readonly (readonly [status: string, count: number])[] {
  return Object.values(service.stats().requests).flatMap((byStatus) => Object.entries(byStatus));
}

const total = (service: LocalService) => answered(service).reduce((sum, [, count]) => sum + count, 0);

async function finish(client: Client, ack: Awaited<ReturnType<Client["submit"]>>, strategy: FollowStrategyName) {
  const options = { strategy, estimatedCompletionAt: ack.estimatedCompletionAt, model: ack.model };
  for await (const event of client.follow(ack.jobId, options)) {
    if (event.type === "finished" && event.outcome !== "completed") throw new Error(event.job.status);
  }
}

/** A job of three minutes: the first of its model has no estimate while it waits, the second has one. */
async function requestsAJob(report: Report, strategy: FollowStrategyName): Promise<void> {
  const service = await startLocalService({ renderer: "stub", speed: IMAGE_MS / 180_000 });
  service.clock.scaled(60);
  const clock = clockOf(service.clock);
  const client = createClient({ baseUrl: service.baseUrl, apiKey: service.apiKey, clock });
  for (const nth of ["first", "second"]) {
    const before = total(service);
    const ack = await client.submit({ model: "image-1", input: { prompt: nth }, idempotencyKey: nth });
    // In place of a delivery: the hint that a receiver gives, as soon as the job is over.
    let ran = false;
    const watch = setInterval(() => {
      const running = service.stats().running_jobs > 0;
      ran ||= running;
      if (!ran || running || strategy !== "webhook") return;
      clearInterval(watch);
      client.notify(ack.jobId);
    }, 5);
    await finish(client, ack, strategy);
    clearInterval(watch);
    await setImmediate();
    const bar = { most: { webhook: 2, stream: 3, poll: 6 }[strategy] };
    report.figure("Requests a job", `${strategy}, ${nth} job of a model`, "requests", total(service) - before, bar);
  }
  await client.close();
  await service.close();
}

const LIMITED = { jobs: 100, jobMs: 60_000, atOnce: 10, perMinute: 60, factor: 20 } as const;

/** 100 jobs of a minute each, 10 at once on the service, 60 requests a minute; 20 times as fast as real. */
async function withinLimits(report: Report, quick: boolean): Promise<void> {
  const { jobs, jobMs, atOnce, perMinute } = LIMITED;
  const lowerBoundMs = Math.max((jobs / atOnce) * jobMs, ((jobs * 2) / perMinute - 1) * 60_000);
  const group = `${jobs} jobs of a minute, ${atOnce} at once, ${perMinute} requests a minute`;
  const contenders = quick
    ? { client: clientWithinLimits }
    : { client: clientWithinLimits, "naive poller": naivePoller };
  for (const [name, run] of Object.entries(contenders)) {
    const service = await startLocalService({
      renderer: "stub",
      speed: IMAGE_MS / jobMs,
      maxRunning: atOnce,
      rateLimit: { requests: perMinute, windowMs: 60_000 },
      balance: 1_000,
    });
    service.clock.scaled(LIMITED.factor);
    const { ms, late } = await run(service);
    const refused = answered(service).reduce((sum, [status, count]) => sum + (status === "429" ? count : 0), 0);
    report.figure(group, `${name}: makespan ÷ lower bound`, "×", ms / lowerBoundMs);
    report.figure(group, `${name}: requests a job`, "requests", total(service) / jobs);
    report.figure(group, `${name}: answers 429`, "", refused);
    if (late !== null) report.figure(group, `${name}: 429s to requests sent after the first was read`, "", late);
    await service.close();
  }
}

interface Limited {
  readonly ms: number;
  /** Refusals of requests that were sent although one had been read; null: not watched. */
  readonly late: number | null;
}

const each = (one: (index: number) => Promise<void>) =>
  Promise.all(Array.from({ length: LIMITED.jobs }, (_, index) => one(index)));

async function clientWithinLimits(service: LocalService): Promise<Limited> {
  const clock = clockOf(service.clock);
  let firstReadAt = Number.POSITIVE_INFINITY;
  let late = 0;
  const dispatcher = new Agent({ allowH2: false }).compose((dispatch) => (options, handler) => {
    const sentAt = clock.now();
    const onResponseStart = handler.onResponseStart?.bind(handler);
    handler.onResponseStart = (controller, status, headers, text) => {
      if (status === 429 && sentAt > firstReadAt) late++;
      if (status === 429) firstReadAt = Math.min(firstReadAt, clock.now());
      onResponseStart?.(controller, status, headers, text);
    };
    return dispatch(options, handler);
  });
  const client = createClient({ baseUrl: service.baseUrl, apiKey: service.apiKey, clock, dispatcher });
  const startedAt = clock.now();
  await each(async (index) => {
    const input = { prompt: `picture ${index}` };
    await finish(client, await client.submit({ model: "image-1", input, idempotencyKey: `k${index}` }), "poll");
  });
  const ms = clock.now() - startedAt;
  await client.close();
  await dispatcher.close();
  return { ms, late };
}

/** What many scripts do: ask for every job every 500 ms, and after a 429 wait for as long as it says. */
async function naivePoller(service: LocalService): Promise<Limited> {
  const clock = clockOf(service.clock);
  const headers = { authorization: `Bearer ${service.apiKey}`, "content-type": "application/json" };
  const ask = async (
    path: string,
    init: RequestInit = {},
  ): Promise<{ readonly job_id: string; readonly status: string }> => {
    for (;;) {
      const response = await fetch(service.baseUrl + path, { ...init, headers });
      if (response.ok) return (await response.json()) as never;
      await response.arrayBuffer();
      await sleep(clock, Number(response.headers.get("retry-after") ?? 1) * 1_000);
    }
  };
  const startedAt = clock.now();
  await each(async (index) => {
    const body = JSON.stringify({ input: { prompt: `picture ${index}` }, idempotency_key: `k${index}` });
    const { job_id } = await ask("/models/image-1", { method: "POST", body });
    while ((await ask(`/jobs/${job_id}`)).status !== "COMPLETED") await sleep(clock, 500);
  });
  return { ms: clock.now() - startedAt, late: null };
}

const LIFE_MS = 20_000;

interface Followed {
  readonly settled: number;
  readonly rssMb: number;
  readonly p99Ms: number;
}

/** Each way in a process of its own, and so is the service, so that only the client is measured. */
async function followMany(report: Report, jobs: number): Promise<void> {
  const group = `${jobs.toLocaleString("en")} jobs followed at once`;
  for (const strategy of ["poll", "webhook"]) {
    const found = (await inProcess<Followed>(import.meta.filename, [strategy, String(jobs)]))!;
    if (found.settled !== jobs) throw new Error(`${found.settled} of ${jobs} jobs ended`);
    report.figure(group, `${strategy}: resident memory at most`, "MB", found.rssMb);
    report.figure(group, `${strategy}: delay of the event loop, p99 (5 ms of it resolution)`, "ms", found.p99Ms);
  }
}

/** A service whose jobs end one after the other within `LIFE_MS`. */
function serve(jobs: number): void {
  const startedAt = Date.now();
  const server = createServer((request, response) => {
    const [, number = "0", status] = /^\/v3\/jobs\/job_(\d+)(\/status)?/.exec(request.url ?? "") ?? [];
    const endsAt = startedAt + 2_000 + (Number(number) / jobs) * (LIFE_MS - 2_000);
    const common = { job_id: `job_${number}`, status: Date.now() >= endsAt ? "COMPLETED" : "IN_PROGRESS" };
    const estimate = { progress: 0.5, estimated_completion_at: new Date(endsAt).toISOString() };
    const body = status
      ? { ...common, ...estimate, logs: [], logs_next_cursor: "1" }
      : { ...common, model: "m", outputs: [], error: null, created_at: new Date(startedAt).toISOString() };
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify(body));
  });
  server.listen(0, "127.0.0.1", () => process.send?.(server.address()));
}

async function follow(strategy: "poll" | "webhook", jobs: number): Promise<Followed> {
  const child = fork(import.meta.filename, ["serve", String(jobs)]);
  const port = await new Promise<number>((resolve) =>
    child.once("message", (message) => resolve((message as { port: number }).port)),
  );
  const client = createClient({ baseUrl: `http://127.0.0.1:${port}/v3`, apiKey: "k:s", pace: { maxPerSecond: 2_000 } });
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  const startedAt = Date.now();
  let settled = 0;
  const all = Array.from({ length: jobs }, async (_, index) => {
    for await (const event of client.follow(`job_${index}`, { strategy })) if (event.type === "finished") settled++;
  });
  let next = 0;
  const feed = setInterval(() => {
    const until = ((Date.now() - startedAt - 2_500) / (LIFE_MS - 2_000)) * jobs;
    while (strategy === "webhook" && next < jobs && next < until) client.notify(`job_${next++}`);
  }, 20);
  await Promise.all(all);
  clearInterval(feed);
  delay.disable();
  await client.close();
  child.kill();
  return { settled, rssMb: process.resourceUsage().maxRSS / 1000, p99Ms: delay.percentile(99) / 1e6 };
}

if (import.meta.main) {
  const [role, jobs] = [process.argv[2], Number(process.argv[3])];
  if (role === "serve") serve(jobs);
  else {
    await answer(await follow(role as "poll" | "webhook", jobs));
    process.exit(0);
  }
}
