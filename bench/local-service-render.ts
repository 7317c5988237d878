import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { startLocalService } from "../src/local-service/index.ts";

/* Delay of the event loop while four videos render. Bar: p99 under 30 ms. The idle figure tells how busy the machine is. */
const VIDEOS = 4;

async function measure(work: () => Promise<unknown>) {
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  await work();
  delay.disable();
  const ms = (nanoseconds: number) => Math.round(nanoseconds / 1e5) / 10;
  return { p50: ms(delay.percentile(50)), p99: ms(delay.percentile(99)), max: ms(delay.max) };
}

const service = await startLocalService();
const headers = { authorization: `Bearer ${service.apiKey}`, "content-type": "application/json" };

async function film(index: number): Promise<void> {
  const input = { prompt: `waves ${index}`, aspect_ratio: "16:9", duration_ms: 5000 };
  const body = JSON.stringify({ input });
  const answer = await fetch(`${service.baseUrl}/models/video-1`, { method: "POST", headers, body });
  const { job_id } = (await answer.json()) as { job_id: string };
  await (await fetch(`${service.baseUrl}/jobs/${job_id}/stream`, { headers })).text();
}

const idle = await measure(() => sleep(3_000));
const started = performance.now();
const rendering = await measure(() => Promise.all(Array.from({ length: VIDEOS }, (_, index) => film(index))));
console.log({ idle, rendering, seconds: Math.round((performance.now() - started) / 100) / 10 });
await service.close();
