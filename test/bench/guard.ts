/**
 * A minute's look at whether something got slower: key ratios to the bare loop of the same run, so that they hold on any
 * machine, beside those of `test/bench/baseline.json`. Warns and never fails: a busy machine is no reason to turn a change down.
 * `--update` stores what was measured.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { bareMs, cases, countCommits, showrunnerMs } from "./engine.ts";
import { cpuMs, interleaved } from "./harness.ts";
import { formatNumber, losses, median, ratios } from "./stats.ts";

const file = join(import.meta.dirname, "baseline.json");
const LIMIT_MS = 50_000;

/**
 * All the higher the better. Speed depends on the disk as well, as Showrunner syncs less often than the bare loop; processor
 * time and commits do not.
 */
async function measureRatios(limitMs: number): Promise<Record<string, number>> {
  const counted = countCommits();
  const deadline = performance.now() + limitMs;
  const found: Record<string, number> = {};
  for (const each of cases) {
    if (performance.now() > deadline) break;
    const rows = each.runs * each.steps;
    const cpu = { bare: [] as number[], ours: [] as number[] };
    const stepsACommit: number[] = [];
    const timed = async (of: keyof typeof cpu, work: () => Promise<number>) => {
      const [cpuBefore, commits] = [cpuMs(), counted()];
      const ms = await work();
      cpu[of].push(cpuMs() - cpuBefore);
      if (of === "ours") stepsACommit.push(rows / (counted() - commits));
      return ms;
    };
    const { bare, ours } = await interleaved(3, {
      bare: () => timed("bare", () => bareMs(rows, rows)),
      ours: () => timed("ours", () => showrunnerMs(each)),
    });
    found[`${each.name}: speed ÷ bare`] = median(ratios(bare, ours));
    // The first round warms up.
    found[`${each.name}: bare processor time ÷ Showrunner's`] = median(ratios(cpu.bare, cpu.ours).slice(1));
    found[`${each.name}: steps a commit`] = median(stepsACommit.slice(1));
  }
  return found;
}

const isUpdate = process.argv.includes("--update");
const now = await measureRatios(isUpdate ? Number.POSITIVE_INFINITY : LIMIT_MS);
if (isUpdate) writeFileSync(file, `${JSON.stringify(now, null, 2)}\n`);
const baseline = JSON.parse(readFileSync(file, "utf8")) as Readonly<Record<string, number>>;
console.log("Beside a bare loop with one commit a step (test/bench/baseline.json in brackets):");
for (const [name, ratio] of Object.entries(now)) {
  console.log(`  ${name}: ${formatNumber(ratio)} (${formatNumber(baseline[name] ?? Number.NaN)})`);
}
// A case that there was no time for is no loss.
const measured = Object.fromEntries(Object.entries(baseline).filter(([name]) => now[name] !== undefined));
for (const { name, was, is, share } of losses(measured, now)) {
  console.log(
    `WARNING: ${name} fell by ${Math.round(share * 100)} %: ${formatNumber(is)} instead of ${formatNumber(was)}. ` +
      `Run it again on an idle machine; if it stays, find the change, or store the new value: node bench/guard.ts --update`,
  );
}
