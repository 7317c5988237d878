import { afterAll, beforeAll, expect, test } from "vitest";
import { callersClock } from "../../../src/core/journal/postgres/leases.ts";
import { openPostgresJournal } from "../../../src/core/journal/postgres.ts";
import { describeNeeding } from "../../support/absence.ts";
import { lacksPgbouncer, startPgbouncer } from "../../support/pgbouncer.ts";
import { lacksPostgres, PostgresCluster } from "../../support/postgres.ts";
import { journalContract } from "./contract.ts";
import { planned, takeLease } from "./samples.ts";

describeNeeding(lacksPostgres(), lacksPgbouncer())("Behind pgbouncer in transaction mode, with two connections", () => {
  let cluster: PostgresCluster;
  let pooler: Awaited<ReturnType<typeof startPgbouncer>>;
  let direct: string;
  let pooled: string;
  let schemas = 0;
  beforeAll(async () => {
    cluster = await PostgresCluster.start({ settings: { fsync: "off" } });
    direct = await cluster.createDatabase();
    pooler = await startPgbouncer(cluster, 2);
    pooled = cluster.url("db1", pooler.port);
  });
  afterAll(async () => {
    await pooler.stop();
    await cluster.remove();
  });

  journalContract("PostgreSQL", (options) => {
    const schema = `s${++schemas}`;
    return openPostgresJournal(pooled, { ...options, schema, pollIntervalMs: 50 }, callersClock());
  });

  test("changes by others are found by polling, whoever of them is behind it", async () => {
    const schema = `s${++schemas}`;
    const [here, there] = await Promise.all([
      openPostgresJournal(pooled, { schema, pollIntervalMs: 20 }),
      openPostgresJournal(direct, { schema, pollIntervalMs: 600_000 }),
    ]);
    await here.createRun("r1", planned(), 1);
    const take = async (store: typeof here) => {
      await store.releaseLease(await takeLease(store, "r1", { at: Date.now(), ttlMs: 60_000 }));
    };
    // Through the pooler nobody hears anything: it polls.
    const polled = here.waitForChange("r1", 1);
    await take(there);
    await polled;
    // Who is connected directly hears of what is written through the pooler.
    const heard = there.waitForChange("r1", 2);
    await take(here);
    await heard;
    await Promise.all([here.close(), there.close()]);
  });

  test("more processes than it has connections take turns, and set up none of them for the others", async () => {
    const schema = `s${++schemas}`;
    const stores = await Promise.all(
      Array.from({ length: 6 }, () => openPostgresJournal(pooled, { schema, poolSize: 5, lockTimeoutMs: 4_321 })),
    );
    const ids = Array.from({ length: 60 }, (_, index) => `r${index}`);
    await Promise.all(ids.map((id, index) => stores[index % 6]!.createRun(id, planned(), index)));
    expect(await stores[0]!.runs()).toHaveLength(60);
    const connections = Number(
      cluster.psql("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'showrunner'", "db1"),
    );
    expect(connections).toBeLessThanOrEqual(2);
    expect(cluster.psql("SHOW lock_timeout", "db1", pooler.port)).toBe("0");
    await Promise.all(stores.map((store) => store.close()));
  });
});
