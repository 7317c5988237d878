import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { callersClock } from "../../../src/core/journal/postgres/clock.ts";
import { Database } from "../../../src/core/journal/postgres/database.ts";
import { newestVersion, prepareSchema } from "../../../src/core/journal/postgres/migrate.ts";
import { FIRST_VERSION, migrations } from "../../../src/core/journal/postgres/schema.ts";
import { readSettings } from "../../../src/core/journal/postgres/settings.ts";
import { openPostgresJournal } from "../../../src/core/journal/postgres.ts";
import type { JournalStore, Lease } from "../../../src/core/journal/store.ts";
import { describeNeeding } from "../../support/absence.ts";
import { lacksPostgres, PostgresCluster } from "../../support/postgres.ts";
import { account, holder, nobodyIsDead, planned, started, submitted } from "./samples.ts";

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
    expect(await store.deliver({ account, id: "d", jobId: "j", at: 1 })).toEqual({ outcome: "early", runIds: [] });
    await store.close();
  });

  describe("of an older version with data", () => {
    const v2 = (schema: string) => {
      psql(`CREATE SCHEMA ${schema}; CREATE TABLE ${schema}.journal_versions (version integer PRIMARY KEY, program text NOT NULL);
        ${migrations[0]!.sql.replaceAll("{s}", schema)} INSERT INTO ${schema}.journal_versions VALUES (${FIRST_VERSION}, '0.1.0')`);
    };

    /** The rows of the other schema's tables, in the columns that both have. */
    const copyRows = (from: string, to: string) => {
      const columns = `SELECT table_name, string_agg(quote_ident(column_name), ', ' ORDER BY ordinal_position)
        FROM information_schema.columns c WHERE table_schema = '${to}' AND table_name <> 'journal_versions'
          AND EXISTS (SELECT FROM information_schema.columns WHERE table_schema = '${from}'
            AND table_name = c.table_name AND column_name = c.column_name) GROUP BY 1`;
      for (const row of psql(columns).split("\n")) {
        const [table, names] = row.split("|");
        const what = table === "events" ? names!.replace("version", "2") : names;
        psql(`INSERT INTO ${to}.${table} (${names}) OVERRIDING SYSTEM VALUE SELECT ${what} FROM ${from}.${table}`);
      }
      for (const [table, id] of [
        ["runs", "run_key"],
        ["inbox", "id"],
      ] as const)
        psql(`SELECT setval(pg_get_serial_sequence('${to}.${table}', '${id}'), 1000)`);
    };

    /** A run with money, results and messages, at rest, and one that a worker is at. */
    async function fill(store: JournalStore): Promise<Lease> {
      const taking = { at: 1, ttlMs: 600_000, isDead: nobodyIsDead };
      const leases: Lease[] = [];
      for (const runId of ["parked", "driven"]) {
        await store.createRun(runId, { ...planned(), nonce: runId }, 1);
        const outcome = await store.takeLease(runId, holder(runId), taking);
        if (!outcome.acquired) throw new Error("the lease was not free");
        leases.push(outcome.lease);
        await store.commit({
          ...{ lease: outcome.lease, afterSeq: 2, at: 2, status: "running" },
          events: [started("a"), submitted("a", "job_1")],
          ledger: [
            { type: "hold", step: "a", attempt: 1, amountMicros: 70 },
            { type: "settle", step: "b", attempt: 1, costMicros: 30 },
          ],
          snapshot: { foldVersion: 1, seq: 3, state: '{"half":"way"}' },
          results: [{ step: "b", fingerprint: "f", model: "m", tookMs: 5 }],
          notices: [{ seq: 3, event: "run.failed", body: "{}" }],
        });
        await store.setProgress(runId, { step: "a", fraction: 0.5, estimatedCompletionAt: 9 });
      }
      const wake = { at: 5_000, memo: { polls: [1] } };
      await store.commit({ lease: leases[0]!, afterSeq: 4, at: 3, events: [], status: "running", park: true, wake });
      await store.send("parked", { type: "approve", step: "a", note: "Grüße" }, 4_000);
      await store.putHandle({ sha256: "aa", account, url: "u", contentType: "image/png", expiresAt: 9_000 });
      return leases[1]!;
    }

    async function allOf(store: JournalStore) {
      const ofRun = async (runId: string) => {
        const { lease, ...row } = (await store.run(runId))!;
        const events = (await store.read(runId)).map(({ version: _, ...event }) => event);
        const rest = [store.inbox(runId), store.ledger(runId), store.snapshot(runId), store.progress(runId)];
        return { row, heldBy: lease?.holder ?? null, events, rest: await Promise.all<unknown>(rest) };
      };
      return {
        runs: await Promise.all(["parked", "driven"].map(ofRun)),
        account: await store.accountLedger(account),
        results: await store.results({ account, model: "m" }),
        notices: await store.notices(),
        handle: await store.handle("aa", account),
        due: await store.dueRuns({ account, at: 4_000, limit: 9 }),
      };
    }

    const open = (schema: string) => openPostgresJournal(url, { schema, now: () => 1 }, callersClock());

    test("answers as before, and its runs go on: leases, holds, messages and memos are kept", async () => {
      const reference = await open("reference");
      const lease = await fill(reference);
      const before = await allOf(reference);
      v2("data");
      copyRows("reference", "data");
      await reference.close();
      const [store, other] = await Promise.all([open("data"), open("data")]);
      expect(await allOf(store)).toEqual(before);
      const versions = migrations.map((_, index) => String(FIRST_VERSION + index));
      expect(psql("SELECT version FROM data.journal_versions ORDER BY version").split("\n")).toEqual(versions);
      expect(await store.spending(account, { tag: null, sinceAt: 86_400_000 })).toEqual({
        heldMicros: 0,
        settledMicros: 0,
      });
      const settled = { type: "settle", step: "a", attempt: 1, costMicros: 60 } as const;
      const commit = { lease, afterSeq: 4, at: 6, status: "succeeded", events: [started("c")], ledger: [settled] };
      expect(await other.commit({ ...commit, park: true })).toMatchObject({ committed: true, lastSeq: 5 });
      expect(await store.accountLedger(account)).toMatchObject({ heldMicros: 70, settledMicros: 120 });
      const taken = await other.takeLease("parked", holder("x"), { at: 4_001, ttlMs: 9, isDead: nobodyIsDead });
      expect(taken).toMatchObject({ acquired: true, memo: { polls: [1] }, lease: { epoch: 2 } });
      const [message] = await other.inbox("parked");
      const read = { lease: { runId: "parked", epoch: 2, expiresAt: 0 }, afterSeq: 5, at: 7, status: "running" };
      expect(await store.commit({ ...read, events: [], inbox: [message!.id] })).toMatchObject({ committed: true });
      expect(await other.inbox("parked")).toEqual([]);
      expect(await other.send("parked", { type: "stop" }, 8)).toBeGreaterThan(message!.id);
      await Promise.all([store.close(), other.close()]);
    });

    test("stays as it is, and readable by the older program, when its lift fails in the middle", async () => {
      v2("uncut");
      psql(`INSERT INTO uncut.accounts VALUES ('${account}', 3, 4, 3, 1)`);
      const db = new Database(pg, readSettings(url, { schema: "uncut" }));
      await expect(prepareSchema(db, [...migrations, { sql: "SELECT nonsense" }])).rejects.toThrow(/nonsense/);
      expect(psql("SELECT version FROM uncut.journal_versions")).toBe("2");
      expect(psql("SELECT to_regclass('uncut.spending') IS NULL")).toBe("t");
      await prepareSchema(db);
      await db.close();
      expect(psql("SELECT held_micros FROM uncut.spending")).toBe("3");
    });
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
