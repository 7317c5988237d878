/**
 * `npm run bench:peers -- [--json FILE] [--rounds N] [peer …]`: Showrunner, its peers and a bare loop on the same graph, each
 * in a process of its own, with its own server, at its documented durability. Needs Debian's `postgresql` and
 * `redis-server` to be installed; starts them itself, in temporary folders.
 */
import { execFileSync, fork } from "node:child_process";
import { once } from "node:events";
import { parseArgs } from "node:util";
import { openJournal } from "../../../src/core/journal/open.ts";
import { bareMs, type Case, cases, showrunnerMs } from "../engine.ts";
import { executed, lastValue, layeredGraph } from "../graph.ts";
import { inFolder, interleaved, pooled, print, Report, roundsOf, writeResults } from "../harness.ts";
import { type Bar, median, ratios } from "../stats.ts";
import type { Peer } from "./peer.ts";
import { postgresBin, postgresUrl, startPostgres } from "./servers.ts";

const OURS = "Showrunner";
const OURS_POSTGRES = "Showrunner, PostgreSQL";
const BARE = "no envelope node:sqlite, one commit a step";

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
  "1 run × 200, cap 1": { least: 3 },
  "100 runs × 20, 20 at once": { least: 4 },
};

/** The same with the journal in PostgreSQL, over those of DBOS. */
const postgresBars: Readonly<Record<string, Bar>> = {
  "1 run × 1,000, cap 100": { least: 3 },
  "100 runs × 20, 20 at once": { least: 3 },
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    json: { type: "string" },
    /** Under which name the results are kept. */
    part: { type: "string", default: "peers" },
    /** In place of as many as the case needs. */
    rounds: { type: "string" },
    "warm-up": { type: "string" },
    /** Only cases of these names. */
    case: { type: "string", multiple: true, default: cases.map(({ name }) => name) },
    contender: { type: "string" },
  },
});
if (values.contender !== undefined) await contend(values.contender);
else await compare();

/** In a process of its own: measures each case that the parent names, until it lets go. */
async function contend(name: string): Promise<void> {
  await inFolder(async (folder) => {
    const peer = await peers[name]?.open(folder);
    const postgres = name === OURS_POSTGRES ? await startPostgres(folder) : null;
    const journal = postgres === null ? undefined : await openJournal(postgresUrl(postgres));
    process.send!(peer?.settings ?? (postgres === null ? "" : `Showrunner's journal on ${postgres.version}`));
    let round = 0;
    process.on("message", async (index) => {
      const of = cases[index as number]!;
      if (journal !== undefined) process.send!(await showrunnerMs(of, { journal, round: ++round }));
      else if (name === OURS) process.send!(await showrunnerMs(of));
      else if (peer === undefined) process.send!(await bareMs(of.runs * of.steps, of.runs * of.steps));
      else process.send!(await peerMs(peer, of));
    });
    await once(process, "disconnect");
    await peer?.close();
    await journal?.close();
    await postgres?.stop();
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
  const ours = isInstalled("postgresql") ? [OURS, OURS_POSTGRES] : [OURS];
  for (const name of [...ours, ...present, BARE]) contending[name] = await start(name);
  try {
    for (const [index, of] of cases.entries()) {
      if (!values.case.includes(of.name)) continue;
      const each = Object.entries(contending).map(([name, contender]) => {
        return [name, async () => (of.runs * of.steps * 1000) / (await contender.measure(index))] as const;
      });
      const { rounds, warmUpRounds } = roundsOf(of.runs * of.steps);
      const rates: Record<string, number[]> = await interleaved(
        Number(values.rounds ?? rounds),
        Object.fromEntries(each),
        Number(values["warm-up"] ?? warmUpRounds),
      );
      for (const [name, rate] of Object.entries(rates)) report.figure(of.name, name, "steps/s", rate);
      for (const name of [...present, BARE]) {
        report.figure(of.name, `${OURS} ÷ ${name}`, "×", ratios(rates[OURS]!, rates[name]!));
      }
      for (const name of present.filter((one) => peers[one]!.needs === "postgresql")) {
        const bar = name === "DBOS" ? postgresBars[of.name] : undefined;
        report.figure(of.name, `${OURS_POSTGRES} ÷ ${name}`, "×", ratios(rates[OURS_POSTGRES]!, rates[name]!), bar);
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
  if (values.json !== undefined) writeResults(values.json, { [values.part]: report });
}
