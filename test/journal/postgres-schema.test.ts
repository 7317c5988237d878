import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { callersClock } from "../../src/journal/postgres/clock.ts";
import { Database } from "../../src/journal/postgres/database.ts";
import { newestVersion, prepareSchema } from "../../src/journal/postgres/migrate.ts";
import { FIRST_VERSION, migrations } from "../../src/journal/postgres/schema.ts";
import { readSettings } from "../../src/journal/postgres/settings.ts";
import { openPostgresJournal } from "../../src/journal/postgres.ts";
import { hasPostgres, PostgresCluster } from "../support/postgres.ts";
import { account, planned } from "./samples.ts";

describe.runIf(hasPostgres("the schema of a PostgreSQL journal"))("The schema of a PostgreSQL journal", () => {
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
    expect(versions).toEqual(migrations.map((_, index) => String(FIRST_VERSION + index)));
  });

  test("is laid out wholly or not at all", async () => {
    const broken = [...migrations, { sql: "CREATE TABLE {s}.half (id integer); SELECT nonsense" }];
    const db = new Database(pg, readSettings(url, { schema: "torn" }));
    await expect(prepareSchema(db, broken)).rejects.toThrow(/nonsense/);
    expect(psql("SELECT count(*) FROM pg_namespace WHERE nspname = 'torn'")).toBe("0");
    await db.close();
  });

  test("of an older version is lifted, with what the journal holds", async () => {
    psql("CREATE SCHEMA old; CREATE TABLE old.journal_versions (version integer PRIMARY KEY, program text NOT NULL)");
    psql(
      `${migrations[0]!.sql.replaceAll("{s}", "old")} INSERT INTO old.journal_versions VALUES (${FIRST_VERSION}, '0.1.0')`,
    );
    psql("CREATE FUNCTION old.commit_runs(integer, integer, bigint, jsonb) RETURNS integer LANGUAGE sql AS 'SELECT 1'");
    psql(`INSERT INTO old.runs (run_id, pipeline, account, created_at, updated_at, last_seq, snapshot_seq, status, epoch,
      lease_expires_at, held_micros, settled_micros) VALUES ('r1', 'p', '${account}', 1, 1, 1, 0, 'running', 0, 0, 3, 4)`);
    psql(`INSERT INTO old.accounts VALUES ('${account}', 3, 4, 3, 1)`);
    const store = await openPostgresJournal(url, { schema: "old" });
    expect(await store.run("r1")).toMatchObject({ runId: "r1", tags: {}, resumeAt: null });
    expect(await store.accountLedger(account)).toEqual({ heldMicros: 3, settledMicros: 4, mark: 1 });
    expect(await store.spending(account, { tag: null, sinceAt: null })).toEqual({ heldMicros: 3, settledMicros: 4 });
    await store.createRun("r2", planned(), 1);
    await store.close();
  });

  test("of a newer version is refused untouched, with the Showrunner that reads it, also while it is open", async () => {
    const store = await openPostgresJournal(url, { schema: "newer" });
    const db = new Database(pg, readSettings(url, { schema: "newer" }));
    await prepareSchema(db, [...migrations, { sql: "ALTER TABLE {s}.runs ADD COLUMN more integer" }]);
    await db.close();
    await expect(store.createRun("r1", planned(), 1)).rejects.toMatchObject({ code: "JOURNAL_NEWER_VERSION" });
    await store.close();
    psql("UPDATE newer.journal_versions SET program = '99.1.0' WHERE version > 2");
    await expect(openPostgresJournal(url, { schema: "newer" })).rejects.toMatchObject({
      code: "JOURNAL_NEWER_VERSION",
      message: expect.stringMatching(
        `version ${newestVersion + 1}, which Showrunner 99\\.1\\.0 gave it.*use Showrunner 99\\.1\\.0`,
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
