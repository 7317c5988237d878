/**
 * Steps that do nothing on PostgreSQL, beside bare engines that write the same events to the same server: see
 * `bare-postgres.ts`. The server is Debian's, with its own durability.
 */
import { join } from "node:path";
import { openJournal } from "../../src/core/journal/open.ts";
import { lacksPostgres, PostgresCluster } from "../support/postgres.ts";
import { barePostgresMs } from "./bare-postgres.ts";
import { type Case, cases, showrunnerMs } from "./engine.ts";
import { cpuMs, interleaved, loadNote, type Report, roundsOf } from "./harness.ts";
import { serverCpuMs } from "./server-cpu.ts";
import { type Bar, ratios } from "./stats.ts";

const measured = cases.filter(({ name }) => ["1 run × 1,000, cap 100", "100 runs × 20, 20 at once"].includes(name));
const bar: Bar = { least: 0.5 };

/** What one contender took beside time, a sample each round. */
class Costs {
  readonly own: number[] = [];
  readonly server: number[] = [];
  readonly wal: number[] = [];
}

export async function measure(report: Report, { quick = false }: { readonly quick?: boolean } = {}): Promise<void> {
  if (lacksPostgres() !== null) return report.note("PostgreSQL is not installed: not measured");
  const cluster = await PostgresCluster.start();
  try {
    const url = await cluster.createDatabase();
    const sql = (text: string) => cluster.psql(text, "db1");
    const journal = await openJournal(url);
    let round = 0;
    for (const of of measured) {
      const steps = of.runs * of.steps;
      const timed = (costs: Costs, work: () => Promise<number>) => async () => {
        const from = sql("SELECT pg_current_wal_lsn()");
        const [own, server] = [cpuMs(), serverCpuMs(join(cluster.folder, "data"))];
        const ms = await work();
        costs.own.push(((cpuMs() - own) * 1_000) / steps);
        if (server !== null) {
          costs.server.push(((serverCpuMs(join(cluster.folder, "data"))! - server) * 1_000) / steps);
        }
        costs.wal.push(Number(sql(`SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '${from}')`)) / steps);
        return (steps * 1_000) / ms;
      };
      const ours = () => showrunnerMs(of, { journal, round: ++round });
      await ours();
      const planned = sql("SELECT body FROM showrunner.events WHERE seq = 1 ORDER BY run_key DESC LIMIT 1");
      const costs = { showrunner: new Costs(), prototype: new Costs(), grouped: new Costs() };
      const { rounds, warmUpRounds } = roundsOf(of.runs * of.steps, quick);
      const rates = await interleaved(
        rounds,
        {
          showrunner: timed(costs.showrunner, ours),
          prototype: timed(costs.prototype, () => barePostgresMs(of, url, { planned, grouped: false })),
          grouped: timed(costs.grouped, () => barePostgresMs(of, url, { planned, grouped: true })),
        },
        warmUpRounds,
      );
      const group = `PostgreSQL, ${of.name}`;
      const names = {
        showrunner: "Showrunner",
        prototype: "no envelope prototype, a transaction a commit",
        grouped: "no envelope loop with group commit",
      };
      for (const [name, rate] of Object.entries(rates)) {
        report.figure(group, names[name as keyof typeof names], "steps/s", rate);
      }
      report.figure(group, "Showrunner ÷ bare prototype", "×", ratios(rates.showrunner, rates.prototype), bar);
      report.figure(group, "Showrunner ÷ bare loop with group commit", "×", ratios(rates.showrunner, rates.grouped));
      report.figure(
        group,
        "Showrunner: runs",
        "runs/s",
        rates.showrunner.map((rate) => rate / of.steps),
      );
      for (const [name, { own, server, wal }] of Object.entries(costs)) {
        const who = names[name as keyof typeof names];
        report.figure(group, `${who}: processor time of the process`, "µs/step", own.slice(-rounds));
        if (server.length > 0) {
          report.figure(group, `${who}: processor time of the server`, "µs/step", server.slice(-rounds));
        }
        report.figure(group, `${who}: WAL`, "bytes/step", wal.slice(-rounds));
      }
      reportSize(report, group, of, sql);
    }
    const connections = sql("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'showrunner'");
    report.figure("PostgreSQL", "connections of the process, at most so far", "", Number(connections));
    await journal.close();
    report.note(`PostgreSQL ${sql("SHOW server_version")}, fsync and synchronous_commit on; ${loadNote()}`);
  } finally {
    await cluster.remove();
  }
}

/** What the runs of the case take on disk, tables and indexes. */
function reportSize(report: Report, group: string, of: Case, sql: (text: string) => string): void {
  const size =
    "SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relnamespace = 'showrunner'::regnamespace AND relkind = 'r'";
  const runs = Number(sql("SELECT count(*) FROM showrunner.runs"));
  report.figure(group, "Showrunner: on disk", "bytes/step", Number(sql(size)) / (runs * of.steps));
  sql(`TRUNCATE ${["runs", "events", "results", "snapshots"].map((name) => `showrunner.${name}`).join()}`);
}
