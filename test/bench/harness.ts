/** What every bench is made of: rounds, figures and curves, their tables, and folders that go away. */
import { execFileSync, fork } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { cpus, loadavg, release, tmpdir, totalmem } from "node:os";
import { dirname, join } from "node:path";
import { type Bar, type Curve, type Figure, formatBar, formatNumber, growthExponent, median, meets } from "./stats.ts";

export interface Results {
  readonly figures: readonly Figure[];
  readonly curves: readonly Curve[];
  /** Versions and settings that the figures hold for. */
  readonly notes: readonly string[];
}

export interface ResultFile {
  readonly parts: Readonly<Record<string, Results & ReturnType<typeof stamp>>>;
}

/** What a part of the bench found so far. */
export class Report implements Results {
  readonly figures: Figure[] = [];
  readonly curves: Curve[] = [];
  readonly notes: string[] = [];

  figure(group: string, name: string, unit: string, samples: number | readonly number[], bar?: Bar): void {
    const all = typeof samples === "number" ? [samples] : samples;
    this.figures.push({ group, name, unit, samples: all, ...(bar !== undefined && { bar }) });
  }

  curve(group: string, name: string, unit: string, points: Curve["points"], bar?: Bar): void {
    this.curves.push({ group, name, unit, points, ...(bar !== undefined && { bar }) });
  }

  note(text: string): void {
    this.notes.push(text);
  }
}

/** Steps before those that count, where engines are compared: what runs for long is compiled by then. The same for all. */
const WARM_UP_STEPS = 20_000;
/** A case of few steps takes milliseconds, and is measured more often. */
const [LEAST_ROUNDS, LEAST_STEPS] = [5, 5_000];

/** How often a case of so many steps is measured, and before that to warm up. */
export function roundsOf(steps: number, quick = false): { readonly rounds: number; readonly warmUpRounds: number } {
  if (quick) return { rounds: 2, warmUpRounds: 1 };
  const rounds = Math.max(LEAST_ROUNDS, Math.ceil(LEAST_STEPS / steps));
  return { rounds, warmUpRounds: Math.ceil(WARM_UP_STEPS / steps) };
}

/** Every contender once a round, so that all of them meet the same moods of the machine; the first ones warm up. */
export async function interleaved<N extends string>(
  rounds: number,
  contenders: Readonly<Record<N, () => Promise<number> | number>>,
  warmUpRounds = 1,
): Promise<Record<N, number[]>> {
  const names = Object.keys(contenders) as N[];
  const samples = Object.fromEntries(names.map((name) => [name, [] as number[]])) as Record<N, number[]>;
  for (let round = -warmUpRounds; round < rounds; round += 1) {
    for (const name of names) {
      const value = await contenders[name]();
      if (round >= 0) samples[name].push(value);
    }
  }
  return samples;
}

/** `work` for each of `count` numbers, `limit` at once. */
export async function pooled(count: number, limit: number, work: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: Math.min(limit, count) }, worker));
}

/** A folder of its own for `work`, on the disk of the system's temporary files. */
export async function inFolder<T>(work: (folder: string) => Promise<T> | T): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), "showrunner-bench-"));
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

/**
 * What `file` sends back in a process of its own, so that neither heap nor compiled code is inherited. Null: it was not
 * done within `limitMs`.
 */
export function inProcess<T>(
  file: string,
  args: readonly string[],
  { execArgv = [], limitMs }: { readonly execArgv?: readonly string[]; readonly limitMs?: number } = {},
): Promise<T | null> {
  return new Promise((resolve, reject) => {
    const child = fork(file, args, { execArgv: [...execArgv], ...(limitMs !== undefined && { timeout: limitMs }) });
    let sent: { readonly value: T } | null = null;
    child.once("message", (value) => {
      sent = { value: value as T };
    });
    child.once("exit", (code, signal) => {
      if (sent !== null || signal === "SIGTERM") resolve(sent?.value ?? null);
      else reject(new Error(`${file} ${args.join(" ")} ended with ${signal ?? code} and no answer`));
    });
  });
}

/** Answers {@link inProcess}. */
export function answer(value: unknown): Promise<void> {
  return new Promise((resolve) => process.send!(value, () => resolve()));
}

/** How busy the machine was, with what is measured. */
export function loadNote(): string {
  return `load average of the last five minutes ${formatNumber(loadavg()[1]!)}, on ${cpus().length} cores`;
}

/** Processor time of this process so far, milliseconds. */
export function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** When, what and where was measured. */
function stamp() {
  const commit = execFileSync("git", ["rev-parse", "--short", "HEAD"], { encoding: "utf8" }).trim();
  const [cpu] = cpus();
  const machine = [
    `${cpus().length} × ${cpu?.model.trim() ?? "unknown"}`,
    `${Math.round(totalmem() / 2 ** 30)} GB`,
    `${process.platform} ${release()}`,
    `Node.js ${process.version}`,
  ];
  return { measuredAt: new Date().toISOString(), commit, machine: machine.join(", ") };
}

/** Parts that were not measured this time stay in the file as they are. */
export function writeResults(file: string, measured: Readonly<Record<string, Results>>): void {
  mkdirSync(dirname(file), { recursive: true });
  const before = existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as ResultFile).parts : {};
  const now = Object.entries(measured).map(([part, results]) => [part, { ...stamp(), ...results }]);
  const short = (_key: string, value: unknown) => (typeof value === "number" ? Number(value.toPrecision(4)) : value);
  writeFileSync(file, `${JSON.stringify({ parts: { ...before, ...Object.fromEntries(now) } }, short, 1)}\n`);
}

export function print(results: Results): void {
  const groups = new Set([...results.figures, ...results.curves].map((one) => one.group));
  for (const group of groups) {
    console.log(`\n${group}`);
    const figures = results.figures.filter((one) => one.group === group);
    const curves = results.curves.filter((one) => one.group === group);
    if (figures.length > 0) table([["", "median", "min", "max", "unit", "bar", ""], ...figures.map(figureCells)]);
    if (curves.length > 0) {
      const sizes = [...new Set(curves.flatMap(({ points }) => points.map(({ size }) => size)))].sort((a, b) => a - b);
      const head = ["", ...sizes.map((size) => size.toLocaleString("en")), "unit", "exponent", "bar", ""];
      table([head, ...curves.map((curve) => curveCells(curve, sizes))]);
    }
  }
  for (const note of results.notes) console.log(note);
}

export function figureCells({ name, unit, samples, bar }: Figure): string[] {
  const middle = median(samples);
  const range = samples.length > 1 ? [Math.min(...samples), Math.max(...samples)].map(formatNumber) : ["", ""];
  return [name, formatNumber(middle), ...range, unit, ...barCells(middle, bar)];
}

export function curveCells({ name, unit, points, bar }: Curve, sizes: readonly number[]): string[] {
  const at = (size: number) => points.find((point) => point.size === size)?.value ?? Number.NaN;
  const exponent = points.length > 1 ? growthExponent(points) : Number.NaN;
  const cells = sizes.map((size) => formatNumber(at(size)));
  return [name, ...cells, unit, formatNumber(exponent), ...barCells(exponent, bar)];
}

function barCells(value: number, bar: Bar | undefined): string[] {
  return bar === undefined || Number.isNaN(value) ? ["", ""] : [formatBar(bar), meets(value, bar) ? "✓" : "✗"];
}

function table(rows: readonly (readonly string[])[]): void {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  for (const row of rows) {
    const cells = row.map((cell, column) => (column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!)));
    console.log(`  ${cells.join("  ").trimEnd()}`);
  }
}
