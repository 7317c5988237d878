/**
 * How everything grows with the steps of a run, from a thousand to a hundred thousand: planning, running, its memory and
 * journal, resuming after a kill with all steps but the last one finished, and reading it. Every figure is from a process of
 * its own, started cold.
 */

import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { openMediaStore } from "../../src/core/engine/media/folder-store.ts";
import { openSqliteJournal } from "../../src/core/journal/sqlite.ts";
import { openShowrunner, pipeline } from "../../src/index.ts";
import { startDashboard, writeReport } from "../../src/studio/dashboard/index.ts";
import { layeredSteps } from "./graph.ts";
import { answer, cpuMs, inFolder, inProcess, type Report } from "./harness.ts";
import { type Bar, median } from "./stats.ts";

const LIMIT_MS = 15 * 60_000;
const RUN = "run";

interface Ran {
  readonly ms: number;
  readonly cpuMs: number;
  /** Alive after a collection when the last step begins, less what was before. */
  readonly heapBytes: number;
  /** Resident at most, less what was before. */
  readonly residentBytes: number;
}

interface Took {
  readonly ms: number;
}

const [PLAN, RUNNING, CPU, RESUME] = ["plan", "run", "run, processor time", "resume after a kill"] as const;
const [HEAP, RESIDENT, JOURNAL] = ["memory alive", "memory resident at most", "journal"] as const;
const [SHOW, REPORT, DASHBOARD] = ["show", "report", "dashboard's first picture"] as const;

const flat: Bar = { most: 1.05 };
const bytes = { unit: "bytes", bar: flat };
const ms = { unit: "ms", bar: flat };
const curves: Readonly<Record<string, { readonly unit: string; readonly bar?: Bar }>> = {
  [PLAN]: { unit: "ms" },
  [RUNNING]: ms,
  [CPU]: ms,
  [RESUME]: ms,
  [HEAP]: bytes,
  [RESIDENT]: bytes,
  [JOURNAL]: { unit: "bytes" },
  [SHOW]: ms,
  [REPORT]: { unit: "ms" },
  [DASHBOARD]: ms,
};

/** Calls `reached` in its last step. */
const growing = (reached: () => Promise<void>) =>
  pipeline("growing", {
    input: z.object({ steps: z.int() }),
    build: ({ input, task }) => ({
      end: task("end", { last: layeredSteps(task, input.steps - 1, 100) }, async () => {
        await reached();
      }),
    }),
  });

const [role, steps, folder = ""] = process.argv.slice(2);
function open() {
  return openShowrunner({
    journal: join(folder, "journal.db"),
    baseUrl: "http://127.0.0.1:9/v3",
    apiKey: "bench:none",
  });
}

async function timed(work: () => Promise<unknown>): Promise<Took> {
  const startedAt = performance.now();
  await work();
  return { ms: performance.now() - startedAt };
}

async function plan(): Promise<Took> {
  const showrunner = await open();
  return timed(async () => {
    const made = await showrunner.plan(
      growing(async () => {}),
      { steps: Number(steps) },
    );
    if (!made.ok) throw new Error("the bench's own pipeline has problems");
  });
}

/** Ends by killing itself in the last step: what is left is a run of which all is done but that. */
async function run(): Promise<never> {
  const showrunner = await open();
  const collected = () => {
    globalThis.gc!();
    return process.memoryUsage().heapUsed;
  };
  const [heap, resident] = [collected(), process.memoryUsage().rss];
  const [startedAt, cpu] = [performance.now(), cpuMs()];
  const reached = async () => {
    const took = { ms: performance.now() - startedAt, cpuMs: cpuMs() - cpu };
    const residentBytes = process.resourceUsage().maxRSS * 1024 - resident;
    await answer({ ...took, heapBytes: collected() - heap, residentBytes } satisfies Ran);
    process.kill(process.pid, "SIGKILL");
    await new Promise(() => {});
  };
  const options = { id: RUN, concurrency: { total: 100, task: 100 }, outDir: join(folder, "out") };
  const handle = await showrunner.run(growing(reached), { steps: Number(steps) }, options);
  const { status } = await handle.result();
  throw new Error(`the run ended (${status}) without its last step`);
}

/** Until the first step that is still to be done. */
async function resume(): Promise<Took> {
  const startedAt = performance.now();
  let ms = Number.NaN;
  const showrunner = await open();
  const reached = async () => {
    ms = performance.now() - startedAt;
  };
  const { status } = await (await showrunner.resume(RUN, { pipeline: growing(reached) })).result();
  if (status !== "succeeded") throw new Error(`the run is ${status}`);
  await showrunner.close();
  return { ms };
}

async function show(): Promise<Took> {
  const showrunner = await open();
  return timed(() => showrunner.show(RUN));
}

