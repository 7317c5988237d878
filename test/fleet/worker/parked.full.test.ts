import { rm } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createPgBossEngine } from "../../../src/fleet/pg-boss/index.ts";
import { createTimersEngine, type Engine, startWorker } from "../../../src/fleet/worker/index.ts";
import { openJournal, openShowrunner, type Showrunner } from "../../../src/index.ts";
import { fastFolder } from "../../../src/testing/surroundings.ts";
import { planned } from "../../core/journal/samples.ts";
import { describeNeeding } from "../../support/absence.ts";
import { lacksPostgres, PostgresCluster } from "../../support/postgres.ts";

const RUNS = 1_000;
const IDLE_SECONDS = 6;
const HOUR_MS = 3_600_000;

describeNeeding(lacksPostgres())("A worker with 1,000 parked runs asks the database no more than one without", () => {
  let cluster: PostgresCluster;
  let url: string;
  let mediaDir: string;
  let show: Showrunner;
  const ids = Array.from({ length: RUNS }, (_, index) => `run-${index}`);
  beforeAll(async () => {
    cluster = await PostgresCluster.start({ settings: { fsync: "off", log_statement: "all" } });
    url = await cluster.createDatabase();
    mediaDir = await fastFolder("parked");
    const journal = await openJournal(url);
    const wake = { at: Date.now() + HOUR_MS, memo: {} };
    await Promise.all(ids.map((id) => journal.createRun(id, { ...planned(), nonce: id }, 1, wake)));
    await journal.close();
    show = await openShowrunner({
      baseUrl: "http://127.0.0.1:9/v3",
      apiKey: "of:nobody",
      journal: url,
      mediaDir,
    });
  }, 120_000);
  afterAll(async () => {
    await show.close();
    await cluster.remove();
    await rm(mediaDir, { recursive: true, force: true });
  }, 120_000);

  /** Statements a second of all connections, while nothing is due. */
  async function statementsOf(engine: Engine): Promise<number> {
    const worker = await startWorker({ show, engine });
    for (const id of ids) await engine.wake(id, { at: Date.now() + HOUR_MS });
    await sleep(2_000);
    const from = cluster.log().length;
    await sleep(IDLE_SECONDS * 1_000);
    const said = cluster.log().slice(from);
    await worker.stop({ drainMs: 1_000 });
    return (said.match(/ LOG: {2}(statement|execute)/g) ?? []).length / IDLE_SECONDS;
  }

  test("with timers: a look at what is late, every five seconds", async () => {
    expect(await statementsOf(createTimersEngine())).toBeLessThan(1);
  }, 60_000);

  test("with pg-boss: the polls of its places for slices and functions, and its own upkeep", async () => {
    const engine = await createPgBossEngine({ connectionString: url, schema: "boss" });
    const aSecond = await statementsOf(engine);
    console.log(`pg-boss: ${aSecond.toFixed(1)} statements a second`);
    expect(aSecond).toBeLessThan(40);
  }, 120_000);
});
