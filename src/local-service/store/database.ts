import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";

type Values = readonly SQLInputValue[];

type Columns<Row> = { readonly [Field in keyof Row]: SQLInputValue };

/** Runs SQL statements. Casts rows to their types without checking them. */
export class Statements {
  readonly #database: DatabaseSync;
  readonly #prepared = new Map<string, StatementSync>();

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  define(schema: string): void {
    this.#database.exec(schema);
  }

  get<Row>(sql: string, ...values: Values): Row | undefined {
    return this.#statement(sql).get(...values) as Row | undefined;
  }

  all<Row>(sql: string, ...values: Values): Row[] {
    return this.#statement(sql).all(...values) as Row[];
  }

  run(sql: string, ...values: Values): number {
    return Number(this.#statement(sql).run(...values).changes);
  }

  insert<Row extends Columns<Row>>(table: string, row: Row, verb = "INSERT"): number {
    const columns = Object.keys(row);
    const sql = `${verb} INTO ${table} (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`;
    return Number(this.#statement(sql).run(...Object.values<SQLInputValue>(row)).lastInsertRowid);
  }

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

const MAX_BATCH = 256;

interface Pending {
  readonly work: () => unknown;
  readonly resolve: (value: never) => void;
  readonly reject: (reason: unknown) => void;
}

type Outcome = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly error: unknown };

/** Combines all writes from one turn of the event loop into one transaction. */
export class Writer {
  readonly #database: DatabaseSync;
  #queue: Pending[] = [];
  #scheduled = false;
  #afterCommit: (() => void)[] = [];

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  /** Runs `work` in the next transaction, and resolves after the commit. */
  write<T>(work: () => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({ work, resolve, reject });
      this.#schedule();
    });
  }

  /** Runs `call` after the commit, unless the work is rolled back. */
  afterCommit(call: () => void): void {
    this.#afterCommit.push(call);
  }

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
