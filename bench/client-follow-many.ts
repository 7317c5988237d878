// 10 000 jobs followed at once in one process, by poll and by webhook: memory and the event loop's p99.
// The service is a process of its own, so that only the client is measured.
import { fork } from "node:child_process";
import { createServer } from "node:http";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { createClient } from "../src/api/index.ts";

const jobs = 10_000;
const lifeMs = 20_000;

// Each way of following in a process of its own as well, so that neither inherits the other's memory.
const [role] = process.argv.slice(2);
if (role === "serve") serve();
else if (role === "poll" || role === "webhook") await measure(role);
else
  for (const strategy of ["poll", "webhook"])
    await new Promise((resolve) => fork(import.meta.filename, [strategy]).once("exit", resolve));

/** A service whose jobs end one after the other within `lifeMs`. */
function serve(): void {
  const startedAt = Date.now();
  const server = createServer((request, response) => {
    const [, number = "0", status] = /^\/v3\/jobs\/job_(\d+)(\/status)?/.exec(request.url ?? "") ?? [];
    const endsAt = startedAt + 2_000 + (Number(number) / jobs) * (lifeMs - 2_000);
    const done = Date.now() >= endsAt;
    const common = { job_id: `job_${number}`, status: done ? "COMPLETED" : "IN_PROGRESS" };
    const body = status
      ? {
          ...common,
          progress: 0.5,
          estimated_completion_at: new Date(endsAt).toISOString(),
          logs: [],
          logs_next_cursor: "1",
        }
      : { ...common, model: "m", outputs: [], error: null, created_at: new Date(startedAt).toISOString() };
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify(body));
  });
  server.listen(0, "127.0.0.1", () => process.send?.(server.address()));
}

async function measure(strategy: "poll" | "webhook"): Promise<void> {
  const child = fork(import.meta.filename, ["serve"]);
  const port = await new Promise<number>((resolve) =>
    child.once("message", (message) => resolve((message as { port: number }).port)),
  );
  const client = createClient({ baseUrl: `http://127.0.0.1:${port}/v3`, apiKey: "k:s", pace: { maxPerSecond: 2_000 } });
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  let most = 0;
  const watch = setInterval(() => {
    most = Math.max(most, process.memoryUsage.rss());
  }, 50);
  const startedAt = Date.now();
  let settled = 0;
  const one = async (index: number) => {
    for await (const event of client.follow(`job_${index}`, { strategy })) if (event.type === "finished") settled++;
  };
  const all = Array.from({ length: jobs }, (_, index) => one(index));
  if (strategy === "webhook") {
    let next = 0;
    const feed = setInterval(() => {
      const until = ((Date.now() - startedAt - 2_500) / (lifeMs - 2_000)) * jobs;
      while (next < jobs && next < until) client.notify(`job_${next++}`);
      if (next === jobs) clearInterval(feed);
    }, 20);
  }
  await Promise.all(all);
  clearInterval(watch);
  delay.disable();
  console.log(
    `${strategy}: ${settled} jobs settled in ${((Date.now() - startedAt) / 1000).toFixed(1)} s, RSS at most ${Math.round(most / 1e6)} MB, ` +
      `event loop p99 ${(delay.percentile(99) / 1e6).toFixed(1)} ms (of it 5 ms resolution)`,
  );
  await client.close();
  child.kill();
}
