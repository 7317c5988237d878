import { setTimeout as delay } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { openPostgresJournal } from "../../../src/core/journal/postgres.ts";
import type { JournalStore, Lease } from "../../../src/core/journal/store.ts";
import { describeNeeding } from "../../support/absence.ts";
import { freePort } from "../../support/free-port.ts";
import { lacksPostgres, PostgresCluster } from "../../support/postgres.ts";
import { type Fate, tcpProxy } from "../../support/tcp-proxy.ts";
import { account, holder, planned, started, takeLease } from "./samples.ts";

/** The error that a call fails with; null: it did not. */
function failureOf(call: Promise<unknown>): Promise<Error | null> {
  return call.then(
    () => null,
    (thrown: unknown) => thrown as Error,
  );
}

describeNeeding(lacksPostgres())("When the database or the way to it fails", () => {
  let cluster: PostgresCluster;
  let url: string;
  const opened: JournalStore[] = [];
  beforeAll(async () => {
    cluster = await PostgresCluster.start();
    url = await cluster.createDatabase();
  });
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((store) => store.close()));
  });
  afterAll(() => cluster.remove());

  let schemas = 0;
  const newSchema = () => `s${++schemas}`;
  async function open(at: string, schema: string, more: Parameters<typeof openPostgresJournal>[1] = {}) {
    const store = await openPostgresJournal(at, { schema, pollIntervalMs: 100, ...more });
    opened.push(store);
    return store;
  }

  async function held(store: JournalStore, runId: string): Promise<Lease> {
    await store.createRun(runId, { ...planned(), nonce: runId }, 1);
    return takeLease(store, runId, { by: holder(runId), at: Date.now(), ttlMs: 600_000 });
  }

  /** Commits one event, or none, and one settled micro-dollar at a time; each exactly once. */
  async function work(store: JournalStore, lease: Lease, commits: number) {
    let seq = 2;
    for (let attempt = 1; attempt <= commits; attempt += 1) {
      const outcome = await store.commit({
        ...{ lease, afterSeq: seq, at: 1, status: "running" },
        events: attempt % 3 === 0 ? [] : [started(`s${attempt}`)],
        ledger: [{ type: "settle", step: "s", attempt, costMicros: 1 }],
      });
      if (!outcome.committed) throw new Error(`commit ${attempt}: ${outcome.reason}`);
      seq = outcome.lastSeq;
    }
  }

  async function expectWorked(store: JournalStore, runId: string, commits: number) {
    const steps = (await store.read(runId)).flatMap(({ event }) => (event.type === "step.started" ? [event.step] : []));
    const all = Array.from({ length: commits }, (_, index) => index + 1);
    expect(steps).toEqual(all.filter((attempt) => attempt % 3 !== 0).map((attempt) => `s${attempt}`));
    expect(await store.ledger(runId)).toEqual({ heldMicros: 0, settledMicros: commits });
  }

  test.each([
    ["never arrive", ["cut"]],
    ["are made, and their answers lost", ["answer lost"]],
    ["arrive long after they were repeated", ["late"]],
    ["meet all of that", ["cut", "answer lost", "late"]],
  ] as const)("commits that %s are made once", async (_, fates) => {
    let [writes, broken] = [0, 0];
    const fateOf = (piece: Buffer): Fate => {
      if (!/write_runs|send_message|remove_run/.test(piece.toString("latin1"))) return "pass";
      writes += 1;
      if (writes % 3 !== 0) return "pass";
      return fates[broken++ % fates.length]!;
    };
    const proxy = await tcpProxy(cluster.port, fateOf);
    const schema = newSchema();
    const direct = await open(url, schema);
    const store = await open(cluster.url("db1", proxy.port), schema, { poolSize: 3 });
    const runs = ["r1", "r2", "r3"];
    await Promise.all(runs.map(async (runId) => work(store, await held(store, runId), 30)));
    const sent: number[] = [];
    for (let message = 0; message < 9; message += 1) sent.push(await store.send("r1", { type: "stop" }, message));
    await delay(100);
    for (const runId of runs) await expectWorked(direct, runId, 30);
    expect((await direct.inbox("r1")).map(({ id, at }) => [id, at])).toEqual(sent.map((id, at) => [id, at]));
    // Each commit raised the mark once.
    expect(await direct.accountLedger(account)).toEqual({ heldMicros: 0, settledMicros: 90, mark: 90 });
    expect(broken).toBeGreaterThan(9);
    await proxy.close();
  });

  test.each(["answer lost", "late"] as const)(
    "a message that is read before its sending is repeated (%s) is delivered once [G36]",
    async (fate) => {
      let sendings = 0;
      let isRead = false;
      const fateOf = (piece: Buffer): Fate => {
        if (!piece.includes("send_message")) return "pass";
        sendings += 1;
        if (sendings === 1) return fate;
        return isRead ? "pass" : "cut";
      };
      const proxy = await tcpProxy(cluster.port, fateOf);
      const schema = newSchema();
      const direct = await open(url, schema);
      const store = await open(cluster.url("db1", proxy.port), schema);
      const lease = await held(direct, "r1");
      const sending = store.send("r1", { type: "stop" }, 7);
      await expect.poll(() => direct.inbox("r1"), { timeout: 20_000 }).toHaveLength(1);
      const [message] = await direct.inbox("r1");
      await direct.commit({ lease, afterSeq: 2, at: 8, status: "running", events: [], inbox: [message!.id] });
      isRead = true;
      expect(await sending).toBe(message!.id);
      expect(sendings).toBeGreaterThan(1);
      expect(await direct.inbox("r1")).toEqual([]);
      expect(
        await direct.commit({ lease, afterSeq: 2, at: 9, status: "running", events: [], park: true }),
      ).toMatchObject({ committed: true });
      await proxy.close();
    },
  );

  test("a server that is stopped as by a power cut, or restarted, in the middle of it loses and repeats nothing", async () => {
    const schema = newSchema();
    const stores = await Promise.all([1, 2, 3].map(() => open(url, schema)));
    const leases = await Promise.all(stores.map((store, index) => held(store, `r${index}`)));
    let working = true;
    const everything = Promise.all(stores.map((store, index) => work(store, leases[index]!, 400))).finally(() => {
      working = false;
    });
    const waiting = stores[0]!.waitForChange("r2", 200);
    let restarts = 0;
    for (const how of ["immediate", "fast"] as const) {
      await delay(100);
      if (!working) break;
      await cluster.stopServer(how);
      await delay(100);
      await cluster.startServer();
      restarts += 1;
    }
    await everything;
    await waiting;
    expect(restarts).toBeGreaterThan(0);
    for (const [index, store] of stores.entries()) await expectWorked(store, `r${index}`, 400);
  });

  test("connections that an administrator ends are made again", async () => {
    const schema = newSchema();
    const store = await open(url, schema);
    const lease = await held(store, "r1");
    let ended = 0;
    let working = true;
    const done = work(store, lease, 300).finally(() => {
      working = false;
    });
    while (working) {
      const sql =
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'showrunner' AND pid <> pg_backend_pid()";
      ended += Number(cluster.psql(sql, "db1"));
      await delay(150);
    }
    await done;
    await expectWorked(store, "r1", 300);
    expect(ended).toBeGreaterThan(0);
  });

  test("one that stays away fails the call in plain words, and the store works again once it is back", async () => {
    const proxy = await tcpProxy(cluster.port, () => "pass");
    const secret = `postgres://tester:s3cret@127.0.0.1:${proxy.port}/db1`;
    const store = await open(secret, newSchema(), { unreachableTimeoutMs: 300 });
    const lease = await held(store, "r1");
    proxy.sever();
    const failed = await failureOf(
      store.commit({ lease, afterSeq: 2, at: 1, status: "running", events: [started("a")] }),
    );
    expect(failed).toMatchObject({ code: "JOURNAL_UNREACHABLE" });
    expect(failed!.message).toContain(`postgres://tester@127.0.0.1:${proxy.port}/db1`);
    expect(`${failed!.stack} ${JSON.stringify(failed)} ${JSON.stringify(failed!.cause)}`).not.toContain("s3cret");
    proxy.restore();
    expect(await store.commit({ lease, afterSeq: 2, at: 1, status: "running", events: [started("a")] })).toMatchObject({
      committed: true,
      lastSeq: 3,
    });
    await store.close();
    opened.splice(opened.indexOf(store), 1);
    await proxy.close();
  });

  test("a row that somebody else keeps locked is waited for no longer than the lock time-out", async () => {
    const schema = newSchema();
    const store = await open(url, schema, { lockTimeoutMs: 200 });
    const lease = await held(store, "r1");
    const locker = cluster.psqlSession("db1");
    await locker.run(`BEGIN; SELECT run_id FROM ${schema}.runs FOR UPDATE`);
    const commit = () => store.commit({ lease, afterSeq: 2, at: 1, status: "running", events: [started("a")] });
    await expect(commit()).rejects.toMatchObject({ code: "JOURNAL_BUSY" });
    await locker.run("ROLLBACK");
    expect(await commit()).toMatchObject({ committed: true });
    await locker.end();
  });

  describe("a journal that cannot be opened", () => {
    test.each([
      [
        "of no database",
        (): string => cluster.url("nowhere"),
        { code: "JOURNAL_ACCESS", message: /no database .*createdb/s },
      ],
      [
        "without TLS",
        (): string => `${url}?sslmode=verify-full`,
        { code: "JOURNAL_ACCESS", message: /encrypted.*sslmode=/s },
      ],
      [
        "of a bad schema",
        (): string => `${url}?schema=Robert');--`,
        { code: "JOURNAL_ACCESS", message: /schema.*63 lower-case/s },
      ],
      ["of a bad pool", (): string => `${url}?pool=many`, { code: "JOURNAL_ACCESS", message: /pool.*1 to 1000/s }],
      [
        "that is no URL",
        (): string => "postgres://u:s3cret@host:port/db",
        { code: "JOURNAL_ACCESS", message: /not a valid postgres:\/\/ URL/ },
      ],
    ] as const)("%s says what to correct", async (_, where, { code, message }) => {
      const error = await failureOf(openPostgresJournal(where()));
      expect(error).toMatchObject({ code, message: expect.stringMatching(message) });
      expect(`${error!.stack}${JSON.stringify(error)}`).not.toContain("s3cret");
    });

    test("because nobody listens there says so within a few seconds", async () => {
      const port = await freePort();
      const opening = openPostgresJournal(cluster.url("db1", port), { unreachableTimeoutMs: 200 });
      await expect(opening).rejects.toMatchObject({
        code: "JOURNAL_UNREACHABLE",
        message: expect.stringContaining("ECONNREFUSED"),
      });
    });

    test("for a user who may not create its schema says what to grant", async () => {
      cluster.psql("CREATE ROLE guest LOGIN; REVOKE CREATE ON DATABASE db1 FROM PUBLIC", "db1");
      const opening = openPostgresJournal(`postgres://guest@127.0.0.1:${cluster.port}/db1`, { schema: newSchema() });
      await expect(opening).rejects.toMatchObject({
        code: "JOURNAL_ACCESS",
        message: expect.stringMatching(/permission denied.*GRANT CREATE/s),
      });
    });
  });
});

