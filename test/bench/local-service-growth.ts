import { Pool } from "undici";
import type { Report } from "./harness.ts";
import { startServer } from "./local-service-process.ts";
import type { Curve } from "./stats.ts";

const CONNECTIONS = 50;

/** Processor time of the service for each request, as its jobs grow: that of no request rises with them. */
export async function measure(report: Report, { quick = false }: { readonly quick?: boolean } = {}): Promise<void> {
  const more = quick ? 1_000 : 3_000;
  const sizes = (quick ? [1, 2] : [1, 2, 3, 4, 5]).map((times) => times * more);
  const server = await startServer();
  const pool = new Pool(new URL(server.baseUrl).origin, { connections: CONNECTIONS, pipelining: 1 });
  const headers = { authorization: `Bearer ${server.apiKey}`, "content-type": "application/json" };
  const jobs: string[] = [];
  const request = async (method: "GET" | "POST", path: string, body: string | null = null): Promise<string> =>
    (await pool.request({ method, path, headers, body })).body.text();
  const submit = async () => {
    const body = { input: { prompt: `picture ${jobs.length}` }, idempotency_key: crypto.randomUUID() };
    const answer = await request("POST", "/v3/models/image-1", JSON.stringify(body));
    jobs.push((JSON.parse(answer) as { job_id: string }).job_id);
  };
  /** Milliseconds for each of `count` requests. */
  const cpuMs = async (count: number, send: (job: string) => Promise<unknown>): Promise<number> => {
    let next = 0;
    const before = server.cpuMs();
    const worker = async () => {
      for (let index = next++; index < count; index = next++) await send(jobs[(index * 7919) % jobs.length] ?? "");
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, worker));
    return (server.cpuMs() - before) / count;
  };
  const points = new Map<string, Curve["points"]>();
  const note = (name: string, value: number) =>
    void points.set(name, [...(points.get(name) ?? []), { size: jobs.length, value }]);
  for (const _ of sizes) {
    note("submit", await cpuMs(more, submit));
    while (!(await request("GET", `/v3/jobs/${jobs.at(-1)}/status`)).includes('"COMPLETED"'));
    note("job", await cpuMs(1_500, (job) => request("GET", `/v3/jobs/${job}`)));
    note("status", await cpuMs(1_500, (job) => request("GET", `/v3/jobs/${job}/status`)));
    note("stream of a finished job", await cpuMs(500, (job) => request("GET", `/v3/jobs/${job}/stream`)));
    note("page of 100 jobs", await cpuMs(200, () => request("GET", "/v3/jobs?limit=100")));
  }
  const group = "Processor time of a request, by jobs in the service";
  for (const [name, curve] of points) report.curve(group, name, "ms", curve, { most: 0.2 });
  await pool.close();
  await server.stop();
}
