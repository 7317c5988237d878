import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from "node:sqlite";
import { type Columns, columnsOf } from "../columns.ts";

export type Row = Record<string, SQLOutputValue>;

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
