/**
 * What a decision in TypeScript alone would cost on PostgreSQL: the group commit of `bare-postgres.ts`, with the reads that
 * the decision would need before each of its writes. Docs/internal/decisions.md has the conclusion.
 */
import pg from "pg";
import { lacksPostgres, PostgresCluster } from "../support/postgres.ts";
import { interleaved, loadNote, type Report } from "./harness.ts";
import { ratios } from "./stats.ts";

const RUNS = 100;
const tables = `CREATE TABLE held (run int PRIMARY KEY, seq int NOT NULL, micros bigint NOT NULL);
  CREATE TABLE written (run int, seq int, body text, PRIMARY KEY (run, seq));
  INSERT INTO held SELECT run, 0, (run % 3) * 1000 FROM generate_series(1, ${RUNS}) run`;
const own = { name: "own", text: "SELECT run, seq FROM held WHERE run = ANY($1)" };
const sums = { name: "sums", text: "SELECT sum(micros)::text FROM held WHERE micros > 0" };
const write = {
  name: "write",
  text: `WITH moved AS (
    UPDATE held SET seq = seq + 1 FROM unnest($1::int[]) AS asked (id) WHERE run = asked.id RETURNING run, seq)
    INSERT INTO written SELECT run, seq, $2 FROM moved`,
};
const body = JSON.stringify({ type: "task.completed", step: "step-1", value: 1, files: [] });

/** Statements before each write. */
type Reads = readonly ("own" | "sums")[];

export async function measure(report: Report, { quick = false }: { readonly quick?: boolean } = {}): Promise<void> {
  if (lacksPostgres() !== null) return report.note("PostgreSQL is not installed: not measured");
  const cluster = await PostgresCluster.start();
  try {
    const client = new pg.Client(await cluster.createDatabase());
    await client.connect();
    await client.query(tables);
    for (const atOnce of [1, 20, RUNS]) {
      const commits = (quick ? 50 : 200) * Math.min(atOnce, 20);
      const timed = (reads: Reads) => () => rate(client, reads, atOnce, commits);
      const rates = await interleaved(quick ? 3 : 7, {
        one: timed([]),
        two: timed(["own"]),
        three: timed(["own", "sums"]),
      });
      const group = `Commits on PostgreSQL, ${atOnce} at once`;
      report.figure(group, "one round trip", "commits/s", rates.one);
      report.figure(group, "with the run's facts read first ÷ one round trip", "×", ratios(rates.two, rates.one));
      report.figure(group, "with the account's sums read too ÷ one round trip", "×", ratios(rates.three, rates.one));
    }
    await client.end();
    report.note(loadNote());
  } finally {
    await cluster.remove();
  }
}

/** Commits a second. What is asked for while a group is written goes into the next. */
async function rate(client: pg.Client, reads: Reads, atOnce: number, commits: number): Promise<number> {
  let queue: { readonly run: number; readonly done: () => void }[] = [];
  let isWriting = false;
  const writeAll = async () => {
    isWriting = true;
    for (let group = queue; group.length > 0; group = queue) {
      queue = [];
      const runs = group.map(({ run }) => run);
      if (reads.includes("own")) await client.query({ ...own, values: [runs] });
      if (reads.includes("sums")) await client.query(sums);
      await client.query({ ...write, values: [runs, body] });
      for (const { done } of group) done();
      await new Promise(setImmediate);
    }
    isWriting = false;
  };
  const commit = (run: number) =>
    new Promise<void>((done) => {
      queue.push({ run, done });
      if (!isWriting) void writeAll();
    });
  const startedAt = performance.now();
  const commitAll = async (run: number) => {
    for (let index = run; index < commits; index += atOnce) await commit(run + 1);
  };
  await Promise.all(Array.from({ length: atOnce }, (_, run) => commitAll(run)));
  return (commits * 1_000) / (performance.now() - startedAt);
}
