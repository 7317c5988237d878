/** `node parked-worker.ts <url> <folder of the server's data> <engine> <runs> <idle seconds>`: see `parked.ts`. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { z } from "zod";
import { createPgBossEngine } from "../../src/fleet/pg-boss/index.ts";
import { createTimersEngine, startWorker } from "../../src/fleet/worker/index.ts";
import { openShowrunner, pipeline } from "../../src/index.ts";
import { answer, cpuMs, inFolder } from "./harness.ts";
import { serverCpuMs } from "./server-cpu.ts";

export interface Parked {
  readonly rssMb: number;
  readonly mostRssMb: number;
  readonly ownPercent: number;
  readonly serverPercent: number | null;
  readonly transactionsPerSecond: number;
  readonly connections: number;
  readonly bytesPerRun: number;
  readonly slicesPerSecond: number;
}

const HOUR_MS = 3_600_000;
const service = { baseUrl: "http://127.0.0.1:9/v3", apiKey: "bench:none" };
const waiting = pipeline("waiting", {
  input: z.object({ line: z.string() }),
  build({ input, task, approve }) {
    const draft = task("draft", { line: input.line }, ({ line }) => line.toUpperCase());
    const agreed = approve("agreed", draft, { message: "Publish it?" });
    return { published: task("published", { agreed }, (given) => given.agreed) };
  },
});

const [url = "", dataFolder = "", engineName = "", runs = "0", idleSeconds = "0"] = process.argv.slice(2);
const ids = Array.from({ length: Number(runs) }, (_, index) => `waiting-${index}`);
await inFolder((folder) => (engineName === "none" ? start(folder) : work(folder)));
process.disconnect();

/** In a process of its own: what it plans with is not the worker's memory. */
async function start(folder: string): Promise<void> {
  const show = await openShowrunner({ ...service, journal: url, mediaDir: folder });
  for (let from = 0; from < ids.length; from += 50) {
    await Promise.all(
      ids.slice(from, from + 50).map((id) => show.start(waiting, { line: `line ${id}` }, { id, outDir: folder })),
    );
  }
  await show.close();
}

async function work(folder: string): Promise<void> {
  const starting = fork(import.meta.filename, [url, dataFolder, "none", runs]);
  const [code] = await once(starting, "exit");
  if (code !== 0) throw new Error("the runs could not be started");
  const show = await openShowrunner({ ...service, journal: url, mediaDir: folder });
  const engine =
    engineName === "timers"
      ? createTimersEngine()
      : await createPgBossEngine({ connectionString: url, schema: "boss" });
  const client = new pg.Client(url);
  await client.connect();
  const asked = async (sql: string) => Number((await client.query(sql)).rows[0].n);
  let parked = 0;
  const startedAt = performance.now();
  const worker = await startWorker({
    ...{ show, engine, localWork: "inline", findPipeline: async () => waiting },
    onSlice: (_, { status }) => {
      if (status !== "paused") throw new Error(`a run is ${status}`);
      parked += 1;
    },
  });
  for (const id of ids) await engine.wake(id);
  while (parked < ids.length) await sleep(100);
  const slicesPerSecond = (ids.length * 1_000) / (performance.now() - startedAt);
  for (const id of ids) await engine.wake(id, { at: Date.now() + HOUR_MS });
  // What follows from all that: the server's vacuum, and what is reported late.
  await client.query("VACUUM ANALYZE");
  await sleep(5_000);
  const transactions =
    "SELECT xact_commit + xact_rollback AS n FROM pg_stat_database WHERE datname = current_database()";
  const [before, own, server] = [await asked(transactions), cpuMs(), serverCpuMs(dataFolder)];
  const idleMs = Number(idleSeconds) * 1_000;
  await sleep(idleMs);
  const [ownMs, serverMs] = [cpuMs() - own, server === null ? null : serverCpuMs(dataFolder)! - server];
  // Statistics of a connection arrive within a second of its last transaction.
  await sleep(1_500);
  const found: Parked = {
    rssMb: process.memoryUsage.rss() / 1e6,
    mostRssMb: process.resourceUsage().maxRSS / 1000,
    ownPercent: (100 * ownMs) / idleMs,
    serverPercent: serverMs === null ? null : (100 * serverMs) / idleMs,
    transactionsPerSecond: ((await asked(transactions)) - before) / (Number(idleSeconds) + 1.5),
    connections: (await asked("SELECT count(*) AS n FROM pg_stat_activity WHERE datname = current_database()")) - 1,
    bytesPerRun: (await asked("SELECT pg_database_size(current_database()) AS n")) / ids.length,
    slicesPerSecond,
  };
  await client.end();
  await worker.stop({ drainMs: 1_000 });
  await show.close();
  await answer(found);
}
