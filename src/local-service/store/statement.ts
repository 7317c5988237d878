import type { DatabaseSync, SQLInputValue } from "node:sqlite";

export type Values = readonly SQLInputValue[];

/** A prepared statement whose rows have one known shape, that of `rows.ts`. */
export interface Query<Row> {
  get(...values: Values): Row | undefined;
  all(...values: Values): Row[];
}

/** Prepares a read. The cast is the one place where rows enter the program; the schema is ours. */
export function query<Row>(database: DatabaseSync, sql: string): Query<Row> {
  const statement = database.prepare(sql);
  return {
    get: (...values) => statement.get(...values) as Row | undefined,
    all: (...values) => statement.all(...values) as Row[],
  };
}

export type Command = (...values: Values) => { readonly lastId: number; readonly changes: number };

/** Prepares a write. */
export function command(database: DatabaseSync, sql: string): Command {
  const statement = database.prepare(sql);
  return (...values) => {
    const { lastInsertRowid, changes } = statement.run(...values);
    return { lastId: Number(lastInsertRowid), changes: Number(changes) };
  };
}

/** `INSERT INTO table (a, b) VALUES (?, ?)` for the columns named. */
export function insertSql(table: string, columns: readonly string[], verb = "INSERT"): string {
  return `${verb} INTO ${table} (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`;
}
