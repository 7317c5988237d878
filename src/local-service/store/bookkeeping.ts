import type { DatabaseSync } from "node:sqlite";
import type { IdempotencyRow } from "./rows.ts";
import { command, query } from "./statement.ts";

/** Which submit a key of a workspace stands for. */
export function idempotencyTable(database: DatabaseSync) {
  const get = query<IdempotencyRow>(database, "SELECT * FROM idempotency WHERE workspaceId = ? AND key = ?");
  const insert = command(
    database,
    "INSERT OR REPLACE INTO idempotency (workspaceId, key, model, jobSeq, ack) VALUES (?, ?, ?, ?, ?)",
  );
  return {
    get: (workspaceId: string, key: string) => get.get(workspaceId, key),
    insert: (row: IdempotencyRow) => insert(row.workspaceId, row.key, row.model, row.jobSeq, row.ack),
  };
}

/** How long each model takes, for estimates. */
export function modelRunTable(database: DatabaseSync) {
  const get = query<{ averageMs: number }>(database, "SELECT averageMs FROM modelRuns WHERE model = ?");
  const add = command(
    database,
    `INSERT INTO modelRuns (model, runs, averageMs) VALUES (?, 1, ?)
     ON CONFLICT (model) DO UPDATE SET averageMs = averageMs + (excluded.averageMs - averageMs) / min(runs + 1, 20),
       runs = runs + 1`,
  );
  return {
    /** Mean time from accepted to finished; null for a model never run. */
    averageMs: (model: string) => get.get(model)?.averageMs ?? null,
    add: (model: string, tookMs: number) => add(model, tookMs),
  };
}

/** Small named values: signing secrets, the clock's offset. */
export function metaTable(database: DatabaseSync) {
  const get = query<{ value: string }>(database, "SELECT value FROM meta WHERE name = ?");
  const set = command(database, "INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)");
  return {
    get: (name: string) => get.get(name)?.value ?? null,
    set: (name: string, value: string) => set(name, value),
  };
}

export interface JobCounts {
  readonly total: number;
  readonly byKey: Readonly<Record<string, number>>;
  readonly byModel: Readonly<Record<string, number>>;
}

/** Counts over all jobs ever accepted, for the operator. */
export function countJobs(database: DatabaseSync): () => JobCounts {
  const total = query<{ count: number }>(database, "SELECT count(*) AS count FROM jobs");
  const grouped = (column: string) =>
    query<{ name: string; count: number }>(
      database,
      `SELECT ${column} AS name, count(*) AS count FROM jobs WHERE ${column} IS NOT NULL GROUP BY ${column}`,
    );
  const byKey = grouped("idempotencyKey");
  const byModel = grouped("model");
  const tally = (rows: readonly { name: string; count: number }[]) =>
    Object.fromEntries(rows.map((row) => [row.name, row.count]));
  return () => ({ total: total.get()?.count ?? 0, byKey: tally(byKey.all()), byModel: tally(byModel.all()) });
}
