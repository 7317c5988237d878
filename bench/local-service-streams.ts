import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { percentiles, startServer } from "./local-service-process.ts";

/* Open streams at once on one process. Bar: 5,000 under 400 MB. The jobs wait far in the future of a slow service. */
const STREAMS = Number(process.argv[2] ?? 5_000);
const JOBS = 100;

const server = await startServer({ speed: 1e-6, maxRunning: 1 });
const { hostname, port } = new URL(server.baseUrl);
const headers = { authorization: `Bearer ${server.apiKey}`, "content-type": "application/json" };
const idleMb = server.rssMb();

async function submit(): Promise<string> {
  const body = JSON.stringify({ input: { prompt: "long" } });
  const answer = await fetch(`${server.baseUrl}/models/image-1`, { method: "POST", headers, body });
  return ((await answer.json()) as { job_id: string }).job_id;
}

/** Bare sockets, so that the reader's own memory is not what is measured. */
async function open(jobId: string): Promise<{ socket: Socket; ms: number }> {
  const sent = performance.now();
  const socket = connect(Number(port), hostname);
  socket.write(
    `GET /v3/jobs/${jobId}/stream HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: ${headers.authorization}\r\n\r\n`,
  );
  let text = "";
  while (!text.includes("moderation.passed")) text += String((await once(socket, "data"))[0]);
  socket.resume();
  return { socket, ms: performance.now() - sent };
}

const jobs = await Promise.all(Array.from({ length: JOBS }, submit));
const opened: { socket: Socket; ms: number }[] = [];
while (opened.length < STREAMS) {
  const batch = Array.from({ length: 100 }, (_, index) => open(jobs[(opened.length + index) % JOBS]!));
  opened.push(...(await Promise.all(batch)));
}
const stats = await (await fetch(new URL("/_local/stats", server.baseUrl))).json();
console.log({
  openStreams: (stats as { open_streams: number }).open_streams,
  idleMb,
  rssMb: server.rssMb(),
  peakMb: server.peakMb(),
  firstEvents: percentiles(opened.map((stream) => stream.ms)),
});
for (const { socket } of opened) socket.destroy();
await server.stop();
