import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";

type Values = readonly SQLInputValue[];

/** A row to write; its fields are named like the columns. */
type Columns<Row> = { readonly [Field in keyof Row]: SQLInputValue };

/** The prepared statements of one database, each prepared on first use. Rows are cast here: the schema is ours. */
export class Statements {
  readonly #database: DatabaseSync;
  readonly #prepared = new Map<string, StatementSync>();

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  /** Creates missing tables. */
  define(schema: string): void {
    this.#database.exec(schema);
  }

  get<Row>(sql: string, ...values: Values): Row | undefined {
    return this.#statement(sql).get(...values) as Row | undefined;
  }

  all<Row>(sql: string, ...values: Values): Row[] {
    return this.#statement(sql).all(...values) as Row[];
  }

  /** How many rows it changed. */
  run(sql: string, ...values: Values): number {
    return Number(this.#statement(sql).run(...values).changes);
  }

  /** The number of the new row. */
  insert<Row extends Columns<Row>>(table: string, row: Row, verb = "INSERT"): number {
    const columns = Object.keys(row);
    const sql = `${verb} INTO ${table} (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`;
    return Number(this.#statement(sql).run(...Object.values<SQLInputValue>(row)).lastInsertRowid);
  }

  /** Writes every column of the row with this `seq`. */
  update<Row extends Columns<Row> & { readonly seq: number }>(table: string, { seq, ...row }: Row): void {
    const assignments = Object.keys(row).map((column) => `${column} = ?`);
    const sql = `UPDATE ${table} SET ${assignments.join(", ")} WHERE seq = ?`;
    this.#statement(sql).run(...Object.values<SQLInputValue>(row), seq);
  }

  #statement(sql: string): StatementSync {
    const known = this.#prepared.get(sql) ?? this.#database.prepare(sql);
    this.#prepared.set(sql, known);
    return known;
  }
}
