import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { openMedia } from "../../../src/core/engine/media/open-media.ts";
import { type JournalStore, openJournal, openShowrunner, type Showrunner } from "../../../src/index.ts";
import { type LocalService, startLocalService } from "../../../src/local-service/index.ts";
import { describeNeeding } from "../../support/absence.ts";
import { lacksPostgres, PostgresCluster } from "../../support/postgres.ts";
import { isFull } from "../../support/sample.ts";
import { type TcpProxy, tcpProxy } from "../../support/tcp-proxy.ts";
import { studio } from "./fixtures/studio.ts";
import { failoverMs, type Lost, spread } from "./support/failovers.ts";
import { Fleet } from "./support/fleet.ts";

const WORKERS = 4;
const JOBS_PER_RUN = 19;
const LONG = 3_600_000;
/** Frozen for longer than both the lease and the engine's heartbeat; cut off for longer than both only in a full check. */
const [LEASE_MS, FROZEN_MS, CUT_MS, KILL_EVERY_MS] = [6_000, 13_000, isFull ? 14_000 : 8_000, 3_000];
const BALANCE = 100_000;
/** Runs, kills, and the seed of who is hit when. */
const sizes: readonly (readonly [runs: number, kills: number, seed: number])[] = isFull
  ? [[200, 40, 1], ...[2, 3, 4, 5, 6, 7, 8, 9].map((seed) => [40, 8, seed] as const)]
  : [[16, 4, 20_261_122]];

