/**
 * Steps that do nothing, durable one by one, beside what node:sqlite itself does: a row and a commit for each step, and
 * the same rows in as many commits as Showrunner made.
 */
import { join } from "node:path";
import { DatabaseSync, StatementSync } from "node:sqlite";
import { openShowrunner } from "../../src/core/engine/showrunner/embedded.ts";
import type { JournalStore } from "../../src/core/journal/store.ts";
import { executed, lastValue, layeredGraph, layeredPipeline } from "./graph.ts";
import { cpuMs, inFolder, interleaved, pooled, type Report, roundsOf } from "./harness.ts";
import { type Bar, ratios } from "./stats.ts";

export interface Case {
  readonly name: string;
  readonly runs: number;
  readonly steps: number;
  readonly width: number;
  /** Steps of a run at once. */
  readonly cap: number;
  /** Runs at once. */
  readonly atOnce: number;
}

const one = { runs: 1, atOnce: 1, width: 100 } as const;
export const cases: readonly Case[] = [
  { ...one, name: "1 run × 1,000, cap 100", steps: 1_000, cap: 100 },
  { ...one, name: "1 run × 1,000, cap 16", steps: 1_000, cap: 16 },
  { ...one, name: "1 run × 200, cap 1", steps: 200, cap: 1 },
  { name: "100 runs × 20, 20 at once", runs: 100, atOnce: 20, steps: 20, width: 100, cap: 100 },
  { name: "100 runs × 20 in layers of 5, 20 at once", runs: 100, atOnce: 20, steps: 20, width: 5, cap: 100 },
];

/** What the issue of this bench demands of Showrunner's steps per second over those of a bare loop. */
const bars: Readonly<Record<string, { readonly perStep?: Bar; readonly sameCommits?: Bar }>> = {
  "1 run × 1,000, cap 100": { perStep: { least: 2 } },
  "1 run × 200, cap 1": { sameCommits: { least: 0.7 } },
};

/**
 * Milliseconds that Showrunner takes, from a new journal on, or in one that is open, where `round` tells the runs apart.
 * Throws where a step ran not at all, twice, or wrongly.
 */
export function showrunnerMs(
  { runs, steps, width, cap, atOnce }: Case,
  { journal, round = 0 }: { readonly journal?: JournalStore; readonly round?: number } = {},
): Promise<number> {
  return inFolder(async (folder) => {
    const showrunner = await openShowrunner({
      journal: journal ?? join(folder, "journal.db"),
      mediaDir: join(folder, "media"),
      baseUrl: "http://127.0.0.1:9/v3",
      apiKey: "bench:none",
    });
    const expected = lastValue(layeredGraph(steps, width));
    const before = executed.steps;
    const startedAt = performance.now();
    await pooled(runs, atOnce, async (index) => {
      const options = {
        id: `run-${round}-${index}`,
        concurrency: { total: cap, task: cap },
        outDir: join(folder, "out", String(index)),
      };
      const handle = await showrunner.run(layeredPipeline, { steps, width }, options);
      const { status, outputs } = await handle.result();
      if (status !== "succeeded" || outputs.last !== expected) throw new Error(`${handle.id} ${status}`);
    });
    const ms = performance.now() - startedAt;
    await showrunner.close();
    if (executed.steps - before !== runs * steps) throw new Error(`${executed.steps - before} steps ran`);
    return ms;
  });
}

/** Milliseconds for `rows` rows of an event's size in `commits` synced commits of node:sqlite. */
export function bareMs(rows: number, commits: number): Promise<number> {
  return inFolder((folder) => {
    const db = new DatabaseSync(join(folder, "bare.db"));
    db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
    db.exec(
      "CREATE TABLE events (run INTEGER, seq INTEGER, at INTEGER, body TEXT, PRIMARY KEY (run, seq)) WITHOUT ROWID",
    );
    const [begin, commit] = [db.prepare("BEGIN IMMEDIATE"), db.prepare("COMMIT")];
    const insert = db.prepare("INSERT INTO events VALUES (1, ?, ?, ?)");
    const startedAt = performance.now();
    let row = 0;
    for (let done = 1; done <= commits; done += 1) {
      begin.run();
      for (; row < Math.round((rows * done) / commits); row += 1) {
        const event = { type: "task.completed", step: `step-${row}`, attempt: 1, value: row, files: [], at: row };
        insert.run(row, Date.now(), JSON.stringify(event));
      }
      commit.run();
    }
    const ms = performance.now() - startedAt;
    db.close();
    return ms;
  });
}

/** Commits of this process through prepared statements or `exec`. */
export function countCommits(): () => number {
  let commits = 0;
  const isCommit = (sql: string) => /^\s*(COMMIT|END)\b/i.test(sql);
  const { run } = StatementSync.prototype;
  StatementSync.prototype.run = function (this: StatementSync, ...values: Parameters<typeof run>) {
    if (isCommit(this.sourceSQL)) commits += 1;
    return run.apply(this, values);
  } as typeof run;
  const { exec } = DatabaseSync.prototype;
  DatabaseSync.prototype.exec = function (this: DatabaseSync, sql: string) {
    if (isCommit(sql)) commits += 1;
    return exec.call(this, sql);
  };
  return () => commits;
}

export async function measure(report: Report, { quick = false }: { readonly quick?: boolean } = {}) {
  const counted = countCommits();
  for (const each of cases) {
    const total = each.runs * each.steps;
    const { rounds, warmUpRounds } = roundsOf(total, quick);
    const commits: number[] = [];
    const cpu: number[] = [];
    const rate = (ms: number) => (total * 1000) / ms;
    const contenders = {
      showrunner: async () => {
        const [before, cpuBefore] = [counted(), cpuMs()];
        const ms = await showrunnerMs(each);
        commits.push(counted() - before);
        cpu.push(((cpuMs() - cpuBefore) * 1000) / total);
        return rate(ms);
      },
      perStep: async () => rate(await bareMs(total, total)),
      sameCommits: async () => rate(await bareMs(total, commits.at(-1)!)),
    };
    const { showrunner, perStep, sameCommits } = await interleaved(rounds, contenders, warmUpRounds);
    const bar = bars[each.name] ?? {};
    report.figure(each.name, "Showrunner", "steps/s", showrunner);
    report.figure(each.name, "no envelope node:sqlite, one commit a step", "steps/s", perStep);
    report.figure(each.name, "no envelope node:sqlite, as many commits as Showrunner", "steps/s", sameCommits);
    report.figure(each.name, "Showrunner ÷ bare, one commit a step", "×", ratios(showrunner, perStep), bar.perStep);
    report.figure(
      each.name,
      "Showrunner ÷ bare, as many commits",
      "×",
      ratios(showrunner, sameCommits),
      bar.sameCommits,
    );
    report.figure(each.name, "processor time a step", "µs", cpu.slice(warmUpRounds));
    report.figure(
      each.name,
      "commits a step",
      "",
      commits.slice(warmUpRounds).map((count) => count / total),
    );
  }
}
