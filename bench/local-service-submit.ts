import { Pool } from "undici";
import { percentiles, startServer } from "./local-service-process.ts";

/* Submits per second over HTTP from a second process. Bar: 2,000/s, p99 under 60 ms at 50 connections. */
const CONNECTIONS = 50;
const SUBMITS = Number(process.argv[2] ?? 20_000);

const server = await startServer();
const pool = new Pool(new URL(server.baseUrl).origin, { connections: CONNECTIONS, pipelining: 1 });
const headers = { authorization: `Bearer ${server.apiKey}`, "content-type": "application/json" };

async function submit(index: number): Promise<number> {
  const body = JSON.stringify({ input: { prompt: `picture ${index}` }, idempotency_key: `bench-${index}` });
  const sent = performance.now();
  const answer = await pool.request({ method: "POST", path: "/v3/models/image-1", headers, body });
  await answer.body.dump();
  if (answer.statusCode !== 202) throw new Error(`submit ${index} was answered with ${answer.statusCode}`);
  return performance.now() - sent;
}

let next = 0;
const times: number[] = [];

async function worker(): Promise<void> {
  for (let index = next++; index < SUBMITS; index = next++) times.push(await submit(index));
}

const cpuBefore = server.cpuMs();
const started = performance.now();
await Promise.all(Array.from({ length: CONNECTIONS }, worker));
const seconds = (performance.now() - started) / 1000;
const submitted = { submits: SUBMITS, perSecond: Math.round(SUBMITS / seconds), ...percentiles(times.slice(500)) };

for (;;) {
  const answer = await pool.request({ method: "GET", path: "/v3/jobs?limit=1", headers });
  const page = (await answer.body.json()) as { data: { status: string }[] };
  if (page.data[0]?.status === "COMPLETED") break;
}
const allDone = (performance.now() - started) / 1000;
const cpuMsPerJob = Math.round(((server.cpuMs() - cpuBefore) / SUBMITS) * 1000) / 1000;
console.log({
  ...submitted,
  jobsFinishedPerSecond: Math.round(SUBMITS / allDone),
  cpuMsPerJob,
  peakMb: server.peakMb(),
});
await pool.close();
await server.stop();
