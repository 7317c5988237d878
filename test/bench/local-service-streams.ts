import { once } from "node:events";
import { connect, type Socket } from "node:net";
import type { Report } from "./harness.ts";
import { percentiles, startServer } from "./local-service-process.ts";

const JOBS = 100;

/** Streams that are open at once on one process, of jobs that wait far in the future of a slow service. */
export async function measure(report: Report, { quick = false }: { readonly quick?: boolean } = {}): Promise<void> {
  const count = quick ? 1_000 : 5_000;
  const server = await startServer({ speed: 1e-6, maxRunning: 1 });
  const { hostname, port } = new URL(server.baseUrl);
  const headers = { authorization: `Bearer ${server.apiKey}`, "content-type": "application/json" };
  const submit = async (): Promise<string> => {
    const body = JSON.stringify({ input: { prompt: "long" } });
    const answer = await fetch(`${server.baseUrl}/models/image-1`, { method: "POST", headers, body });
    return ((await answer.json()) as { job_id: string }).job_id;
  };
  /** A bare socket, so that the reader's own memory is not what is measured. */
  const open = async (jobId: string): Promise<{ readonly socket: Socket; readonly ms: number }> => {
    const sent = performance.now();
    const socket = connect(Number(port), hostname);
    const lines = [
      `GET /v3/jobs/${jobId}/stream HTTP/1.1`,
      `Host: ${hostname}`,
      `Authorization: ${headers.authorization}`,
    ];
    socket.write(`${lines.join("\r\n")}\r\n\r\n`);
    let text = "";
    while (!text.includes("moderation.passed")) text += String((await once(socket, "data"))[0]);
    socket.resume();
    return { socket, ms: performance.now() - sent };
  };
  const idleMb = server.rssMb();
  const jobs = await Promise.all(Array.from({ length: JOBS }, submit));
  const opened: { readonly socket: Socket; readonly ms: number }[] = [];
  while (opened.length < count) {
    const batch = Array.from({ length: JOBS }, (_, index) => open(jobs[index]!));
    opened.push(...(await Promise.all(batch)));
  }
  const stats = await (await fetch(new URL("/_local/stats", server.baseUrl))).json();
  if ((stats as { open_streams: number }).open_streams !== count) throw new Error("not all streams are open");
  const group = `${count.toLocaleString("en")} open streams`;
  report.figure(group, "resident memory", "MB", server.rssMb(), { most: 400 });
  report.figure(group, "resident memory without any", "MB", idleMb);
  report.figure(group, "first event, 99th percentile", "ms", percentiles(opened.map(({ ms }) => ms)).p99);
  for (const { socket } of opened) socket.destroy();
  await server.stop();
}
