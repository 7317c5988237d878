import { openStore, type Store } from "../../src/local-service/store/store.ts";
import { inFolder, type Report } from "./harness.ts";
import { percentiles, startServer } from "./local-service-process.ts";

const PAGES = 1_000;
const createdAt = Date.now() - 3_600_000;

function addJob(store: Store, index: number): void {
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

/** Pages of `GET /jobs`, and usage by day, with many finished jobs in the store. */
export async function measure(report: Report, { quick = false }: { readonly quick?: boolean } = {}): Promise<void> {
  const jobs = quick ? 10_000 : 100_000;
  await inFolder(async (dataDir) => {
    const store = openStore(dataDir);
    for (let from = 0; from < jobs; from += 10_000) {
      await store.write(() => {
        for (let index = from; index < from + 10_000; index++) addJob(store, index);
      });
    }
    store.close();
    const server = await startServer({ dataDir });
    const headers = { authorization: `Bearer ${server.apiKey}` };
    const page = async (query: string): Promise<{ readonly ms: number; readonly next: string | null }> => {
      const sent = performance.now();
      const answer = await fetch(`${server.baseUrl}/jobs?limit=100${query}`, { headers });
      const body = (await answer.json()) as { next_cursor: string | null };
      return { ms: performance.now() - sent, next: body.next_cursor };
    };
    let { next } = await page("");
    const times: number[] = [];
    while (times.length < PAGES && next !== null) {
      const found = await page(`&cursor=${next}`);
      times.push(found.ms);
      next = found.next;
    }
    const askedAt = performance.now();
    await (await fetch(`${server.baseUrl}/usage?group_by=day`, { headers })).json();
    const usageMs = performance.now() - askedAt;
    await server.stop();
    const group = `${jobs.toLocaleString("en")} finished jobs in the store`;
    const { p50, p99 } = percentiles(times);
    report.figure(group, "a page of 100 jobs, median", "ms", p50, { most: 10 });
    report.figure(group, "a page of 100 jobs, 99th percentile", "ms", p99);
    report.figure(group, "usage by day", "ms", usageMs);
  });
}
