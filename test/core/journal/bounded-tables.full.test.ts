import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { MOST_DELIVERIES } from "../../../src/core/journal/deliveries.ts";
import { openPostgresJournal } from "../../../src/core/journal/postgres.ts";
import { openSqliteJournal } from "../../../src/core/journal/sqlite.ts";
import type { JournalStore } from "../../../src/core/journal/store.ts";
import { describeNeeding } from "../../support/absence.ts";
import { lacksPostgres, PostgresCluster } from "../../support/postgres.ts";
import { account, newPath, planned, takeLease } from "./samples.ts";

/** An open journal, and its tables beside it. */
interface Opened {
  readonly store: JournalStore;
  /** The first column of the first row, as text; empty without one. */
  ask(sql: string): string;
  /** The next delivery has this number. */
  numberDeliveries(next: number): void;
}

function boundedTables(open: () => Promise<Opened>): void {
  test("what a run has read of its inbox leaves no rows once it is over", async () => {
    const { store, ask } = await open();
    await store.createRun("r1", planned(), 1);
    const lease = await takeLease(store, "r1", { at: 1, ttlMs: 600_000 });
    const read = await store.send("r1", { type: "stop" }, 1);
    const unread = await store.send("r1", { type: "stop" }, 2);
    const now = { lease, afterSeq: 2, at: 3, events: [] };
    await store.commit({ ...now, status: "running", inbox: [read] });
    expect((await store.inbox("r1")).map(({ id }) => id)).toEqual([unread]);
    await store.commit({ ...now, status: "succeeded" });
    expect(ask("SELECT count(*) FROM inbox")).toBe("1");
    await store.commit({ ...now, status: "succeeded", inbox: [unread] });
    expect(ask("SELECT count(*) FROM inbox")).toBe("0");
    await store.close();
  });

  test(`of webhooks of unknown jobs, the newest ${MOST_DELIVERIES.toLocaleString("en")} are kept`, async () => {
    const { store, ask, numberDeliveries } = await open();
    const deliver = (id: string) => store.deliver({ account, id, jobId: `job of ${id}`, at: 1 });
    const names = () => ask("SELECT min(name) || ' to ' || max(name) FROM deliveries");
    await deliver("d1");
    await deliver("d2");
    numberDeliveries(MOST_DELIVERIES);
    await deliver("d3");
    expect(names()).toBe("d1 to d3");
    await deliver("d4");
    expect(names()).toBe("d2 to d4");
    await store.close();
  });
}

describe("In a journal file", () => {
  boundedTables(async () => {
    const path = newPath();
    const store = await openSqliteJournal(path);
    const beside = new DatabaseSync(path);
    return {
      store,
      ask: (sql) => String(Object.values(beside.prepare(sql).get() ?? {})[0] ?? ""),
      numberDeliveries: (next) => beside.exec(`UPDATE sqlite_sequence SET seq = ${next - 1} WHERE name = 'deliveries'`),
    };
  });
});

describeNeeding(lacksPostgres())("On PostgreSQL", () => {
  let cluster: PostgresCluster;
  let schemas = 0;
  beforeAll(async () => {
    cluster = await PostgresCluster.start({ settings: { fsync: "off" } });
  }, 120_000);
  afterAll(() => cluster.remove(), 120_000);

  boundedTables(async () => {
    const schema = `s${++schemas}`;
    const store = await openPostgresJournal(cluster.url("postgres"), { schema });
    const ask = (sql: string) => cluster.psql(`SET search_path = ${schema}; ${sql}`, "postgres").replace(/^SET\n/, "");
    return {
      store,
      ask,
      numberDeliveries: (next) =>
        void ask(`SELECT setval(pg_get_serial_sequence('${schema}.deliveries', 'id'), ${next}, false)`),
    };
  });
});
