/**
 * Steps that do nothing on PostgreSQL, beside a bare loop that writes the same events to the same server: each step commits
 * its start and its end, what is asked for meanwhile shares the next statement, and that checks the epoch. The server is
 * Debian's, with its own durability.
 */
import pg from "pg";
import { openJournal } from "../src/journal/open.ts";
import { hasPostgres, PostgresCluster } from "../test/support/postgres.ts";
import { type Case, cases, pooled, showrunnerMs } from "./engine.ts";
import { lastValue, layeredGraph, stepValue } from "./graph.ts";
import { cpuMs, interleaved, type Report } from "./harness.ts";
import { type Bar, ratios } from "./stats.ts";

const measured = cases.filter(({ name }) => ["1 run × 1,000, cap 100", "100 runs × 20, 20 at once"].includes(name));
const bar: Bar = { least: 0.5 };

interface Pending {
  readonly run: number;
  readonly events: readonly string[];
  readonly done: () => void;
}

/** What is asked for while a commit is under way goes together in the next, a row for each. */
class BareJournal {
  readonly #client: pg.Client;
  readonly #lastSeqs = new Map<number, number>();
  #queue: Pending[] = [];
  #writing = false;

  constructor(client: pg.Client) {
    this.#client = client;
  }

  commit(run: number, events: readonly string[]): Promise<void> {
    return new Promise((done) => {
      this.#queue.push({ run, events, done });
      if (!this.#writing) void this.#write();
    });
  }

  async #write(): Promise<void> {
    this.#writing = true;
    while (this.#queue.length > 0) {
      await new Promise(setImmediate);
      const group = this.#queue.splice(0);
      const before = new Map(group.map(({ run }) => [run, this.#lastSeqs.get(run) ?? 0]));
      const rows = group.map(({ run, events }) => {
        const seq = (this.#lastSeqs.get(run) ?? 0) + events.length;
        this.#lastSeqs.set(run, seq);
        return { run, seq, body: events.length === 1 ? events[0] : `[${events.join()}]` };
      });
      const runs = [...before.keys()];
      const { rowCount } = await this.#client.query(
        `WITH held AS (
          UPDATE bare_runs r SET seq = g.last FROM unnest($1::int[], $2::int[], $3::int[]) g (run, after, last)
          WHERE r.run = g.run AND r.seq = g.after AND r.epoch = 1 RETURNING r.run)
        INSERT INTO bare_events SELECT run, seq, body FROM unnest($4::int[], $5::int[], $6::text[]) e (run, seq, body) JOIN held USING (run)`,
        [
          ...[runs, runs.map((run) => before.get(run)), runs.map((run) => this.#lastSeqs.get(run))],
          ...[rows.map(({ run }) => run), rows.map(({ seq }) => seq), rows.map(({ body }) => body)],
        ],
      );
      if (rowCount !== rows.length) throw new Error("nobody else writes these runs");
      for (const { done } of group) done();
    }
    this.#writing = false;
  }
}

async function bareMs(of: Case, url: string): Promise<number> {
  const client = new pg.Client(url);
  await client.connect();
  await client.query(
    `DROP TABLE IF EXISTS bare_runs, bare_events;
    CREATE TABLE bare_runs (run int PRIMARY KEY, seq int NOT NULL, epoch int NOT NULL);
    CREATE TABLE bare_events (run int, seq int, body text, PRIMARY KEY (run, seq));
    INSERT INTO bare_runs SELECT i, 0, 1 FROM generate_series(0, ${of.runs - 1}) i`,
  );
  const journal = new BareJournal(client);
  const startedAt = performance.now();
  await pooled(of.runs, of.atOnce, (run) => bareRun(journal, run, of));
  const ms = performance.now() - startedAt;
  await client.end();
  return ms;
}

async function bareRun(journal: BareJournal, run: number, { steps, width, cap }: Case): Promise<void> {
  const graph = layeredGraph(steps, width);
  const needs = graph.map((parents) => new Set(parents).size);
  const users = graph.map((): number[] => []);
  for (const [step, parents] of graph.entries()) for (const parent of new Set(parents)) users[parent]!.push(step);
  const values: number[] = [];
  const ready = needs.flatMap((count, step) => (count === 0 ? [step] : []));
  const perform = async (step: number) => {
    const name = `step-${step}`;
    await journal.commit(run, [JSON.stringify({ type: "step.started", step: name })]);
    const value = stepValue(graph[step]!.map((parent) => values[parent]!));
    values[step] = value;
    await journal.commit(run, [
      JSON.stringify({ type: "task.completed", step: name, value, files: [] }),
      JSON.stringify({ type: "step.finished", step: name, status: "succeeded", reason: null }),
    ]);
    for (const user of users[step]!) if (--needs[user]! === 0) ready.push(user);
  };
  await new Promise<void>((resolve, reject) => {
    let atWork = 0;
    const fill = () => {
      if (ready.length === 0 && atWork === 0) resolve();
      while (ready.length > 0 && atWork < cap) {
        atWork += 1;
        perform(ready.shift()!).then(() => {
          atWork -= 1;
          fill();
        }, reject);
      }
    };
    fill();
  });
  if (values.at(-1) !== lastValue(graph)) throw new Error("the bare loop ran a step wrongly");
}

export async function measure(report: Report, { quick = false }: { readonly quick?: boolean } = {}): Promise<void> {
  if (!hasPostgres("the bench on PostgreSQL")) return report.note("PostgreSQL is not installed: not measured");
  const cluster = await PostgresCluster.start();
  try {
    const url = await cluster.createDatabase();
    const journal = await openJournal(url);
    let round = 0;
    for (const of of measured) {
      const total = of.runs * of.steps;
      const cpu: number[] = [];
      const rates = await interleaved(
        quick ? 2 : 5,
        {
          showrunner: async () => {
            const before = cpuMs();
            const ms = await showrunnerMs(of, { journal, round: ++round });
            cpu.push(((cpuMs() - before) * 1_000) / total);
            return (total * 1_000) / ms;
          },
          bare: async () => (total * 1_000) / (await bareMs(of, url)),
        },
        quick ? 1 : 5,
      );
      const group = `PostgreSQL, ${of.name}`;
      report.figure(group, "Showrunner", "steps/s", rates.showrunner);
      report.figure(group, "bare loop with the same events", "steps/s", rates.bare);
      report.figure(group, "Showrunner ÷ bare loop", "×", ratios(rates.showrunner, rates.bare), bar);
      report.figure(group, "processor time of this process", "µs/step", cpu);
    }
    await journal.close();
    report.note(`PostgreSQL ${cluster.psql("SHOW server_version", "db1")}, fsync and synchronous_commit on`);
  } finally {
    await cluster.remove();
  }
}
