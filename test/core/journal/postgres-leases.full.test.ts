import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openPostgresJournal } from "../../../src/core/journal/postgres.ts";
import type { JournalStore, Lease } from "../../../src/core/journal/store.ts";
import { describeNeeding } from "../../support/absence.ts";
import { lacksPostgres, PostgresCluster } from "../../support/postgres.ts";
import { account, holder, nobodyIsDead, planned, started, takeLease } from "./samples.ts";

const hour = 3_600_000;

describeNeeding(lacksPostgres())("Several machines on one PostgreSQL journal", () => {
  let cluster: PostgresCluster;
  let url: string;
  const stores: JournalStore[] = [];
  beforeAll(async () => {
    cluster = await PostgresCluster.start({ settings: { fsync: "off" } });
    url = await cluster.createDatabase();
  });
  afterAll(async () => {
    await Promise.all(stores.map((store) => store.close()));
    await cluster.remove();
  });

  let schemas = 0;
  async function machines(...offsetsMs: number[]) {
    const schema = `s${++schemas}`;
    const opened = await Promise.all(
      offsetsMs.map((offsetMs) => {
        return openPostgresJournal(url, { schema, now: () => Date.now() + offsetMs, pollIntervalMs: 100 });
      }),
    );
    stores.push(...opened);
    return opened;
  }

  async function take(store: JournalStore, runId: string, instance: string, at: number, ttlMs: number) {
    return store.takeLease(runId, holder(instance), { at, ttlMs, isDead: nobodyIsDead });
  }

  async function held(store: JournalStore, runId: string): Promise<Lease> {
    await store.createRun(runId, planned(), 1);
    return takeLease(store, runId, { by: holder(runId), at: Date.now(), ttlMs: 60_000 });
  }

  test("a lease ends by the database's clock, whatever the clocks of its processes show [G34]", async () => {
    const [behind, ahead] = await machines(-hour, hour);
    await behind!.createRun("r1", planned(), 1);
    const taken = await take(behind!, "r1", "a", Date.now() - hour, 60_000);
    expect(taken).toMatchObject({ acquired: true, lease: { epoch: 1 } });

    // By the other machine's clock the lease ended long ago; it is told how long it really lasts.
    const refused = await take(ahead!, "r1", "b", Date.now() + hour, 60_000);
    expect(refused).toMatchObject({ acquired: false, heldBy: holder("a") });
    const left = refused.acquired ? 0 : refused.expiresAt - (Date.now() + hour);
    expect(left).toBeGreaterThan(0);
    expect(left).toBeLessThanOrEqual(60_000);
    const shared = Date.now() + hour + ahead!.clockOffsetMs!();
    expect((await ahead!.run("r1"))!.lease!.expiresAt).toBeGreaterThan(shared);
    expect(await ahead!.removeRun("r1", Date.now() + hour)).toEqual({ removed: false, reason: "leased" });

    if (!taken.acquired) throw new Error("the lease was not free");
    expect(await behind!.renewLease(taken.lease, { at: Date.now() - hour, ttlMs: 1 })).toBe(true);
    await delay(20);
    expect(await take(ahead!, "r1", "b", 0, 60_000)).toMatchObject({ acquired: true, lease: { epoch: 2 } });
    expect(await behind!.renewLease(taken.lease, { at: Date.now() - hour, ttlMs: 60_000 })).toBe(false);
  });

  test("holds of all their runs together never exceed the cap, and use it to the last cent", async () => {
    const cap = 73;
    const opened = await machines(0, 0, 0, 0);
    const writers = await Promise.all(
      Array.from({ length: 8 }, async (_, index) => {
        const store = opened[index % opened.length]!;
        return { store, lease: await held(store, `r${index}`) };
      }),
    );
    const outcomes = await Promise.all(
      writers.map(async ({ store, lease }) => {
        const made: string[] = [];
        let seq = 2;
        for (let attempt = 1; attempt <= 25; attempt += 1) {
          const outcome = await store.commit({
            ...{ lease, afterSeq: seq, at: 1, status: "running", events: [started(`s${attempt}`)] },
            ledger: [{ type: "hold", step: "s", attempt, amountMicros: 1 }],
            guard: { caps: [{ tag: null, sinceAt: null, capMicros: cap }], wallet: null },
          });
          made.push(outcome.committed ? "held" : outcome.reason);
          if (outcome.committed) seq = outcome.lastSeq;
        }
        return made;
      }),
    );
    const all = outcomes.flat();
    expect(all.filter((made) => made === "held")).toHaveLength(cap);
    expect(all.filter((made) => made === "cap")).toHaveLength(8 * 25 - cap);
    expect(await opened[0]!.accountLedger(account)).toMatchObject({ heldMicros: cap, settledMicros: 0 });
    const runs = await Promise.all(writers.map(({ store, lease }) => store.ledger(lease.runId)));
    expect(runs.reduce((sum, { heldMicros }) => sum + heldMicros, 0)).toBe(cap);
  });

  test("the wallet's floor holds for all their runs together while charges come in", async () => {
    const opened = await machines(0, 0, 0);
    const writers = await Promise.all(
      opened.map(async (store, index) => ({ store, lease: await held(store, `r${index}`) })),
    );
    // The wallet has 100, of which 10 must stay; each balance is as old as the service may be slow.
    let wallet = 100;
    let spent = 0;
    await Promise.all(
      writers.map(async ({ store, lease }) => {
        for (let attempt = 1; attempt <= 40; attempt += 1) {
          const { mark } = await store.accountLedger(account);
          const balanceMicros = wallet;
          const common = { lease, afterSeq: 2, at: 1, events: [], status: "running" } as const;
          const entry = { step: "s", attempt } as const;
          const held = await store.commit({
            ...common,
            ledger: [{ type: "hold", ...entry, amountMicros: 3 }],
            guard: { caps: [], wallet: { balanceMicros, mark, floorMicros: 10 } },
          });
          if (!held.committed) continue;
          wallet -= 3;
          spent += 3;
          await store.commit({
            ...common,
            ledger: [{ type: attempt % 2 ? "charged" : "settle", ...entry, costMicros: 3 }],
          });
        }
      }),
    );
    expect(wallet).toBeGreaterThanOrEqual(10);
    expect(wallet).toBeLessThan(13);
    expect(spent).toBe(90);
  });

  test("runs that move between accounts, hold and are removed at the same time get into no deadlock and lose no money", async () => {
    const opened = await machines(0, 0, 0);
    const places = ["https://a.test/v3", "https://b.test/v3"];
    const keys = ["key_1", "key_2"];
    await Promise.all(
      Array.from({ length: 6 }, async (_, index) => {
        const store = opened[index % opened.length]!;
        const lease = await held(store, `r${index}`);
        let seq = 2;
        for (let round = 1; round <= 20; round += 1) {
          const event = {
            type: "run.account.moved",
            baseUrl: places[(round + index) % 2]!,
            keyId: keys[round % 2]!,
            jobId: null,
          } as const;
          const outcome = await store.commit({
            ...{ lease, afterSeq: seq, at: 1, status: "running", events: [event] },
            ledger: [
              { type: "hold", step: "s", attempt: round, amountMicros: 5 },
              { type: round % 3 === 0 ? "release" : "settle", step: "s", attempt: round - 1, costMicros: 2 },
            ],
          });
          if (!outcome.committed) throw new Error(outcome.reason);
          seq = outcome.lastSeq;
        }
        await store.commit({
          ...{ lease, afterSeq: seq, at: 1, status: "done", events: [], park: true },
          ledger: [{ type: "release", step: "s", attempt: 20 }],
        });
        if (index % 2 === 0) expect(await store.removeRun(`r${index}`, 1)).toEqual({ removed: true });
      }),
    );
    const runs = await Promise.all([1, 3, 5].map((index) => opened[0]!.ledger(`r${index}`)));
    const accounts = await Promise.all(
      keys.flatMap((key) => places.map((place) => opened[0]!.accountLedger(`${key}@${place}`))),
    );
    const settled = (totals: readonly { readonly settledMicros: number }[]) =>
      totals.reduce((sum, { settledMicros }) => sum + settledMicros, 0);
    expect(settled(accounts)).toBe(settled(runs));
    expect(accounts.every(({ heldMicros }) => heldMicros === 0)).toBe(true);
    // What each account knows as uncharged is what its entries say.
    const schema = `s${schemas}`;
    const differing = cluster.psql(
      `SELECT count(*) FROM ${schema}.accounts a WHERE uncharged_micros <> (SELECT coalesce(sum(held_micros + settled_micros), 0) FROM ${schema}.ledger l WHERE l.account = a.account AND charged IS NULL)`,
      "db1",
    );
    expect(differing).toBe("0");
  });
});
