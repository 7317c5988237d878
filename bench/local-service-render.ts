import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { startLocalService } from "../src/local-service/index.ts";

/*
 * Seconds from the submit of 5 s of 720p video to its end, in a service that has rendered nothing yet and in one that has
 * (bar: at most 3 s); and the delay of the event loop while four videos render (bar: p99 under 30 ms). The idle figure tells
 * how busy the machine is.
 */
const VIDEOS = 4;

async function measure(work: () => Promise<unknown>) {
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  await work();
  delay.disable();
  const ms = (nanoseconds: number) => Math.round(nanoseconds / 1e5) / 10;
  return { p50: ms(delay.percentile(50)), p99: ms(delay.percentile(99)), max: ms(delay.max) };
}

const service = await startLocalService({ speed: Number.POSITIVE_INFINITY });
const headers = { authorization: `Bearer ${service.apiKey}`, "content-type": "application/json" };

async function film(prompt: string): Promise<number> {
  const input = { prompt, aspect_ratio: "16:9", resolution: "720p", duration_ms: 5000 };
  const body = JSON.stringify({ input });
  const submitted = performance.now();
  const answer = await fetch(`${service.baseUrl}/models/video-1`, { method: "POST", headers, body });
  const { job_id } = (await answer.json()) as { job_id: string };
  await (await fetch(`${service.baseUrl}/jobs/${job_id}/stream`, { headers })).text();
  const job = (await (await fetch(`${service.baseUrl}/jobs/${job_id}`, { headers })).json()) as { status: string };
  if (job.status !== "COMPLETED") throw new Error(`the video ended as ${job.status}`);
  return Math.round((performance.now() - submitted) / 10) / 100;
}

const idle = await measure(() => sleep(3_000));
const first = await film("waves at sunset");
const next = [
  await film("a fox in a snowy forest"),
  await film("a woman talking"),
  await film("a rainy street at night"),
];
const cpu = process.cpuUsage();
const rendering = await measure(() =>
  Promise.all(Array.from({ length: VIDEOS }, (_, index) => film(`waves ${index}`))),
);
const { user, system } = process.cpuUsage(cpu);
const cpuSecondsPerVideo = Math.round((user + system) / VIDEOS / 1e4) / 100;
console.log({ secondsPerVideo: { first, next }, cpuSecondsPerVideo, idle, rendering });
await service.close();
