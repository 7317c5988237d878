import { changeLedger, type LedgerEntry } from "../record.ts";
import type { LedgerChange, LedgerTotals } from "../store.ts";
import type { Row } from "./columns.ts";
import type { Database } from "./database.ts";
import type { RunRecord } from "./runs.ts";

/** What a commit does to the ledger, worked out before anything is written. */
export interface LedgerUpdate {
  readonly entries: readonly (LedgerEntry & { readonly step: string; readonly attempt: number })[];
  readonly heldDelta: number;
  readonly settledDelta: number;
}

const none: LedgerTotals = { heldMicros: 0, settledMicros: 0 };

export function planLedger(db: Database, runKey: number, changes: readonly LedgerChange[]): LedgerUpdate {
  const before = new Map<string, LedgerEntry>();
  const after = new Map<string, LedgerUpdate["entries"][number]>();
  for (const change of changes) {
    const { step, attempt } = change;
    const key = `${attempt} ${step}`;
    const stored = before.get(key) ?? readEntry(db, runKey, step, attempt);
    before.set(key, stored);
    after.set(key, { step, attempt, ...changeLedger(after.get(key) ?? stored, change) });
  }
  const entries = [...after.values()];
  const [old, now] = [sum([...before.values()]), sum(entries)];
  return {
    entries,
    heldDelta: now.heldMicros - old.heldMicros,
    settledDelta: now.settledMicros - old.settledMicros,
  };
}

export function writeLedger(db: Database, run: RunRecord, update: LedgerUpdate): void {
  if (update.entries.length === 0) return;
  for (const entry of update.entries) {
    db.run(
      "INSERT INTO ledger (run_key, step, attempt, held_micros, settled_micros) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET held_micros = excluded.held_micros, settled_micros = excluded.settled_micros",
      ...[run.key, entry.step, entry.attempt, entry.heldMicros, entry.settledMicros],
    );
  }
  const { heldDelta, settledDelta } = update;
  db.run(
    "UPDATE runs SET held_micros = held_micros + ?, settled_micros = settled_micros + ? WHERE run_key = ?",
    ...[heldDelta, settledDelta, run.key],
  );
  db.run(
    "INSERT INTO accounts (account, held_micros, settled_micros) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET held_micros = held_micros + excluded.held_micros, settled_micros = settled_micros + excluded.settled_micros",
    ...[run.account, heldDelta, settledDelta],
  );
}

export function accountTotals(db: Database, account: string): LedgerTotals {
  const row = db.get("SELECT held_micros, settled_micros FROM accounts WHERE account = ?", account);
  return row === undefined ? none : totalsOf(db, row);
}

function readEntry(db: Database, runKey: number, step: string, attempt: number): LedgerEntry {
  const row = db.get(
    "SELECT held_micros, settled_micros FROM ledger WHERE run_key = ? AND step = ? AND attempt = ?",
    ...[runKey, step, attempt],
  );
  return row === undefined ? none : totalsOf(db, row);
}

function totalsOf({ columns }: Database, row: Row): LedgerTotals {
  return { heldMicros: columns.integer(row, "held_micros"), settledMicros: columns.integer(row, "settled_micros") };
}

function sum(entries: readonly LedgerEntry[]): LedgerTotals {
  return {
    heldMicros: entries.reduce((total, entry) => total + entry.heldMicros, 0),
    settledMicros: entries.reduce((total, entry) => total + entry.settledMicros, 0),
  };
}