describeNeeding(lacksPostgres())("A database that demands a password and has few connections", () => {
  let cluster: PostgresCluster;
  let url: string;
  beforeAll(async () => {
    const settings = { fsync: "off", max_connections: 6, superuser_reserved_connections: 0, max_wal_senders: 0 };
    cluster = await PostgresCluster.start({ password: true, settings });
    url = await cluster.createDatabase();
  });
  afterAll(() => cluster.remove());

  test("refuses a wrong one in plain words, which do not repeat it", async () => {
    const error = await failureOf(openPostgresJournal(url.replace("pa55word", "gu3ssed")));
    expect(error).toMatchObject({
      code: "JOURNAL_ACCESS",
      message: expect.stringMatching(/refused the login.*PGPASSWORD/s),
    });
    expect(`${error!.stack}${JSON.stringify(error)}${JSON.stringify(error!.cause)}`).not.toMatch(/gu3ssed|pa55word/);
  });

  test("that has none left is waited for, and then named with what to raise", async () => {
    const first = await openPostgresJournal(url, { poolSize: 6, unreachableTimeoutMs: 300 });
    await Promise.all(Array.from({ length: 6 }, () => first.runs()));
    await expect(openPostgresJournal(url, { unreachableTimeoutMs: 300 })).rejects.toMatchObject({
      code: "JOURNAL_UNREACHABLE",
      message: expect.stringMatching(/too many.*max_connections/s),
    });
    await first.close();
    const second = await openPostgresJournal(url);
    expect(await second.runs()).toEqual([]);
    await second.close();
  });
});
