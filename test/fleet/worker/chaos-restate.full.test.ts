import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type JournalStore, openJournal, openShowrunner, type Showrunner } from "../../../src/index.ts";
import { type LocalService, startLocalService } from "../../../src/local-service/index.ts";
import { describeNeeding } from "../../support/absence.ts";
import { freePort } from "../../support/free-port.ts";
import { lacksRestate, RestateServer } from "../../support/restate.ts";
import type { EngineSpec } from "./engines.ts";
import { studio } from "./fixtures/studio.ts";
import { failoverMs, type Lost, spread } from "./support/failovers.ts";
import { Fleet } from "./support/fleet.ts";

const isFull = process.env.SHOWRUNNER_TEST_RUNS !== undefined;
const [RUNS, KILLS] = isFull ? [100, 20] : [6, 2];
const [WORKERS, JOBS_PER_RUN] = [3, 19];
const [LEASE_MS, FROZEN_MS] = [3_000, 7_000];
const LONG = 1_800_000;

describeNeeding(lacksRestate())(`${WORKERS} workers on Restate, with the journal in a file,`, () => {
  let restate: RestateServer;
  let service: LocalService;
  let folder: string;
  let journal: JournalStore;
  let show: Showrunner;
  let fleet: Fleet;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "restate-chaos-"));
    const file = join(folder, "journal.db");
    // Frozen is who does not answer a ping in time; a busy machine is slow to answer.
    const pings = { INTERVAL: "2s", TIMEOUT: "3s" };
    restate = await RestateServer.start(
      Object.fromEntries(
        Object.entries(pings).map(([of, s]) => [`RESTATE_WORKER__INVOKER__HTTP2_KEEP_ALIVE_${of}`, s]),
      ),
    );
    service = await startLocalService({
      ...{ renderer: "stub", balance: 100_000, dataDir: join(folder, "service") },
      rateLimit: { requests: 1_000_000, windowMs: 60_000 },
    });
    const { baseUrl, apiKey } = service;
    const mediaDir = join(folder, "media");
    journal = await openJournal(file);
    show = await openShowrunner({ journal, baseUrl, apiKey, mediaDir, notify: false });
    const { ingress, admin } = restate;
    const spec: EngineSpec = { kind: "restate", ingress, endpoint: { admin, port: await freePort() } };
    fleet = new Fleet({
      ...{ file: fileURLToPath(new URL("./chaos-process.ts", import.meta.url)), size: WORKERS, folder },
      args: () => [file, baseUrl, apiKey, mediaDir, String(LEASE_MS), JSON.stringify(spec)],
    });
    await fleet.start();
  }, LONG);

  afterAll(async () => {
    fleet?.kill();
    await show?.close();
    await journal?.close();
    await service?.close();
    await restate?.remove();
    rmSync(folder, { recursive: true, force: true });
  }, LONG);

  /** Strikes a worker that holds runs. */
  async function hit(how: string, blow: (place: number) => unknown): Promise<Lost & { readonly place: number }> {
    for (;;) {
      const rows = await journal.runs();
      for (let place = 0; place < WORKERS; place++) {
        const pid = fleet.pid(place);
        const runs = rows.filter(({ lease }) => lease?.holder.pid === pid).map(({ runId }) => runId);
        if (runs.length === 0) continue;
        const at = Date.now();
        await blow(place);
        return { how, pid, at, runs, place };
      }
      await delay(10);
    }
  }

  test(
    `drive ${RUNS} runs of 20 steps while workers are killed, frozen beyond their leases, and Restate itself is killed: every run ends right, paid once`,
    async () => {
      const ids: string[] = [];
      for (let index = 0; index < RUNS; index++) {
        const options = { id: `run-${index}`, outDir: join(folder, "out", String(index)) };
        ids.push((await show.start(studio, { name: `film ${index}` }, options)).id);
      }
      const lost: Lost[] = [];
      for (let nth = 0; nth < KILLS; nth++) lost.push(await hit("killed", (place) => fleet.replace(place)));
      await restate.stopServer();
      await restate.startServer();
      const frozen = await hit("frozen", (place) => fleet.signal(place, "SIGSTOP"));
      lost.push(frozen);
      await delay(FROZEN_MS);
      fleet.signal(frozen.place, "SIGCONT");
      const open = async () => (await journal.runs()).filter(({ status }) => status !== "succeeded").length;
      await expect.poll(open, { timeout: LONG, interval: 250 }).toBe(0);

      const { jobs_created, replayed_submits, charged_micros, refunded_micros } = service.stats();
      expect(jobs_created).toBe(RUNS * JOBS_PER_RUN);
      for (const id of ids) {
        const { steps, held } = await show.show(id);
        expect(Number(held)).toBe(0);
        expect(steps).toHaveLength(20);
        for (const { path, status, outputs } of steps) {
          expect({ id, path, status }).toEqual({ id, path, status: "succeeded" });
          for (const { sha256 } of outputs) expect(sha256).toMatch(/^[0-9a-f]{64}$/);
        }
      }
      const { heldMicros, settledMicros } = await journal.accountLedger((await journal.run(ids[0]!))!.account);
      expect({ heldMicros, settledMicros }).toEqual({ heldMicros: 0, settledMicros: charged_micros - refunded_micros });
      expect(fleet.crashed).toEqual([]);
      expect(await fleet.stop()).toEqual(Array(WORKERS).fill(0));
      console.log(`${RUNS} runs, ${jobs_created} jobs; ${replayed_submits} submits sent again`);
      const events = new Map(await Promise.all(ids.map(async (id) => [id, await journal.read(id)] as const)));
      for (const how of ["killed", "frozen"]) {
        const times = lost.filter((one) => one.how === how).flatMap((one) => failoverMs(one, (id) => events.get(id)!));
        console.log(`${how}: taken over after ${spread(times)}`);
      }
    },
    LONG,
  );
});
