import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from "node:sqlite";
import { promisify } from "node:util";
import { deflateRaw, deflateRawSync, inflateRawSync } from "node:zlib";
import { type Columns, columnsOf } from "../columns.ts";

export type Row = Record<string, SQLOutputValue>;

interface Statement {
  readonly prepared: StatementSync;
  readonly isOnRuns: boolean;
}

export class Database {
  readonly path: string;
  readonly columns: Columns;
  readonly #db: DatabaseSync;
  readonly #statements = new Map<string, Statement>();
  writes = 0;
  /** Rows of `runs` as last read. The map must be cleared if another connection may have written. */
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

/** Large text is stored deflated. */
export type EncodedText = string | Uint8Array;

const PACKED_FROM_LENGTH = 4_096;
/** Deflating longer text would block the event loop, so another thread does it. */
const PACKED_ASIDE_FROM_LENGTH = 262_144;
/** Showrunner never writes longer text, so a larger size means damage. */
const LONGEST_BYTES = 512 * 1024 * 1024;

const LEVEL = 1;
const [LEAST_AT_ONCE, MOST_AT_ONCE] = [16_384, 4_194_304];
const TYPICAL_RATIO = 8;
const deflateAside = promisify(deflateRaw) as (text: string, options: object) => Promise<Buffer>;

export function packText(text: string): EncodedText {
  return text.length < PACKED_FROM_LENGTH ? text : deflateRawSync(text, { level: LEVEL });
}

export function packAside(text: string): EncodedText | Promise<EncodedText> {
  if (text.length < PACKED_ASIDE_FROM_LENGTH) return packText(text);
  return deflateAside(text, { level: LEVEL, chunkSize: PACKED_ASIDE_FROM_LENGTH });
}

export function unpackText(stored: unknown): string | null {
  if (typeof stored === "string") return stored;
  if (!(stored instanceof Uint8Array)) return null;
  try {
    const chunkSize = Math.min(MOST_AT_ONCE, Math.max(LEAST_AT_ONCE, TYPICAL_RATIO * stored.length));
    return inflateRawSync(stored, { maxOutputLength: LONGEST_BYTES, chunkSize }).toString();
  } catch {
    return null;
  }
}
