/**
 * `npm run bench -- [part …] [--quick] [--json FILE]`: measures Showrunner on this machine, without the network. Every part
 * runs in a process of its own and can be run alone.
 */
import { parseArgs } from "node:util";
import { answer, inProcess, print, Report, type Results, writeResults } from "./harness.ts";

type Measure = (report: Report, options: { readonly quick: boolean }) => Promise<void> | void;

const parts: Readonly<Record<string, () => Promise<{ readonly measure: Measure }>>> = {
  engine: () => import("./engine.ts"),
  journal: () => import("./journal.ts"),
  postgres: () => import("./postgres.ts"),
  "round-trips": () => import("./round-trips.ts"),
  parked: () => import("./parked.ts"),
  wakes: () => import("./wakes.ts"),
  growth: () => import("./growth.ts"),
  makespan: () => import("./makespan.ts"),
  jobs: () => import("./jobs.ts"),
  startup: () => import("./startup.ts"),
  client: () => import("./client.ts"),
  planning: () => import("./planning.ts"),
  edges: () => import("./edges.ts"),
  pages: () => import("./pages.ts"),
  handler: () => import("./handler.ts"),
  review: () => import("./review.ts"),
  film: () => import("./film.ts"),
  "local-service": () => import("./local-service.ts"),
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    /** Fewer rounds, smaller sizes: to see where something stands. */
    quick: { type: "boolean", default: false },
    json: { type: "string" },
    child: { type: "boolean", default: false },
  },
});
const unknown = positionals.filter((name) => !Object.hasOwn(parts, name));
if (unknown.length > 0) throw new Error(`no part ${unknown.join(", ")}; there are ${Object.keys(parts).join(", ")}`);

if (values.child) {
  const report = new Report();
  await (await parts[positionals[0]!]!()).measure(report, { quick: values.quick });
  await answer({ figures: report.figures, curves: report.curves, notes: report.notes });
  process.disconnect();
} else {
  const measured: Record<string, Results> = {};
  for (const part of positionals.length > 0 ? positionals : Object.keys(parts)) {
    const startedAt = performance.now();
    const results = await inProcess<Results>(import.meta.filename, [
      "--child",
      part,
      ...(values.quick ? ["--quick"] : []),
    ]);
    print(results!);
    measured[part] = results!;
    console.log(`(${part}: ${((performance.now() - startedAt) / 1000).toFixed(0)} s)`);
  }
  if (values.json !== undefined) writeResults(values.json, measured);
}
