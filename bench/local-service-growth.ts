import { Pool } from "undici";
import { startServer } from "./local-service-process.ts";

/* Processor time of the service per request while its jobs grow from 3,000 to 15,000. Bar: no column rises with them. */
const ROUNDS = 5;
const JOBS = 3_000;
const CONNECTIONS = 50;

const server = await startServer();
const pool = new Pool(new URL(server.baseUrl).origin, { connections: CONNECTIONS, pipelining: 1 });
const headers = { authorization: `Bearer ${server.apiKey}`, "content-type": "application/json" };
const jobs: string[] = [];

async function request(method: "GET" | "POST", path: string, body: string | null = null): Promise<string> {
  const answer = await pool.request({ method, path, headers, body });
  return answer.body.text();
}

async function submit(): Promise<void> {
  const input = { prompt: `picture ${jobs.length}` };
  const answer = await request(
    "POST",
    "/v3/models/image-1",
    JSON.stringify({ input, idempotency_key: crypto.randomUUID() }),
  );
  jobs.push((JSON.parse(answer) as { job_id: string }).job_id);
}

/** Milliseconds of the service's processor time for each of `count` requests. */
async function cpuMs(count: number, send: (job: string) => Promise<unknown>): Promise<number> {
  let next = 0;
  const before = server.cpuMs();
  const worker = async () => {
    for (let index = next++; index < count; index = next++) await send(jobs[(index * 7919) % jobs.length] ?? "");
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, worker));
  return Math.round(((server.cpuMs() - before) / count) * 100) / 100;
}

async function allDone(): Promise<void> {
  const last = jobs.at(-1);
  while (!(await request("GET", `/v3/jobs/${last}/status`)).includes('"COMPLETED"'));
}

for (let round = 0; round < ROUNDS; round++) {
  const submits = await cpuMs(JOBS, submit);
  await allDone();
  const results = await cpuMs(1_500, (job) => request("GET", `/v3/jobs/${job}`));
  const status = await cpuMs(1_500, (job) => request("GET", `/v3/jobs/${job}/status`));
  const streams = await cpuMs(500, (job) => request("GET", `/v3/jobs/${job}/stream`));
  const pagesOf100 = await cpuMs(200, () => request("GET", "/v3/jobs?limit=100"));
  console.log({ jobs: jobs.length, submits, results, status, streams, pagesOf100, rssMb: server.rssMb() });
}
await pool.close();
await server.stop();
