import type { DatabaseSync } from "node:sqlite";
import type { EventRow, NewEvent } from "./rows.ts";
import { command, insertSql, query } from "./statement.ts";

const COLUMNS = ["jobSeq", "id", "at", "level", "event", "message", "source", "data"] as const;

export function eventTable(database: DatabaseSync) {
  const insert = command(database, insertSql("jobEvents", COLUMNS));
  const after = query<EventRow>(database, "SELECT * FROM jobEvents WHERE jobSeq = ? AND id > ? ORDER BY id LIMIT ?");
  const latest = query<EventRow>(database, "SELECT * FROM jobEvents WHERE jobSeq = ? ORDER BY id DESC LIMIT ?");
  const clear = command(database, "DELETE FROM jobEvents WHERE jobSeq = ?");
  return {
    /** Numbers the events from `lastId` on and stores them. */
    append(jobSeq: number, lastId: number, at: number, events: readonly NewEvent[]): EventRow[] {
      return events.map((event, index) => {
        const row: EventRow = { ...event, jobSeq, id: lastId + index + 1, at, data: JSON.stringify(event.data) };
        insert(...COLUMNS.map((column) => row[column]));
        return row;
      });
    },
    /** Oldest first. */
    after: (jobSeq: number, id: number, limit: number) => after.all(jobSeq, id, limit),
    /** The most recent ones, oldest first. */
    latest: (jobSeq: number, limit: number) => latest.all(jobSeq, limit).reverse(),
    clear: (jobSeq: number) => clear(jobSeq),
  };
}
