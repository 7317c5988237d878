import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from "node:sqlite";
import { JournalCorruptError } from "../errors.ts";

export type Row = Record<string, SQLOutputValue>;

/** Typed access to a row's columns: a value of another type than the schema's means a damaged file. */
export interface Columns {
  text(row: Row, name: string): string;
  integer(row: Row, name: string): number;
  textOrNull(row: Row, name: string): string | null;
  integerOrNull(row: Row, name: string): number | null;
  realOrNull(row: Row, name: string): number | null;
  json(row: Row, name: string): unknown;
}

export function columnsOf(path: string): Columns {
  const damaged = (name: string): never => {
    throw new JournalCorruptError(
      path,
      `Column ${name} in ${path} holds what it cannot: the file is damaged. Restore it from a copy.`,
    );
  };
  const text = (row: Row, name: string) => {
    const value = row[name];
    return typeof value === "string" ? value : damaged(name);
  };
  const number = (row: Row, name: string) => {
    const value = row[name];
    return typeof value === "number" ? value : damaged(name);
  };
  const orNull = <T>(read: (row: Row, name: string) => T) => {
    return (row: Row, name: string) => (row[name] === null ? null : read(row, name));
  };
  return {
    text,
    integer: number,
    textOrNull: orNull(text),
    integerOrNull: orNull(number),
    realOrNull: orNull(number),
    json(row, name) {
      try {
        return JSON.parse(text(row, name));
      } catch {
        return damaged(name);
      }
    },
  };
}

/** An open database file with its prepared statements; every call is synchronous and short. */
export class Database {
  readonly path: string;
  readonly columns: Columns;
  readonly #db: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();
  /** Number of statements that may have changed something. */
  writes = 0;

  constructor(db: DatabaseSync, path: string) {
    this.#db = db;
    this.path = path;
    this.columns = columnsOf(path);
  }

  get inTransaction(): boolean {
    return this.#db.isTransaction;
  }

  get(sql: string, ...values: SQLInputValue[]): Row | undefined {
    return this.#prepare(sql).get(...values);
  }

  all(sql: string, ...values: SQLInputValue[]): Row[] {
    return this.#prepare(sql).all(...values);
  }

  run(sql: string, ...values: SQLInputValue[]): void {
    this.writes += 1;
    this.#prepare(sql).run(...values);
  }

  close(): void {
    this.#statements.clear();
    this.#db.close();
  }

  #prepare(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.#db.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }
}
