import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from "node:sqlite";
import { type Columns, columnsOf } from "../columns.ts";

export type Row = Record<string, SQLOutputValue>;

interface Statement {
  readonly prepared: StatementSync;
  /** Whether it names the table `runs`. */
  readonly isOnRuns: boolean;
}

/** An open database file with its prepared statements; every call is synchronous and short. */
export class Database {
  readonly path: string;
  readonly columns: Columns;
  readonly #db: DatabaseSync;
  readonly #statements = new Map<string, Statement>();
  /** Number of statements that may have changed something. */
  writes = 0;
  /**
   * For rows of `runs` as a write transaction has read or left them. Empty once this connection writes to that table; to be
   * cleared where another one may have written, or a transaction failed.
   */
  readonly knownRuns = new Map<string, object>();

  constructor(db: DatabaseSync, path: string) {
    this.#db = db;
    this.path = path;
    this.columns = columnsOf(path);
  }

  get inTransaction(): boolean {
    return this.#db.isTransaction;
  }

  get(sql: string, ...values: SQLInputValue[]): Row | undefined {
    return this.#prepare(sql).prepared.get(...values);
  }

  all(sql: string, ...values: SQLInputValue[]): Row[] {
    return this.#prepare(sql).prepared.all(...values);
  }

  run(sql: string, ...values: SQLInputValue[]): void {
    this.writes += 1;
    const { prepared, isOnRuns } = this.#prepare(sql);
    if (isOnRuns) this.knownRuns.clear();
    prepared.run(...values);
  }

  close(): void {
    this.#statements.clear();
    this.#db.close();
  }

  #prepare(sql: string): Statement {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = { prepared: this.#db.prepare(sql), isOnRuns: /\bruns\b/.test(sql) };
      this.#statements.set(sql, statement);
    }
    return statement;
  }
}
