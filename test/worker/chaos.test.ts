import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openShowrunner, type Showrunner } from "../../src/index.ts";
import { type LocalService, startLocalService } from "../../src/local-service/index.ts";
import { hasPostgres, PostgresCluster } from "../support/postgres.ts";
import { studio } from "./fixtures/studio.ts";

const isFull = process.env.SHOWRUNNER_TEST_RUNS !== undefined;
const RUNS = isFull ? 200 : 12;
const KILLS = isFull ? 20 : 3;
const WORKERS = 4;
const JOBS_PER_RUN = 19;
const LONG = 1_800_000;

describe.runIf(hasPostgres("workers under kill -9"))(`${WORKERS} workers, ${RUNS} runs of 20 steps`, () => {
  let cluster: PostgresCluster;
  let service: LocalService;
  let folder: string;
  let show: Showrunner;
  let journal: string;
  const workers: ChildProcess[] = [];

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "worker-chaos-"));
    cluster = await PostgresCluster.start();
    journal = await cluster.createDatabase();
    service = await startLocalService({
      renderer: "stub",
      balance: 100_000,
      rateLimit: { requests: 1_000_000, windowMs: 60_000 },
      dataDir: join(folder, "service"),
    });
    const { baseUrl, apiKey } = service;
    show = await openShowrunner({ journal, baseUrl, apiKey, mediaDir: join(folder, "media"), notify: false });
    for (let index = 0; index < WORKERS; index++) workers.push(await startWorkerProcess());
  }, LONG);

  afterAll(async () => {
    for (const worker of workers) worker.kill("SIGKILL");
    await show?.close();
    await service?.close();
    await cluster?.remove();
    rmSync(folder, { recursive: true, force: true });
  }, LONG);

  async function startWorkerProcess(): Promise<ChildProcess> {
    const file = fileURLToPath(new URL("./chaos-process.ts", import.meta.url));
    const args = [journal, service.baseUrl, service.apiKey, join(folder, "media")];
    const worker = fork(file, args, { stdio: ["ignore", "inherit", "inherit", "ipc"] });
    await once(worker, "message");
    return worker;
  }

  async function killOne(index: number): Promise<void> {
    const gone = once(workers[index]!, "exit");
    workers[index]!.kill("SIGKILL");
    await gone;
    workers[index] = await startWorkerProcess();
  }

  test(
    "one of which is killed again and again: every run ends right, and each paid step is one job",
    async () => {
      const ids: string[] = [];
      for (let index = 0; index < RUNS; index++) {
        const options = { id: `run-${index}`, outDir: join(folder, "out", String(index)) };
        ids.push((await show.start(studio, { name: `film ${index}` }, options)).id);
      }
      for (let kills = 0; kills < KILLS; kills++) {
        await delay(2_000);
        await killOne(kills % WORKERS);
      }
      const open = async () =>
        (await show.runs()).filter(({ status }) => status !== "succeeded").map(({ runId }) => runId);
      await expect.poll(open, { timeout: LONG, interval: 1_000 }).toEqual([]);
      const { jobs_created, replayed_submits } = service.stats();
      expect(jobs_created).toBe(RUNS * JOBS_PER_RUN);
      for (const id of ids) {
        const { steps, held } = await show.show(id);
        expect(Number(held)).toBe(0);
        expect(steps).toHaveLength(20);
        for (const { path, status, outputs } of steps) {
          expect({ path, status }).toEqual({ path, status: "succeeded" });
          for (const output of outputs) expect(output.sha256).toMatch(/^[0-9a-f]{64}$/);
        }
      }
      const last = workers.pop()!;
      last.kill("SIGTERM");
      const [code] = await once(last, "exit");
      expect(code).toBe(0);
      console.log(
        `${RUNS} runs, ${jobs_created} jobs, ${replayed_submits} submits sent again, ${KILLS} workers killed`,
      );
    },
    LONG,
  );
});
