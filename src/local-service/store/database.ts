import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";

type Values = readonly SQLInputValue[];

/** A row to write, with fields named like the columns. */
type Columns<Row> = { readonly [Field in keyof Row]: SQLInputValue };

/** The prepared statements of a database, each prepared on first use. Rows are cast to their types unchecked. */
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

  /** Runs a statement, and returns how many rows it changed. */
  run(sql: string, ...values: Values): number {
    return Number(this.#statement(sql).run(...values).changes);
  }

  /** Inserts a row, and returns its row id. */
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

/** Maximum number of work items per transaction, so that a burst does not block the event loop. */
const MAX_BATCH = 256;

interface Pending {
  readonly work: () => unknown;
  readonly resolve: (value: never) => void;
  readonly reject: (reason: unknown) => void;
}

type Outcome = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly error: unknown };

/**
 * Batches all work from one turn of the event loop into one transaction. A work item that throws is rolled back alone.
 * Promises resolve only after the commit.
 */
export class Writer {
  readonly #database: DatabaseSync;
  #queue: Pending[] = [];
  #scheduled = false;
  #afterCommit: (() => void)[] = [];

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  /** Runs `work` (synchronous; it may read and write) in the next transaction. */
  write<T>(work: () => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({ work, resolve, reject });
      this.#schedule();
    });
  }

  /** Runs `call` once the transaction is durable, but not if the work is rolled back. Call it inside `work`. */
  afterCommit(call: () => void): void {
    this.#afterCommit.push(call);
  }

  /** Commits all pending work now. */
  flush(): void {
    while (this.#queue.length > 0) this.#commitBatch();
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      if (this.#queue.length > 0) this.#commitBatch();
      if (this.#queue.length > 0) this.#schedule();
    });
  }

  #commitBatch(): void {
    const batch = this.#queue.slice(0, MAX_BATCH);
    this.#queue = this.#queue.slice(MAX_BATCH);
    const committed = this.#transaction(batch);
    if (!committed.ok) {
      for (const pending of batch) pending.reject(committed.error);
      return;
    }
    for (const call of committed.after) call();
    committed.outcomes.forEach((outcome, index) => {
      const pending = batch[index]!;
      if (outcome.ok) pending.resolve(outcome.value as never);
      else pending.reject(outcome.error);
    });
  }

  #transaction(batch: readonly Pending[]) {
    this.#afterCommit = [];
    try {
      this.#database.exec("BEGIN IMMEDIATE");
      const outcomes = batch.map((pending) => this.#attempt(pending.work));
      this.#database.exec("COMMIT");
      return { ok: true as const, outcomes, after: this.#afterCommit };
    } catch (error) {
      if (this.#database.isOpen && this.#database.isTransaction) this.#database.exec("ROLLBACK");
      return { ok: false as const, error };
    }
  }

  #attempt(work: () => unknown): Outcome {
    const before = this.#afterCommit.length;
    this.#database.exec("SAVEPOINT piece");
    try {
      const value = work();
      this.#database.exec("RELEASE piece");
      return { ok: true, value };
    } catch (error) {
      this.#database.exec("ROLLBACK TO piece; RELEASE piece");
      this.#afterCommit.length = before;
      return { ok: false, error };
    }
  }
}
