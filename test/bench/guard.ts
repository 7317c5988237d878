/**
 * Whether this tree is slower than a fixed one. The same work is done with the built packages of both, in turns, each in a process
 * of its own, so that both meet the same moods of the machine. Prints medians and their ratio, above 1 where this tree is faster;
 * warns and never fails, as a busy machine is no reason to turn a change down.
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Took } from "./guard-process.ts";
import { startServer } from "./local-service-process.ts";
import { formatNumber, median } from "./stats.ts";

/** Of 23 November 2026; its package has the names that `guard-process.ts` uses. */
const FIXED = "cff6942";
const root = join(import.meta.dirname, "../..");
/** Outside of this tree, whose checks would meet its settings. */
const old = join(tmpdir(), `showrunner-guard-${FIXED}`);
const ROUNDS = 5;
/** A loss of less is the machine's. */
const LOSS = 0.95;

interface Work {
  readonly name: string;
  readonly runs: number;
  readonly steps: number;
  readonly cap: number;
  readonly warm: number;
  readonly isPlan?: true;
  readonly isFirstSubmit?: true;
}

const works: readonly Work[] = [
  { name: "200 steps, one at a time", runs: 1, steps: 200, cap: 1, warm: 20 },
  { name: "1,000 steps, 16 at a time", runs: 1, steps: 1_000, cap: 16, warm: 6 },
  { name: "1,000 steps, 100 at a time", runs: 1, steps: 1_000, cap: 100, warm: 6 },
  { name: "100 runs of 20 steps", runs: 100, steps: 20, cap: 100, warm: 6 },
  { name: "planning 1,000 steps", runs: 1, steps: 1_000, cap: 1, warm: 20, isPlan: true },
  { name: "first submit of 10,000 jobs", runs: 1, steps: 10_000, cap: 200, warm: 0, isFirstSubmit: true },
];

/**
 * Journals lie in memory where the machine has such a folder: a sync takes 0.3 to 8 ms by what the disk did before, more than the
 * trees differ. What they write and how often they sync is compared by `strace -f -c`, not by a clock.
 */
const MEMORY = "/dev/shm";
const env = existsSync(MEMORY) ? { ...process.env, TMPDIR: MEMORY } : process.env;

const run = (cwd: string, ...args: readonly string[]) =>
  execFileSync(process.execPath, args, { cwd, env, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });

/** The fixed tree with its packages, built once. */
function prepare(): void {
  if (!existsSync(join(old, "dist/index.js"))) {
    rmSync(old, { recursive: true, force: true });
    mkdirSync(old, { recursive: true });
    const options = { cwd: root, stdio: "inherit" } as const;
    execFileSync("sh", ["-c", `git archive ${FIXED} | tar -x -C "${old}"`], options);
    execFileSync("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], { ...options, cwd: old });
    run(old, "scripts/build.ts");
  }
  run(root, "scripts/build.ts");
}

async function take(tree: string, { name: _, warm, isFirstSubmit, ...work }: Work): Promise<readonly Took[]> {
  const process = join(import.meta.dirname, "guard-process.ts");
  const service = isFirstSubmit ? await startServer({ maxRunning: 1_000 }) : undefined;
  const took = run(tree, process, tree, JSON.stringify({ ...work, service }), String(1 + warm));
  await service?.stop();
  return JSON.parse(took) as readonly Took[];
}

function startMs(tree: string, ...args: readonly string[]): number {
  const at = performance.now();
  run(tree, "bin/showrunner.js", ...args);
  return performance.now() - at;
}

function compare(name: string, then: readonly number[], now: readonly number[]): void {
  const [was, is] = [median(then), median(now)];
  const warning = was / is < LOSS ? "   SLOWER" : "";
  console.log(`${name}: ${formatNumber(was)} ms, now ${formatNumber(is)} ms: ${(was / is).toFixed(2)} ×${warning}`);
}

/** A part of a work's name; all of them without it. */
const wanted = process.argv[2] ?? "";
prepare();
console.log(`This tree beside ${FIXED}, medians of ${ROUNDS} rounds in turns:`);
for (const work of works.filter(({ name }) => name.includes(wanted))) {
  const samples = { before: [] as (readonly Took[])[], now: [] as (readonly Took[])[] };
  for (let round = 0; round < ROUNDS; round += 1) {
    // Whoever comes second meets what the first one left to the disk.
    const turns = [
      async () => samples.before.push(await take(old, work)),
      async () => samples.now.push(await take(root, work)),
    ];
    for (const turn of round % 2 === 0 ? turns : turns.toReversed()) await turn();
  }
  const of = (all: readonly (readonly Took[])[], pick: (took: readonly Took[]) => number) => all.map(pick);
  const picks = {
    "in a new process": ([first]: readonly Took[]) => first!.ms,
    warm: (took: readonly Took[]) => median(took.slice(took.length >> 1).map(({ ms }) => ms)),
    "warm, processor time": (took: readonly Took[]) => median(took.slice(took.length >> 1).map(({ cpuMs }) => cpuMs)),
  };
  const isShown = (how: string) => {
    if (work.isFirstSubmit) return how === "in a new process";
    // A plan waits for a wallet that nobody answers for.
    return work.isPlan !== true || how.endsWith("processor time");
  };
  const shown = Object.entries(picks).filter(([how]) => isShown(how));
  for (const [how, pick] of shown) compare(`${work.name}, ${how}`, of(samples.before, pick), of(samples.now, pick));
}
for (const args of [["--version"], ["runs"]]) {
  const [then, now]: [number[], number[]] = [[], []];
  for (let round = 0; round < 2 * ROUNDS; round += 1) {
    then.push(startMs(old, ...args));
    now.push(startMs(root, ...args));
  }
  compare(`showrunner ${args.join(" ")}`, then, now);
}
