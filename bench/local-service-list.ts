import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openStore } from "../src/local-service/store/store.ts";
import { percentiles, startServer } from "./local-service-process.ts";

/* Pages of GET /jobs with 100,000 finished jobs in the store. Bar: under 10 ms. */
const JOBS = Number(process.argv[2] ?? 100_000);
const PAGES = 1_000;

const dataDir = mkdtempSync(join(tmpdir(), "local-service-bench-"));
const store = openStore(dataDir);
const createdAt = Date.now() - 3_600_000;

function addJob(index: number): void {
  const seq = store.jobs.insert({
    jobId: `job_${String(index).padStart(36, "0")}`,
    workspaceId: "workspace_local",
    ownerId: "owner_local",
    keyId: "bench",
    model: index % 3 ? "image-1" : "video-1",
    kind: "image",
    quality: "standard",
    status: "IN_QUEUE",
    prompt: "a picture",
    input: '{"prompt":"a picture"}',
    media: "{}",
    webhook: null,
    idempotencyKey: `bench-${index}`,
    seed: index,
    queueMs: 0,
    renderMs: 0,
    createdAt,
    chargedMicros: 20_000,
    costShownAt: 0,
  });
  store.jobs.start(seq, createdAt);
  store.jobs.end(seq, {
    status: "COMPLETED",
    completedAt: createdAt,
    expiresAt: null,
    refundedMicros: 0,
    error: null,
  });
}

for (let from = 0; from < JOBS; from += 10_000) {
  await store.write(() => {
    for (let index = from; index < Math.min(JOBS, from + 10_000); index++) addJob(index);
  });
}
store.close();

const server = await startServer({ dataDir });
const headers = { authorization: `Bearer ${server.apiKey}` };

async function page(query: string): Promise<{ ms: number; next: string | null }> {
  const sent = performance.now();
  const answer = await fetch(`${server.baseUrl}/jobs?limit=100${query}`, { headers });
  const body = (await answer.json()) as { next_cursor: string | null };
  return { ms: performance.now() - sent, next: body.next_cursor };
}

await page("");
const times: number[] = [];
for (let cursor: string | null = "", turn = 0; turn < PAGES && cursor !== null; turn++) {
  const { ms, next } = await page(cursor === "" ? "" : `&cursor=${cursor}`);
  times.push(ms);
  cursor = next;
}
const usage = performance.now();
await (await fetch(`${server.baseUrl}/usage?group_by=day`, { headers })).json();
console.log({
  jobs: JOBS,
  pages: times.length,
  pageMs: percentiles(times),
  usageMs: Math.round(performance.now() - usage),
});
await server.stop();
rmSync(dataDir, { recursive: true, force: true });
