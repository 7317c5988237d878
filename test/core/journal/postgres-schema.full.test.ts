import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Database } from "../../../src/core/journal/postgres/database.ts";
import { callersClock } from "../../../src/core/journal/postgres/leases.ts";
import { migrations, newestVersion, prepareSchema } from "../../../src/core/journal/postgres/migrate.ts";
import { readSettings } from "../../../src/core/journal/postgres/settings.ts";
import { openPostgresJournal } from "../../../src/core/journal/postgres.ts";
import { describeNeeding } from "../../support/absence.ts";
import { lacksPostgres, PostgresCluster } from "../../support/postgres.ts";
import { planned, started, takeLease } from "./samples.ts";

describeNeeding(lacksPostgres())("The schema of a PostgreSQL journal", () => {
  let cluster: PostgresCluster;
  let url: string;
  beforeAll(async () => {
    cluster = await PostgresCluster.start({ settings: { fsync: "off" } });
    url = await cluster.createDatabase();
  });
  afterAll(() => cluster.remove());
  const psql = (sql: string) => cluster.psql(sql, "db1");

  test("is laid out once when many open an empty database at the same moment", async () => {
    const opened = await Promise.all(
      Array.from({ length: 8 }, () => openPostgresJournal(url, { schema: "together", poolSize: 1 })),
    );
    await opened[0]!.createRun("r1", planned(), 1);
    for (const store of opened) expect(await store.read("r1")).toHaveLength(1);
    await Promise.all(opened.map((store) => store.close()));
    const versions = psql("SELECT version FROM together.journal_versions ORDER BY version").split("\n");
    expect(versions).toEqual(migrations.map((_, index) => String(index + 1)));
  });

  test("is laid out wholly or not at all", async () => {
    const broken = [...migrations, { sql: "CREATE TABLE {s}.half (id integer); SELECT nonsense" }];
    const db = new Database(pg, readSettings(url, { schema: "torn" }));
    await expect(prepareSchema(db, broken)).rejects.toThrow(/nonsense/);
    expect(psql("SELECT count(*) FROM pg_namespace WHERE nspname = 'torn'")).toBe("0");
    await db.close();
  });

  test("is lifted by a later version with all that it holds, wholly or not at all", async () => {
    const store = await openPostgresJournal(url, { schema: "lifted" });
    await store.createRun("r1", planned(), 1);
    const lease = await takeLease(store, "r1", { at: 1, ttlMs: 600_000 });
    const ledger = [{ type: "hold", step: "a", attempt: 1, amountMicros: 70 }] as const;
    const commit = { lease, afterSeq: 2, at: 2, status: "running", events: [started("a")], ledger };
    expect(await store.commit(commit)).toMatchObject({ committed: true });
    const events = await store.read("r1");
    const later = [...migrations, { sql: "ALTER TABLE {s}.runs ADD COLUMN more integer NOT NULL DEFAULT 7" }];
    const db = new Database(pg, readSettings(url, { schema: "lifted" }));
    await expect(prepareSchema(db, [...later, { sql: "SELECT nonsense" }])).rejects.toThrow(/nonsense/);
    const versions = () => psql("SELECT version FROM lifted.journal_versions ORDER BY version").split("\n").map(Number);
    expect(versions()).toEqual([newestVersion]);
    expect(await store.read("r1")).toEqual(events);
    await store.close();
    await prepareSchema(db, later);
    await db.close();
    expect(versions()).toEqual([newestVersion, newestVersion + 1]);
    expect(psql("SELECT run_id, held_micros, more FROM lifted.runs")).toBe("r1|70|7");
    expect(psql("SELECT held_micros FROM lifted.accounts")).toBe("70");
    expect(psql("SELECT count(*) FROM lifted.events")).toBe(String(events.length));
    // Functions are those of the later version, so that the older program is refused.
    await expect(openPostgresJournal(url, { schema: "lifted" })).rejects.toMatchObject({
      code: "JOURNAL_NEWER_VERSION",
    });
  });

  test("of a newer version is refused untouched, with the Showrunner that reads it, also while it is open", async () => {
    const store = await openPostgresJournal(url, { schema: "newer" });
    const db = new Database(pg, readSettings(url, { schema: "newer" }));
    await prepareSchema(db, [...migrations, { sql: "ALTER TABLE {s}.runs ADD COLUMN more integer" }]);
    await db.close();
    await expect(store.createRun("r1", planned(), 1)).rejects.toMatchObject({ code: "JOURNAL_NEWER_VERSION" });
    await store.close();
    psql(`UPDATE newer.journal_versions SET program = '99.1.0' WHERE version > ${newestVersion}`);
    await expect(openPostgresJournal(url, { schema: "newer" })).rejects.toMatchObject({
      code: "JOURNAL_NEWER_VERSION",
      message: expect.stringMatching(
        `version ${newestVersion + 1}, written by Showrunner 99\\.1\\.0.*use Showrunner 99\\.1\\.0`,
      ),
    });
  });

  test("with the tables of another program is left untouched", async () => {
    psql("CREATE SCHEMA theirs; CREATE TABLE theirs.runs (id integer)");
    await expect(openPostgresJournal(url, { schema: "theirs" })).rejects.toMatchObject({
      code: "JOURNAL_NOT_A_JOURNAL",
      message: expect.stringContaining("?schema=NAME"),
    });
    expect(psql("SELECT count(*) FROM pg_class WHERE relnamespace = 'theirs'::regnamespace")).toBe("1");
  });

  test("that an administrator made empty is used by one who may create no other", async () => {
    psql(
      "CREATE ROLE worker LOGIN; CREATE SCHEMA given AUTHORIZATION worker; REVOKE CREATE ON DATABASE db1 FROM PUBLIC",
    );
    const store = await openPostgresJournal(`postgres://worker@127.0.0.1:${cluster.port}/db1?schema=given`);
    await store.createRun("r1", planned(), 1);
    await store.close();
    expect(psql("SELECT count(*) FROM given.runs")).toBe("1");
  });

  test("of that name in the URL, in the options, or `showrunner`, holds the journal", async () => {
    for (const [at, schema, found] of [
      [`${url}?schema=of_url`, undefined, "of_url"],
      [`${url}?schema=of_url`, "of_option", "of_option"],
      [url, undefined, "showrunner"],
    ] as const) {
      const store = await openPostgresJournal(at, { schema }, callersClock());
      await store.createRun("r1", planned(), 1);
      await store.close();
      expect(psql(`SELECT count(*) FROM ${found}.runs`)).toBe("1");
    }
  });
});
