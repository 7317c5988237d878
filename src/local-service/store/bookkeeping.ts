import type { EventRow, IdempotencyRow, NewEvent } from "./rows.ts";
import type { Statements } from "./statement.ts";

/** Maps idempotency keys of a workspace to submits. */
export function idempotencyTable(db: Statements) {
  return {
    get: (workspaceId: string, key: string) =>
      db.get<IdempotencyRow>("SELECT * FROM idempotency WHERE workspaceId = ? AND key = ?", workspaceId, key),
    insert: (row: IdempotencyRow) => db.insert("idempotency", row, "INSERT OR REPLACE"),
  };
}

/** Lifecycle events of each job. */
export function eventTable(db: Statements) {
  return {
    /** Numbers the events from `lastId` on and stores them. */
    append(jobSeq: number, lastId: number, at: number, events: readonly NewEvent[]): EventRow[] {
      return events.map((event, index) => {
        const row: EventRow = { ...event, jobSeq, id: lastId + index + 1, at, data: JSON.stringify(event.data) };
        db.insert("jobEvents", row);
        return row;
      });
    },
    /** Oldest first. */
    after: (jobSeq: number, id: number, limit: number) =>
      db.all<EventRow>("SELECT * FROM jobEvents WHERE jobSeq = ? AND id > ? ORDER BY id LIMIT ?", jobSeq, id, limit),
    /** The most recent ones, oldest first. */
    latest: (jobSeq: number, limit: number) =>
      db.all<EventRow>("SELECT * FROM jobEvents WHERE jobSeq = ? ORDER BY id DESC LIMIT ?", jobSeq, limit).reverse(),
    clear: (jobSeq: number) => db.run("DELETE FROM jobEvents WHERE jobSeq = ?", jobSeq),
  };
}

const ADD_MODEL_RUN = `INSERT INTO modelRuns (model, runs, averageMs) VALUES (?, 1, ?)
  ON CONFLICT (model) DO UPDATE SET averageMs = averageMs + (excluded.averageMs - averageMs) / min(runs + 1, 20),
    runs = runs + 1`;

/** Rendering times of each model, for estimates. */
export function modelRunTable(db: Statements) {
  return {
    /** Mean time from accepted to finished; null for a model never run. */
    averageMs: (model: string) =>
      db.get<{ averageMs: number }>("SELECT averageMs FROM modelRuns WHERE model = ?", model)?.averageMs ?? null,
    add: (model: string, tookMs: number) => db.run(ADD_MODEL_RUN, model, tookMs),
  };
}

/** Small named values: signing secrets, the clock's offset. */
export function metaTable(db: Statements) {
  return {
    get: (name: string) => db.get<{ value: string }>("SELECT value FROM meta WHERE name = ?", name)?.value ?? null,
    set: (name: string, value: string) => db.insert("meta", { name, value }, "INSERT OR REPLACE"),
  };
}

export interface JobCounts {
  readonly total: number;
  readonly byKey: Readonly<Record<string, number>>;
  readonly byModel: Readonly<Record<string, number>>;
}

/** Counts over all jobs ever accepted, for the operator. */
export function countJobs(db: Statements): JobCounts {
  const tally = (column: string) => {
    const rows = db.all<{ name: string; count: number }>(
      `SELECT ${column} AS name, count(*) AS count FROM jobs WHERE ${column} IS NOT NULL GROUP BY ${column}`,
    );
    return Object.fromEntries(rows.map(({ name, count }) => [name, count]));
  };
  const total = db.get<{ count: number }>("SELECT count(*) AS count FROM jobs")?.count ?? 0;
  return { total, byKey: tally("idempotencyKey"), byModel: tally("model") };
}