/** Mulberry32. */
function randomOf(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

describeNeeding(lacksPostgres())(`${WORKERS} workers`, () => {
  let cluster: PostgresCluster;
  let folder: string;
  let journalUrl: string;
  let service: LocalService;
  let proxy: TcpProxy;
  let journal: JournalStore;
  let show: Showrunner;
  let fleet: Fleet;

  beforeAll(async () => {
    cluster = await PostgresCluster.start();
  }, LONG);
  afterAll(() => cluster?.remove(), LONG);

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "worker-chaos-"));
    journalUrl = await cluster.createDatabase();
    proxy = await tcpProxy(cluster.port, () => "pass");
    service = await startLocalService({
      ...{ renderer: "stub", balance: BALANCE, dataDir: join(folder, "service") },
      rateLimit: { requests: 1_000_000, windowMs: 60_000 },
    });
    const { baseUrl, apiKey } = service;
    journal = await openJournal(journalUrl);
    show = await openShowrunner({ journal, baseUrl, apiKey, mediaDir: join(folder, "media"), notify: false });
    const proxied = cluster.url(new URL(journalUrl).pathname.slice(1), proxy.port);
    fleet = new Fleet({
      ...{ file: fileURLToPath(new URL("./chaos-process.ts", import.meta.url)), size: WORKERS, folder },
      // The last one is cut off now and then.
      args: (place) => [
        ...[place === WORKERS - 1 ? proxied : journalUrl, baseUrl, apiKey],
        ...[join(folder, "media"), String(LEASE_MS)],
      ],
    });
    await fleet.start();
  }, LONG);

  afterEach(async ({ task }) => {
    if (task.result?.state === "fail") console.error(fleet.log().slice(-6_000));
    fleet.kill();
    await show.close();
    await journal.close();
    await service.close();
    await proxy.close();
    rmSync(folder, { recursive: true, force: true });
  }, LONG);

  /** What the worker holds; asked for until it holds something, or for so long, milliseconds. */
  async function heldBy(place: number, forMs: number): Promise<readonly string[]> {
    for (const until = Date.now() + forMs; ; await delay(10)) {
      const pid = fleet.pid(place);
      const held = (await journal.runs()).filter(({ lease }) => lease?.holder.pid === pid);
      if (held.length > 0 || Date.now() > until) return held.map(({ runId }) => runId);
    }
  }

  /** Kills, one freeze, one cut and one restart of the database, in an order of the seed. */
  async function trouble(kills: number, seed: number): Promise<readonly Lost[]> {
    const random = randomOf(seed);
    const lost: Lost[] = [];
    const spared = new Set<number>();
    const hit = async (how: string, place: number, blow: () => void) => {
      const runs = await heldBy(place, how === "killed" ? 3_000 : 20_000);
      lost.push({ how, pid: fleet.pid(place), at: Date.now(), runs });
      blow();
    };
    const others: (() => Promise<void>)[] = [
      async () => {
        const place = random(WORKERS - 1);
        spared.add(place);
        await hit("frozen", place, () => fleet.signal(place, "SIGSTOP"));
        await delay(FROZEN_MS);
        fleet.signal(place, "SIGCONT");
        spared.delete(place);
      },
      async () => {
        spared.add(WORKERS - 1);
        await hit("cut off", WORKERS - 1, () => proxy.sever());
        await delay(CUT_MS);
        proxy.restore();
        spared.delete(WORKERS - 1);
      },
      async () => {
        await cluster.stopServer(random(2) === 0 ? "fast" : "immediate");
        await delay(500);
        await cluster.startServer();
      },
    ];
    const pending: Promise<void>[] = [];
    for (let nth = 0; nth < kills; nth++) {
      await delay(KILL_EVERY_MS);
      if (others.length > 0) pending.push(others.splice(random(others.length), 1)[0]!());
      const places = Array.from({ length: WORKERS }, (_, place) => place).filter((place) => !spared.has(place));
      const place = places[random(places.length)]!;
      spared.add(place);
      let gone: Promise<void> | undefined;
      await hit("killed", place, () => {
        gone = fleet.replace(place);
      });
      await gone;
      spared.delete(place);
    }
    await Promise.all(pending);
    return lost;
  }

  test.each(sizes)(
    "drive %i runs of 20 steps while workers are killed (%i times), frozen and cut off, and the database restarts (seed %i): every run ends right, paid once [G2]",
    async (runs, kills, seed) => {
      const startedAt = Date.now();
      const troubles = trouble(kills, seed);
      const ids = await Promise.all(
        Array.from({ length: runs }, async (_, index) => {
          const options = { id: `run-${index}`, outDir: join(folder, "out", String(index)) };
          return (await show.start(studio, { name: `film ${index}` }, options)).id;
        }),
      );
      const lost = await troubles;
      const open = async () => (await journal.runs()).filter(({ status }) => status !== "succeeded").length;
      await expect.poll(open, { timeout: LONG, interval: 500 }).toBe(0);
      const tookMs = Date.now() - startedAt;

      const { jobs_created, replayed_submits, charged_micros, refunded_micros } = service.stats();
      expect(jobs_created).toBe(runs * JOBS_PER_RUN);
      const media = await openMedia({ mediaDir: join(folder, "media") });
      const jobs = new Set<string>();
      const events = new Map(await Promise.all(ids.map(async (id) => [id, await journal.read(id)] as const)));
      for (const id of ids) {
        const { steps, held } = await show.show(id);
        expect(Number(held)).toBe(0);
        expect(steps).toHaveLength(20);
        for (const { path, status, outputs, attempts } of steps) {
          expect({ id, path, status }).toEqual({ id, path, status: "succeeded" });
          for (const { job_id } of attempts) if (job_id !== null) jobs.add(job_id);
          for (const { sha256 } of outputs) expect(await media.sizeOf(sha256!)).toBeGreaterThan(0);
        }
      }
      expect(jobs.size).toBe(jobs_created);
      const { account } = (await journal.run(ids[0]!))!;
      const { heldMicros, settledMicros } = await journal.accountLedger(account);
      expect({ heldMicros, settledMicros }).toEqual({ heldMicros: 0, settledMicros: charged_micros - refunded_micros });
      expect(fleet.crashed).toEqual([]);
      const stoppedAt = Date.now();
      expect(await fleet.stop()).toEqual(Array(WORKERS).fill(0));
      const stopMs = Date.now() - stoppedAt;

      console.log(
        `seed ${seed}: ${runs} runs, ${jobs_created} jobs in ${(tookMs / 1_000).toFixed(0)} s; ${replayed_submits} submits sent again, ${fleet.failedStarts} starts of workers failed; stopped in ${stopMs} ms`,
      );
      for (const how of ["killed", "frozen", "cut off"]) {
        const times = lost.filter((one) => one.how === how).flatMap((one) => failoverMs(one, (id) => events.get(id)!));
        console.log(`${how}: taken over after ${spread(times)}`);
      }
    },
    LONG,
  );
});
