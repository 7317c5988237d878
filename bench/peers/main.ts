/**
 * `npm run bench:peers -- [--json FILE] [--rounds N] [peer …]`: Showrunner, its peers and a bare loop on the same graph, each
 * in a process of its own, with its own server, at its documented durability. Needs Debian's `postgresql` and
 * `redis-server` to be installed; starts them itself, in temporary folders.
 */
import { execFileSync, fork } from "node:child_process";
import { once } from "node:events";
import { parseArgs } from "node:util";
import { bareMs, type Case, cases, pooled, showrunnerMs } from "../engine.ts";
import { executed, lastValue, layeredGraph } from "../graph.ts";
import { inFolder, interleaved, print, Report, WARM_UP_ROUNDS, writeResults } from "../harness.ts";
import { type Bar, median, ratios } from "../stats.ts";
import type { Peer } from "./peer.ts";
import { postgresBin } from "./servers.ts";

const OURS = "Showrunner";
const BARE = "bare node:sqlite, one commit a step";

interface Contender {
  readonly open: (folder: string) => Promise<Peer>;
  /** Debian's package that it needs. */
  readonly needs?: "postgresql" | "redis-server";
}

const peers: Readonly<Record<string, Contender>> = {
  Restate: { open: async (folder) => (await import("./restate.ts")).open(folder) },
  DBOS: { open: async (folder) => (await import("./dbos.ts")).open(folder), needs: "postgresql" },
  "openworkflow, PostgreSQL": {
    open: async (folder) => (await import("./openworkflow.ts")).onPostgres(folder),
    needs: "postgresql",
  },
  "openworkflow, SQLite": { open: async (folder) => (await import("./openworkflow.ts")).onSqlite(folder) },
  "BullMQ flows": { open: async (folder) => (await import("./bullmq.ts")).open(folder), needs: "redis-server" },
};

/** Showrunner's steps per second over those of the fastest peer. */
const bars: Readonly<Record<string, Bar>> = {
  "1 run × 1,000, cap 100": { least: 6 },
  "100 runs × 20, 20 at once": { least: 3 },
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { json: { type: "string" }, rounds: { type: "string", default: "5" }, contender: { type: "string" } },
});
if (values.contender !== undefined) await contend(values.contender);
else await compare();

/** In a process of its own: measures each case that the parent names, until it lets go. */
async function contend(name: string): Promise<void> {
  await inFolder(async (folder) => {
    const peer = await peers[name]?.open(folder);
    process.send!(peer?.settings ?? "");
    process.on("message", async (index) => {
      const of = cases[index as number]!;
      if (name === OURS) process.send!(await showrunnerMs(of));
      else if (peer === undefined) process.send!(await bareMs(of.runs * of.steps, of.runs * of.steps));
      else process.send!(await peerMs(peer, of));
    });
    await once(process, "disconnect");
    await peer?.close();
  });
  process.exit(0);
}

async function peerMs(peer: Peer, of: Case): Promise<number> {
  await peer.prepare?.(of);
  const expected = lastValue(layeredGraph(of.steps, of.width));
  const before = executed.steps;
  const startedAt = performance.now();
  await pooled(of.runs, peer.queuesRuns === true ? of.runs : of.atOnce, async () => {
    const last = await peer.run(of);
    if (last !== expected) throw new Error(`the last step came to ${last} and not to ${expected}`);
  });
  const ms = performance.now() - startedAt;
  if (executed.steps - before !== of.runs * of.steps) throw new Error(`${executed.steps - before} steps ran`);
  return ms;
}

interface Contending {
  readonly settings: string;
  measure(index: number): Promise<number>;
  close(): Promise<void>;
}

async function start(name: string): Promise<Contending> {
  const child = fork(import.meta.filename, ["--contender", name]);
  const ended = new Promise<never>((_, reject) => child.once("exit", () => reject(new Error(`${name} ended`))));
  ended.catch(() => {});
  const next = () => Promise.race([ended, new Promise<unknown>((resolve) => child.once("message", resolve))]);
  return {
    settings: (await next()) as string,
    measure(index) {
      child.send(index);
      return next() as Promise<number>;
    },
    async close() {
      const gone = once(child, "exit");
      child.disconnect();
      await gone;
    },
  };
}

function isInstalled(needed: Contender["needs"]): boolean {
  if (needed === undefined) return true;
  if (needed === "postgresql") return postgresBin() !== null;
  try {
    execFileSync("redis-server", ["--version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

async function compare(): Promise<void> {
  const report = new Report();
  const named = Object.entries(peers).filter(([name]) => positionals.length === 0 || positionals.includes(name));
  for (const [name, { needs }] of named) {
    if (!isInstalled(needs)) report.note(`${name} was left out: it needs ${needs} (apt-get install ${needs})`);
  }
  const present = named.filter(([, { needs }]) => isInstalled(needs)).map(([name]) => name);
  const contending: Record<string, Contending> = {};
  for (const name of [OURS, ...present, BARE]) contending[name] = await start(name);
  try {
    for (const [index, of] of cases.entries()) {
      const each = Object.entries(contending).map(([name, contender]) => {
        return [name, async () => (of.runs * of.steps * 1000) / (await contender.measure(index))] as const;
      });
      const rates: Record<string, number[]> = await interleaved(
        Number(values.rounds),
        Object.fromEntries(each),
        WARM_UP_ROUNDS,
      );
      for (const [name, rate] of Object.entries(rates)) report.figure(of.name, name, "steps/s", rate);
      for (const name of [...present, BARE]) {
        report.figure(of.name, `${OURS} ÷ ${name}`, "×", ratios(rates[OURS]!, rates[name]!));
      }
      if (present.length === 0) continue;
      const fastest = present.toSorted((a, b) => median(rates[b]!) - median(rates[a]!))[0]!;
      const lead = ratios(rates[OURS]!, rates[fastest]!);
      report.figure(of.name, `${OURS} ÷ fastest peer (${fastest})`, "×", lead, bars[of.name]);
      console.log(`${of.name}: measured`);
    }
    for (const { settings } of Object.values(contending)) if (settings !== "") report.note(settings);
  } finally {
    await Promise.all(Object.values(contending).map((contender) => contender.close()));
  }
  print(report);
  if (values.json !== undefined) writeResults(values.json, { peers: report });
}
