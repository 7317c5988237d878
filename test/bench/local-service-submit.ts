import { Pool } from "undici";
import type { Report } from "./harness.ts";
import { percentiles, startServer } from "./local-service-process.ts";

const CONNECTIONS = 50;

/** Submits over HTTP from a second process, and what a job's whole life costs the service. */
export async function measure(report: Report, { quick = false }: { readonly quick?: boolean } = {}): Promise<void> {
  const count = quick ? 3_000 : 20_000;
  const server = await startServer();
  const pool = new Pool(new URL(server.baseUrl).origin, { connections: CONNECTIONS, pipelining: 1 });
  const headers = { authorization: `Bearer ${server.apiKey}`, "content-type": "application/json" };

  const submit = async (index: number): Promise<number> => {
    const body = JSON.stringify({ input: { prompt: `picture ${index}` }, idempotency_key: `bench-${index}` });
    const sent = performance.now();
    const answer = await pool.request({ method: "POST", path: "/v3/models/image-1", headers, body });
    await answer.body.dump();
    if (answer.statusCode !== 202) throw new Error(`submit ${index} was answered with ${answer.statusCode}`);
    return performance.now() - sent;
  };
  let next = 0;
  const times: number[] = [];
  const worker = async () => {
    for (let index = next++; index < count; index = next++) times.push(await submit(index));
  };
  const cpuBefore = server.cpuMs();
  const startedAt = performance.now();
  const seconds = () => (performance.now() - startedAt) / 1000;
  await Promise.all(Array.from({ length: CONNECTIONS }, worker));
  const perSecond = count / seconds();
  for (;;) {
    const answer = await pool.request({ method: "GET", path: "/v3/jobs?limit=1", headers });
    const page = (await answer.body.json()) as { data: { status: string }[] };
    if (page.data[0]?.status === "COMPLETED") break;
  }
  const group = `${count.toLocaleString("en")} jobs, ${CONNECTIONS} connections of a second process`;
  report.figure(group, "submits", "jobs/s", perSecond, { least: 2_000 });
  report.figure(group, "a submit, 99th percentile", "ms", percentiles(times.slice(500)).p99, { most: 60 });
  report.figure(group, "finished", "jobs/s", count / seconds());
  report.figure(group, "processor time of a job's whole life", "ms", (server.cpuMs() - cpuBefore) / count);
  report.figure(group, "resident memory at most", "MB", server.peakMb());
  await pool.close();
  await server.stop();
}
