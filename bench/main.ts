/**
 * `npm run bench -- [part …] [--json FILE]`: measures Showrunner on this machine, without the network. Every part
 * runs in a process of its own and can be run alone.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { parseArgs } from "node:util";
import { answer, inProcess, machine, print, Report, type Results } from "./harness.ts";

type Measure = (report: Report) => Promise<void> | void;

const parts: Readonly<Record<string, () => Promise<{ readonly measure: Measure }>>> = {
  engine: () => import("./engine.ts"),
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { json: { type: "string" }, child: { type: "boolean", default: false } },
});
const unknown = positionals.filter((name) => !Object.hasOwn(parts, name));
if (unknown.length > 0) throw new Error(`no part ${unknown.join(", ")}; there are ${Object.keys(parts).join(", ")}`);

if (values.child) {
  const report = new Report();
  await (await parts[positionals[0]!]!()).measure(report);
  await answer({ figures: report.figures, curves: report.curves, notes: report.notes });
  process.disconnect();
} else {
  const measured: Record<string, Results> = {};
  for (const part of positionals.length > 0 ? positionals : Object.keys(parts)) {
    const startedAt = performance.now();
    measured[part] = await inProcess<Results>(import.meta.filename, ["--child", part]);
    print(measured[part]);
    console.log(`(${part}: ${((performance.now() - startedAt) / 1000).toFixed(0)} s)`);
  }
  if (values.json !== undefined) write(values.json, measured);
}

/** Parts that were not measured this time stay as they are. */
function write(file: string, measured: Readonly<Record<string, Results>>): void {
  mkdirSync(dirname(file), { recursive: true });
  let before: { readonly parts?: object } = {};
  try {
    before = JSON.parse(readFileSync(file, "utf8"));
  } catch {
    // The first time.
  }
  const commit = execFileSync("git", ["rev-parse", "--short", "HEAD"], { encoding: "utf8" }).trim();
  const on = { measuredAt: new Date().toISOString(), commit, machine: machine() };
  const stamped = Object.entries(measured).map(([part, results]) => [part, { ...on, ...results }]);
  const all = { parts: { ...before.parts, ...Object.fromEntries(stamped) } };
  writeFileSync(file, `${JSON.stringify(all, null, 1)}\n`);
}
