/**
 * A large run that is driven in slices: every step is a wake of its own, so that what a wake looks at beside what changed would
 * count as often as there are steps.
 */
import { join } from "node:path";
import { openJournal } from "../../src/core/journal/open.ts";
import { openShowrunner } from "../../src/index.ts";
import { lacksPostgres, PostgresCluster } from "../support/postgres.ts";
import { counting, wakeThrough } from "./chain-wakes.ts";
import { cpuMs, inFolder, loadNote, type Report } from "./harness.ts";
import { serverCpuMs } from "./server-cpu.ts";

const linear = { most: 1.05 };

export async function measure(report: Report, { quick = false }: { readonly quick?: boolean } = {}): Promise<void> {
  if (lacksPostgres() !== null) return report.note("PostgreSQL is not installed: not measured");
  const cluster = await PostgresCluster.start();
  const curves = { wall: [], own: [], server: [], read: [], written: [], calls: [] } as Record<string, Point[]>;
  try {
    const { store, traffic } = counting(await openJournal(await cluster.createDatabase()));
    const server = () => serverCpuMs(join(cluster.folder, "data")) ?? Number.NaN;
    await inFolder(async (folder) => {
      const service = { baseUrl: "http://127.0.0.1:9/v3", apiKey: "bench:none" };
      const show = await openShowrunner({ ...service, journal: store, mediaDir: folder });
      await wakeThrough(show, "warm-up", 200);
      for (const size of quick ? [250, 1_000] : [1_000, 3_000, 10_000]) {
        const before = { ...traffic, wall: performance.now(), own: cpuMs(), server: server() };
        await wakeThrough(show, `chain-${size}`, size);
        const add = (name: string, value: number) => curves[name]!.push({ size, value });
        add("wall", performance.now() - before.wall);
        add("own", cpuMs() - before.own);
        add("server", server() - before.server);
        add("read", traffic.readBytes - before.readBytes);
        add("written", traffic.writtenBytes - before.writtenBytes);
        add("calls", traffic.calls - before.calls);
      }
      await show.close();
    });
    await store.close();
  } finally {
    await cluster.remove();
  }
  const group = "Every step a wake, on PostgreSQL";
  report.curve(group, "all wakes", "ms", curves.wall!, linear);
  report.curve(group, "processor time of the process", "ms", curves.own!, linear);
  report.curve(group, "processor time of the server", "ms", curves.server!, linear);
  report.curve(group, "read from the journal", "bytes", curves.read!, linear);
  report.curve(group, "written to the journal", "bytes", curves.written!, linear);
  report.curve(group, "calls of the journal", "", curves.calls!, linear);
  report.note(loadNote());
}

interface Point {
  readonly size: number;
  readonly value: number;
}