async function report(): Promise<Took> {
  const showrunner = await open();
  const options = {
    file: join(folder, "report.html"),
    mediaDir: join(folder, "media"),
    writtenAt: 0,
    version: "bench",
  };
  return timed(() => writeReport(showrunner, RUN, options));
}

/** What the page waits for before it can show the run. */
async function dashboard(): Promise<Took> {
  const journal = await openSqliteJournal(join(folder, "journal.db"));
  const show = await openShowrunner({ journal, baseUrl: "http://127.0.0.1:9/v3", apiKey: "bench:none" });
  const media = await openMediaStore(join(folder, "media"));
  return timed(async () => {
    const { url, origin } = await startDashboard({ show, journal, media });
    const { headers } = await fetch(url, { redirect: "manual" });
    const cookie = headers.get("set-cookie")!.split(";")[0]!;
    const picture = await fetch(`${origin}/api/runs/${RUN}`, { headers: { cookie } });
    const { head } = (await picture.json()) as { readonly head?: unknown };
    if (!picture.ok || head === undefined) throw new Error(`the dashboard answered ${picture.status}`);
  });
}

function journalBytes(at: string): number {
  const files = readdirSync(at).filter((name) => name.startsWith("journal.db"));
  return files.reduce((sum, name) => sum + statSync(join(at, name)).size, 0);
}

/** Of a size: what each thing took, or null where it was not done in time. */
function measureSize(size: number): Promise<Readonly<Record<string, number>> | null> {
  return inFolder(async (at) => {
    const child = <T>(name: string, execArgv: readonly string[] = []) =>
      inProcess<T>(import.meta.filename, [name, String(size), at], { execArgv, limitMs: LIMIT_MS });
    const planned = await child<Took>("plan");
    const ran = await child<Ran>("run", ["--expose-gc"]);
    const resumed = ran && (await child<Took>("resume"));
    if (!planned || !ran || !resumed) return null;
    const took: Record<string, number> = {
      [PLAN]: planned.ms,
      [RUNNING]: ran.ms,
      [CPU]: ran.cpuMs,
      [HEAP]: ran.heapBytes,
      [RESIDENT]: ran.residentBytes,
      [RESUME]: resumed.ms,
      [JOURNAL]: journalBytes(at),
    };
    for (const [name, reader] of [
      [SHOW, "show"] as const,
      [REPORT, "report"] as const,
      [DASHBOARD, "dashboard"] as const,
    ])
      took[name] = (await child<Took>(reader))?.ms ?? Number.NaN;
    return took;
  });
}

export async function measure(to: Report, { quick = false }: { readonly quick?: boolean } = {}): Promise<void> {
  const sizes = quick ? [500, 1_000, 2_000] : [1_000, 10_000, 100_000];
  const bySize = new Map<number, Readonly<Record<string, number>>[]>();
  for (const size of sizes) {
    const samples: Readonly<Record<string, number>>[] = [];
    for (let round = size > 10_000 || quick ? 2 : 0; round < 3; round += 1) {
      const sample = await measureSize(size);
      if (sample === null) break;
      samples.push(sample);
    }
    if (samples.length === 0) {
      to.note(`${size.toLocaleString("en")} steps were not done within ${LIMIT_MS / 60_000} minutes`);
      break;
    }
    bySize.set(size, samples);
  }
  const values = (size: number, name: string) => (bySize.get(size) ?? []).map((sample) => sample[name]!);
  const largest = [...bySize.keys()].at(-1)!;
  const each = (name: string) => values(largest, name).map((value) => value / largest);
  if (bySize.has(10_000)) {
    to.figure("Large runs", "resume of 10,000 finished steps", "ms", values(10_000, RESUME), { most: 300 });
    to.figure("Large runs", "show of 10,000 steps", "ms", values(10_000, SHOW), { most: 500 });
    to.figure("Large runs", "report of 10,000 steps", "ms", values(10_000, REPORT), { most: 3_000 });
  }
  const at = `a step, at ${largest.toLocaleString("en")}`;
  to.figure("Large runs", `memory alive ${at}`, "bytes", each(HEAP), { most: 3_000 });
  to.figure("Large runs", `memory resident at most ${at}`, "bytes", each(RESIDENT));
  to.figure("Large runs", `journal ${at}`, "bytes", each(JOURNAL), { most: 700 });
  for (const [name, { unit, bar }] of Object.entries(curves)) {
    const points = [...bySize.keys()].map((size) => ({ size, value: median(values(size, name)) }));
    to.curve("Growth of one run", name, unit, points, bar);
  }
}

/** Of this file in a process of its own. */
const roles: Readonly<Record<string, () => Promise<unknown>>> = { plan, run, resume, show, report, dashboard };
if (import.meta.main) {
  await answer(await roles[role!]!());
  process.exit(0);
}
