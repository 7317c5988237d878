/**
 * What PostgreSQL itself takes for the events of a run of the same graph: the bare engines that Showrunner is compared with.
 * Both make every start and every end durable before they continue. They plan, price and fold nothing, and a crash of theirs
 * would be found by nobody.
 */
import pg from "pg";
import type { Case } from "./engine.ts";
import { lastValue, layeredGraph, stepValue } from "./graph.ts";
import { pooled } from "./harness.ts";

interface BareJournal {
  /** Settles once the events are durable. */
  commit(run: number, events: readonly string[]): Promise<void>;
  close(): Promise<void>;
}

const tables = `DROP TABLE IF EXISTS bare_runs, bare_events;
  CREATE TABLE bare_runs (run int PRIMARY KEY, seq int NOT NULL, epoch int NOT NULL);
  CREATE TABLE bare_events (run int, seq int, body text, PRIMARY KEY (run, seq))`;

class LastSeqs {
  readonly #seqs = new Map<number, number>();

  of(run: number): number {
    return this.#seqs.get(run) ?? 0;
  }

  add(run: number, events: readonly string[]) {
    const seq = this.of(run) + events.length;
    this.#seqs.set(run, seq);
    return { run, seq, body: events.length === 1 ? events[0]! : `[${events.join()}]` };
  }
}

/** A row and a transaction for each commit, as many at once as there are connections. */
class PrototypeJournal implements BareJournal {
  readonly #pool: pg.Pool;
  readonly #seqs = new LastSeqs();

  constructor(url: string) {
    this.#pool = new pg.Pool({ connectionString: url, max: 8 });
  }

  async commit(run: number, events: readonly string[]): Promise<void> {
    const { seq, body } = this.#seqs.add(run, events);
    await this.#pool.query("INSERT INTO bare_events VALUES ($1, $2, $3)", [run, seq, body]);
  }

  close(): Promise<void> {
    return this.#pool.end();
  }
}

interface Pending {
  readonly run: number;
  readonly events: readonly string[];
  readonly done: () => void;
  readonly fail: (error: unknown) => void;
}

/** What is asked for while a commit is under way goes together in the next, a row for each, and that checks the epochs. */
class GroupedJournal implements BareJournal {
  readonly #client: pg.Client;
  readonly #seqs = new LastSeqs();
  #queue: Pending[] = [];
  #writing = false;

  constructor(client: pg.Client) {
    this.#client = client;
  }

  static async open(url: string): Promise<GroupedJournal> {
    const client = new pg.Client(url);
    await client.connect();
    return new GroupedJournal(client);
  }

  commit(run: number, events: readonly string[]): Promise<void> {
    return new Promise((done, fail) => {
      this.#queue.push({ run, events, done, fail });
      if (!this.#writing) void this.#writeAll();
    });
  }

  close(): Promise<void> {
    return this.#client.end();
  }

  async #writeAll(): Promise<void> {
    this.#writing = true;
    while (this.#queue.length > 0) {
      await new Promise(setImmediate);
      const group = this.#queue.splice(0);
      await this.#write(group).then(
        () => group.forEach(({ done }) => void done()),
        (error: unknown) => group.forEach(({ fail }) => void fail(error)),
      );
    }
    this.#writing = false;
  }

  async #write(group: readonly Pending[]): Promise<void> {
    const before = new Map(group.map(({ run }) => [run, this.#seqs.of(run)]));
    const rows = group.map(({ run, events }) => this.#seqs.add(run, events));
    const runs = [...before.keys()];
    const { rowCount } = await this.#client.query(
      `WITH asked AS (SELECT * FROM unnest($1::int[], $2::int[], $3::int[]) g (run, after, last)), held AS (
        INSERT INTO bare_runs AS r SELECT run, last, 1 FROM asked
        ON CONFLICT (run) DO UPDATE SET seq = excluded.seq
          WHERE r.epoch = 1 AND r.seq = (SELECT after FROM asked WHERE asked.run = r.run) RETURNING run)
      INSERT INTO bare_events SELECT run, seq, body FROM unnest($4::int[], $5::int[], $6::text[]) e (run, seq, body) JOIN held USING (run)`,
      [
        ...[runs, runs.map((run) => before.get(run)), runs.map((run) => this.#seqs.of(run))],
        ...[rows.map(({ run }) => run), rows.map(({ seq }) => seq), rows.map(({ body }) => body)],
      ],
    );
    if (rowCount !== rows.length) throw new Error("nobody else writes these runs");
  }
}

/** Milliseconds for the case. `planned` is the text of a run's first event. */
export async function barePostgresMs(
  of: Case,
  url: string,
  { planned, grouped }: { readonly planned: string; readonly grouped: boolean },
): Promise<number> {
  const client = new pg.Client(url);
  await client.connect();
  await client.query(tables);
  await client.end();
  const journal = grouped ? await GroupedJournal.open(url) : new PrototypeJournal(url);
  const startedAt = performance.now();
  await pooled(of.runs, of.atOnce, async (run) => {
    await journal.commit(run, [planned]);
    await journal.commit(run, [JSON.stringify({ type: "lease.acquired", epoch: 1, holder: `bare:${process.pid}` })]);
    await bareSteps(journal, run, of);
    await journal.commit(run, [JSON.stringify({ type: "run.finished", status: "succeeded" })]);
  });
  const ms = performance.now() - startedAt;
  await journal.close();
  return ms;
}

async function bareSteps(journal: BareJournal, run: number, { steps, width, cap }: Case): Promise<void> {
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
