import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { EVENT_VERSION } from "../../../src/core/journal/events.ts";
import { type JournalStore, openJournal, openShowrunner, type Showrunner } from "../../../src/index.ts";
import { type LocalService, startLocalService } from "../../../src/local-service/index.ts";
import { describeNeeding } from "../../support/absence.ts";
import { lacksPostgres, PostgresCluster } from "../../support/postgres.ts";
import { fan } from "./fixtures/fan.ts";
import { Fleet } from "./support/fleet.ts";

interface Intent {
  readonly type: string;
  readonly step: string;
}

const isFull = process.env.SHOWRUNNER_TEST_RUNS !== undefined;
const LONG = 600_000;
const [RUNS, PICTURES] = [6, 18];
const NEWER = fileURLToPath(new URL("./support/newer-build.ts", import.meta.url));

describeNeeding(lacksPostgres())("Workers of two builds side by side", () => {
  let cluster: PostgresCluster;
  let service: LocalService;
  let folder: string;
  let journal: JournalStore;
  let show: Showrunner;
  const fleets: Fleet[] = [];

  beforeAll(async () => {
    cluster = await PostgresCluster.start({ settings: { fsync: "off" } });
  }, LONG);
  afterAll(() => cluster?.remove(), LONG);
  let journalUrl: string;
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "worker-upgrade-"));
    journalUrl = await cluster.createDatabase();
    service = await startLocalService({
      ...{ renderer: "stub", balance: 1_000, dataDir: join(folder, "service") },
      rateLimit: { requests: 1_000_000, windowMs: 60_000 },
    });
    const { baseUrl, apiKey } = service;
    journal = await openJournal(journalUrl);
    show = await openShowrunner({ journal, baseUrl, apiKey, mediaDir: join(folder, "media"), notify: false });
  }, LONG);
  afterEach(async ({ task }) => {
    for (const [index, fleet] of fleets.entries()) {
      if (task.result?.state === "fail") console.error(index, fleet.log().slice(-3_000));
      fleet.kill();
    }
    fleets.length = 0;
    await show.close();
    await journal.close();
    await service.close();
    rmSync(folder, { recursive: true, force: true });
  }, LONG);

  async function startFleet(
    size: number,
    more: { readonly execArgv?: readonly string[]; readonly env?: NodeJS.ProcessEnv },
  ) {
    const fleet = new Fleet({
      ...{ file: fileURLToPath(new URL("./chaos-process.ts", import.meta.url)), size, folder, ...more },
      name: `fleet-${fleets.length}`,
      args: () => [journalUrl, service.baseUrl, service.apiKey, join(folder, "media"), "30000"],
    });
    fleets.push(fleet);
    await fleet.start();
    return fleet;
  }

  const begin = (runs: number) =>
    Promise.all(
      Array.from({ length: runs }, async (_, index) => {
        const options = { id: `run-${index}`, concurrency: 3, outDir: join(folder, "out", String(index)) };
        return (await show.start(fan, { pictures: PICTURES }, options)).id;
      }),
    );
  const untilOver = () =>
    expect
      .poll(async () => (await journal.runs()).filter(({ status }) => status !== "succeeded").length, {
        ...{ timeout: LONG, interval: 200 },
      })
      .toBe(0);
  /** Steps in the order in which they were sent, whichever build can read that. */
  const intents = async (id: string) =>
    bodiesOf(id)
      .flatMap((body) => JSON.parse(body) as Intent | readonly Intent[])
      .flatMap(({ type, step }) => (type === "job.submit.intended" ? [step] : []));

  // Where one cannot read what the other wrote, half of all wakes are for nothing: that takes minutes.
  test.each(isFull ? (["order", "events"] as const) : (["order"] as const))(
    "finish every run, each job paid once, although the newer one takes steps in another order (%s)",
    async (newer) => {
      const older = await startFleet(2, {});
      const ids = await begin(RUNS);
      const begun = async () => (await Promise.all(ids.map(intents))).filter((steps) => steps.length >= 3).length;
      await expect.poll(begun, { timeout: LONG, interval: 50 }).toBe(RUNS);
      await startFleet(2, { execArgv: ["--import", NEWER], env: { NEWER: newer } });
      await delay(2_000);
      expect(older.crashed).toEqual([]);
      // As a deployment does, once the newer ones are ready.
      await older.stop();
      await untilOver();
      expect(service.stats().jobs_created).toBe(RUNS * PICTURES);
      const { charged_micros } = service.stats();
      const { account } = (await journal.run(ids[0]!))!;
      expect(await journal.accountLedger(account)).toMatchObject({ heldMicros: 0, settledMicros: charged_micros });
      // The older build takes them from the first to the last.
      const orders = (await Promise.all(ids.map(intents))).map((steps) => steps.join(" "));
      const inOrder = Array.from({ length: PICTURES }, (_, index) => `picture-${index}`).join(" ");
      expect(orders.filter((order) => order !== inOrder).length).toBeGreaterThan(0);
      expect(orders.every((order) => order.startsWith("picture-0 picture-1 picture-2"))).toBe(true);
      console.log(
        `${orders.filter((order) => order !== inOrder).length} of ${RUNS} runs changed their order in the middle`,
      );
      if (newer === "order") return;
      const versions = new Set(ids.flatMap((id) => column(id, "version")));
      expect([...versions].toSorted()).toEqual([`${EVENT_VERSION}`, `${EVENT_VERSION + 1}`]);
      expect(older.log()).toMatch(new RegExp(`run-\\d left .*version ${EVENT_VERSION + 1}`));
    },
    LONG,
  );

  const column = (id: string, name: "body" | "version") =>
    cluster
      .psql(
        `SELECT ${name} FROM showrunner.events JOIN showrunner.runs USING (run_key) WHERE run_id = '${id}' ORDER BY seq`,
        new URL(journalUrl).pathname.slice(1),
      )
      .split("\n");
  const bodiesOf = (id: string) => column(id, "body");

  // Whom the function is given to is chance, with growing delays in between.
  (isFull ? test : test.skip)(
    "leave a function that they have in another version to those that have the run's",
    { timeout: LONG, meta: { lacks: "time: npm run check:full" } },
    async () => {
      const changed = await startFleet(1, { env: { CODE: "changed" } });
      await begin(2);
      await expect.poll(() => changed.log(), { timeout: LONG, interval: 100 }).toMatch(/run-\d/);
      expect((await journal.runs()).map(({ status }) => status)).toEqual(["running", "running"]);
      await startFleet(1, {});
      await untilOver();
      expect(service.stats().jobs_created).toBe(2 * PICTURES);
      expect(changed.log()).toMatch(/count.*version/);
    },
  );
});
