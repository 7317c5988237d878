// 100 jobs of 60 s each, 10 at once at the service, 60 requests a minute: how close to the lower bound, how many 429s.
// Time is the local service's own clock, run 20 times as fast.
import { Agent } from "undici";
import { createClient, sleep } from "../src/api/index.ts";
import { startLocalService } from "../src/local-service/index.ts";
import { clockOf } from "../test/support/service-clock.ts";

const [jobs, jobMs, atOnce, perMinute, factor] = [100, 60_000, 10, 60, 20];
/** What an image with one output takes at speed 1. */
const imageMs = 2_000;

const lowerBoundMs = Math.max((jobs / atOnce) * jobMs, ((jobs * 2) / perMinute - 1) * 60_000);

async function start() {
  const service = await startLocalService({
    renderer: "stub",
    speed: imageMs / jobMs,
    maxRunning: atOnce,
    rateLimit: { requests: perMinute, windowMs: 60_000 },
    balance: 1_000,
  });
  service.clock.scaled(factor);
  return service;
}

/** Counts the refusals of requests that were sent although a refusal had been read before. */
function watchRefusals(now: () => number) {
  let firstReadAt = Number.POSITIVE_INFINITY;
  let count = 0;
  const dispatcher = new Agent({ allowH2: false }).compose((dispatch) => (options, handler) => {
    const sentAt = now();
    const onResponseStart = handler.onResponseStart?.bind(handler);
    handler.onResponseStart = (controller, status, headers, text) => {
      if (status === 429 && sentAt > firstReadAt) count++;
      if (status === 429) firstReadAt = Math.min(firstReadAt, now());
      onResponseStart?.(controller, status, headers, text);
    };
    return dispatch(options, handler);
  });
  return { dispatcher, late: () => count };
}

async function ours() {
  const service = await start();
  const clock = clockOf(service.clock);
  const { dispatcher, late } = watchRefusals(clock.now);
  const client = createClient({ baseUrl: service.baseUrl, apiKey: service.apiKey, clock, dispatcher });
  const startedAt = clock.now();
  const one = async (index: number) => {
    const ack = await client.submit({
      model: "image-1",
      input: { prompt: `picture ${index}` },
      idempotencyKey: `k${index}`,
    });
    const options = { strategy: "poll", estimatedCompletionAt: ack.estimatedCompletionAt, model: ack.model } as const;
    for await (const event of client.follow(ack.jobId, options))
      if (event.type === "finished" && event.outcome !== "completed") throw new Error(event.job.status);
  };
  await Promise.all(Array.from({ length: jobs }, (_, index) => one(index)));
  const report = { makespanMs: clock.now() - startedAt, requests: service.stats().requests, late: late() };
  await client.close();
  await dispatcher.close();
  await service.close();
  return report;
}

/** What many scripts do: ask for every job every 500 ms, and after a 429 wait as told. */
async function naive() {
  const service = await start();
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
  const one = async (index: number) => {
    const body = JSON.stringify({ input: { prompt: `picture ${index}` }, idempotency_key: `k${index}` });
    const { job_id } = await ask("/models/image-1", { method: "POST", body });
    while ((await ask(`/jobs/${job_id}`)).status !== "COMPLETED") await sleep(clock, 500);
  };
  await Promise.all(Array.from({ length: jobs }, (_, index) => one(index)));
  const report = { makespanMs: clock.now() - startedAt, requests: service.stats().requests, late: null };
  await service.close();
  return report;
}

interface Report {
  readonly makespanMs: number;
  readonly requests: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** Null where it was not watched. */
  readonly late: number | null;
}

function print(name: string, report: Report) {
  const answers = Object.values(report.requests).flatMap((byStatus) => Object.entries(byStatus));
  const total = answers.reduce((sum, [, count]) => sum + count, 0);
  const refused = answers.reduce((sum, [status, count]) => sum + (status === "429" ? count : 0), 0);
  const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
  console.log(
    `${name}: makespan ${seconds(report.makespanMs)}, lower bound ${seconds(lowerBoundMs)}, ratio ${(report.makespanMs / lowerBoundMs).toFixed(3)}, ` +
      `${(total / jobs).toFixed(2)} requests a job, ${refused} answers 429${report.late === null ? "" : `, ${report.late} of them to requests sent after the first was read`}`,
  );
}

print("client", await ours());
if (!process.argv.includes("--no-naive")) print("naive 500 ms poller", await naive());
