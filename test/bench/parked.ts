/**
 * Runs that wait, and a worker that has nothing to do but wait for them: what it holds in memory, and what it asks of the
 * database meanwhile. Each run waits for a decision and has a timer an hour away. The worker has given each of them its slice.
 */
import { join } from "node:path";
import { lacksPostgres, PostgresCluster } from "../support/postgres.ts";
import { inProcess, loadNote, type Report } from "./harness.ts";
import type { Parked } from "./parked-worker.ts";

const file = join(import.meta.dirname, "parked-worker.ts");
/** As the command `showrunner worker` starts itself. */
const execArgv = ["--max-semi-space-size=16"];

export async function measure(report: Report, { quick = false }: { readonly quick?: boolean } = {}): Promise<void> {
  if (lacksPostgres() !== null) return report.note("PostgreSQL is not installed: not measured");
  const runs = quick ? 1_000 : 10_000;
  for (const engine of ["timers", "pg-boss"] as const) {
    const cluster = await PostgresCluster.start();
    try {
      const url = await cluster.createDatabase();
      const args = [url, join(cluster.folder, "data"), engine, String(runs), quick ? "10" : "20"];
      const found = (await inProcess<Parked>(file, args, { execArgv }))!;
      const group = `${runs.toLocaleString("en")} parked runs, engine ${engine}`;
      report.figure(group, "worker: resident memory", "MB", found.rssMb, { most: 300 });
      report.figure(group, "worker: resident memory at most, while they were parked", "MB", found.mostRssMb, {
        most: 300,
      });
      report.figure(group, "worker: processor time while idle", "% of a core", found.ownPercent);
      if (found.serverPercent !== null) {
        report.figure(group, "database: processor time while idle", "% of a core", found.serverPercent, { most: 5 });
      }
      report.figure(group, "database: transactions while idle", "a second", found.transactionsPerSecond);
      report.figure(group, "database: connections", "", found.connections);
      report.figure(group, "database: a parked run on disk", "bytes", found.bytesPerRun);
      report.figure(group, "slices until all were parked", "slices/s", found.slicesPerSecond);
    } finally {
      await cluster.remove();
    }
  }
  report.note(loadNote());
}
