import { afterAll, beforeAll, expect, test } from "vitest";
import { callersClock } from "../../../src/core/journal/postgres/leases.ts";
import { openPostgresJournal } from "../../../src/core/journal/postgres.ts";
import { describeNeeding } from "../../support/absence.ts";
import { lacksPostgres, PostgresCluster } from "../../support/postgres.ts";
import { account, planned } from "./samples.ts";
import { useAllOf } from "./use-all.ts";

/** Questions for all that there is. */
const listings = [
  /SELECT DISTINCT sha256/,
  /FROM "big"\.notices n JOIN "big"\.runs USING \(run_key\) ORDER BY/,
  /FROM "big"\.review_links ORDER BY created_at DESC/,
];

/** What 5,000 runs of 20 commits left. */
const fill = `
INSERT INTO big.runs (run_id, pipeline, account, created_at, updated_at, last_seq, snapshot_seq, status, epoch, lease_expires_at, held_micros, settled_micros, tags)
  SELECT 'run-' || i, 'p', '${account}', 10 + i, i, 21, 0, 'running', 1, 0, 0, 0, '{}' FROM generate_series(1, 5000) i;
INSERT INTO big.events SELECT run_key, i, i, 2, '{"type":"step.started","step":"a"}' FROM big.runs, generate_series(1, 20) i;
INSERT INTO big.snapshots SELECT run_key, 1, 1, '{}' FROM big.runs;
INSERT INTO big.wakes SELECT run_key, account, 1000000 + run_key, 'null' FROM big.runs;
INSERT INTO big.inbox (run_key, at, message, sending) SELECT run_key, 1, '{"type":"stop"}', gen_random_uuid() FROM big.runs;
INSERT INTO big.inbox (run_key, at, sending) SELECT run_key, 1, gen_random_uuid() FROM big.runs, generate_series(1, 5) i;
INSERT INTO big.ledger SELECT run_key, 's' || i, 1, account, 0, 5, -1 - i, 0 FROM big.runs, generate_series(1, 10) i;
INSERT INTO big.accounts SELECT 'key_' || i || '@x', 1, 1, 0, 0 FROM generate_series(10, 3000) i;
INSERT INTO big.spending SELECT '${account}', 'a=b', -i, 1, 1 FROM generate_series(1, 5000) i;
INSERT INTO big.jobs SELECT run_key, 's' || i, 1, 'j' || run_key || '.' || i FROM big.runs, generate_series(1, 10) i;
INSERT INTO big.deliveries (account, name, job_id, at, waiting) SELECT '${account}', 'd' || i, 'jj' || i, 1000000 + i, i % 2 = 0 FROM generate_series(1, 20000) i;
INSERT INTO big.media SELECT run_key, 'm' || i FROM big.runs, generate_series(1, 5) i;
INSERT INTO big.progress SELECT run_key, 's' || i, 0.5, 1 FROM big.runs, generate_series(1, 5) i;
INSERT INTO big.handles SELECT 'h' || i, '${account}', 'u', 'image/png', 4000000000000 + i FROM generate_series(1, 20000) i;
INSERT INTO big.results SELECT run_key, 's' || i, 'f' || i, 'm' || i, i FROM big.runs, generate_series(1, 10) i;
INSERT INTO big.notices SELECT run_key, 1, 'run.failed', '{}', 0, 1000000 + run_key FROM big.runs;
INSERT INTO big.run_tags SELECT 'c=d', run_key FROM big.runs;
INSERT INTO big.review_links SELECT 'l' || i, 'h', '{}', 10 + i, 4000000000000 + i, NULL, 0, 9 FROM generate_series(1, 5000) i;
INSERT INTO big.quotes SELECT 'q' || i, '${account}', '{}', 4000000000000 + i, NULL FROM generate_series(1, 5000) i;
ANALYZE`;

describeNeeding(lacksPostgres())("A large journal on PostgreSQL", () => {
  let cluster: PostgresCluster;
  beforeAll(async () => {
    const explain = { log_min_duration: 0, log_nested_statements: "on", log_analyze: "on", log_timing: "off" };
    cluster = await PostgresCluster.start({
      settings: {
        fsync: "off",
        log_line_prefix: "§%p ",
        session_preload_libraries: "auto_explain",
        ...Object.fromEntries(Object.entries(explain).map(([name, value]) => [`auto_explain.${name}`, value])),
      },
    });
  });
  afterAll(() => cluster.remove());

  test("is in no statement's way: each finds its rows by an index, and reads few that it does not need", async () => {
    const url = await cluster.createDatabase();
    const journal = await openPostgresJournal(url, { schema: "big", now: () => 1 }, callersClock());
    // Plans of functions are made now, while the tables are empty, and kept.
    for (let round = 0; round < 7; round += 1) await useAllOf(journal);
    cluster.psql(fill, "db1");
    const before = cluster.log().length;
    await useAllOf(journal);
    await journal.createRun("r", planned(), 1);
    const controller = new AbortController();
    const waiting = journal.waitForChange("r", 1, controller.signal).catch(() => {});
    await journal.send("r", { type: "stop" }, 1);
    controller.abort();
    await waiting;
    await journal.close();

    const entries = cluster
      .log()
      .slice(before)
      .split(/^(?=§)/m);
    const plans = entries.filter((entry) => entry.includes("  plan:\n") && entry.includes('"big".'));
    expect(new Set(plans.map((plan) => plan.split("\n")[1])).size).toBeGreaterThan(40);
    const wasteful = plans.filter((plan) => {
      const removed = [...plan.matchAll(/Rows Removed by [^:]*: (\d+)/g)].map(([, rows]) => Number(rows));
      const read = [...plan.matchAll(/\(actual rows=(\d+) loops=(\d+)\)/g)].map(
        ([, rows, loops]) => Number(rows) * Number(loops),
      );
      return (
        /Seq Scan on (?!pg_|journal_versions)/.test(plan) || Math.max(0, ...removed) > 100 || Math.max(0, ...read) > 100
      );
    });
    expect(wasteful.filter((plan) => !listings.some((listing) => listing.test(plan)))).toEqual([]);
    expect(wasteful.length).toBeGreaterThan(0);
  });
});
