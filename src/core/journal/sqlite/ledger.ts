import { tagTexts } from "../../kit/tags.ts";
import type { LedgerChange } from "../events/spec.ts";
import { changeLedger, emptyEntry, entryChange, type LedgerEntry, slotOf } from "../record.ts";
import { accountTotalsOf, ledgerTotalsOf } from "../rows.ts";
import { type AccountMoney, isSince, unseenOf } from "../spend-guard.ts";
import type { AccountTotals, LedgerTotals, SpendingScope } from "../store.ts";
import type { Database } from "./database.ts";
import type { RunRecord } from "./runs.ts";

export interface LedgerUpdate {
  readonly before: readonly LedgerEntry[];
  readonly after: readonly (LedgerEntry & { readonly step: string; readonly attempt: number })[];
  readonly heldDelta: number;
  readonly settledDelta: number;
  readonly run: LedgerTotals;
  readonly mark: number;
}

export function planLedger(db: Database, run: RunRecord, changes: readonly LedgerChange[], at: number): LedgerUpdate {
  if (changes.length === 0) return { before: [], after: [], heldDelta: 0, settledDelta: 0, run: run.ledger, mark: 0 };
  const { mark: lastMark } = accountTotals(db, run.account);
  const mark = changes.some(({ type }) => type === "charged" || type === "settle") ? lastMark + 1 : lastMark;
  const before = new Map<string, LedgerEntry>();
  const after = new Map<string, LedgerUpdate["after"][number]>();
  for (const change of changes) {
    const { step, attempt } = change;
    const key = `${attempt} ${step}`;
    const stored = before.get(key) ?? readEntry(db, run.key, step, attempt);
    before.set(key, stored);
    after.set(key, { step, attempt, ...changeLedger(after.get(key) ?? stored, entryChange(change), { at, mark }) });
  }
  const [old, now] = [sum([...before.values()]), sum([...after.values()])];
  const heldDelta = now.heldMicros - old.heldMicros;
  const settledDelta = now.settledMicros - old.settledMicros;
  const { heldMicros, settledMicros } = run.ledger;
  return {
    before: [...before.values()],
    after: [...after.values()],
    heldDelta,
    settledDelta,
    run: { heldMicros: heldMicros + heldDelta, settledMicros: settledMicros + settledDelta },
    mark,
  };
}

export function writeLedger(db: Database, run: RunRecord, update: LedgerUpdate): void {
  if (update.after.length === 0) return;
  for (const entry of update.after) {
    db.run(
      "INSERT INTO ledger (run_key, step, attempt, held_micros, settled_micros, slot, charged) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET held_micros = excluded.held_micros, settled_micros = excluded.settled_micros, slot = excluded.slot, charged = excluded.charged",
      run.key,
      entry.step,
      entry.attempt,
      entry.heldMicros,
      entry.settledMicros,
      entry.slot ?? 0,
      entry.charged,
    );
  }
  for (const [slot, { heldMicros, settledMicros }] of bySlot(update)) {
    for (const tag of ["", ...tagTexts(run.tags)]) addSpending(db, [run.account, tag, slot, heldMicros, settledMicros]);
  }
  const { heldDelta, settledDelta, mark } = update;
  db.run(
    "INSERT INTO accounts (account, held_micros, settled_micros, mark) VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET held_micros = held_micros + excluded.held_micros, settled_micros = settled_micros + excluded.settled_micros, mark = excluded.mark",
    run.account,
    heldDelta,
    settledDelta,
    mark,
  );
}

const ADD =
  "ON CONFLICT DO UPDATE SET held_micros = held_micros + excluded.held_micros, settled_micros = settled_micros + excluded.settled_micros";

function addSpending(db: Database, row: readonly [string, string, number, number, number]): void {
  db.run(
    `INSERT INTO spending (account, tag, slot, held_micros, settled_micros) VALUES (?, ?, ?, ?, ?) ${ADD}`,
    ...row,
  );
}

function bySlot({ before, after }: LedgerUpdate): ReadonlyMap<number, LedgerTotals> {
  const sums = new Map<number, LedgerTotals>();
  const add = ({ slot, heldMicros, settledMicros }: LedgerEntry, sign: number) => {
    if (slot === null) return;
    const held = (sums.get(slot)?.heldMicros ?? 0) + sign * heldMicros;
    sums.set(slot, { heldMicros: held, settledMicros: (sums.get(slot)?.settledMicros ?? 0) + sign * settledMicros });
  };
  for (const entry of before) add(entry, -1);
  for (const entry of after) add(entry, 1);
  return sums;
}

/**
 * Moves a run's holds and charges to another account. Assumes that the new account's balance includes these charges.
 */
export function moveAccount(db: Database, run: RunRecord, account: string): void {
  const { heldMicros: held, settledMicros: settled } = run.ledger;
  db.run(
    "UPDATE accounts SET held_micros = held_micros - ?, settled_micros = settled_micros - ? WHERE account = ?",
    held,
    settled,
    run.account,
  );
  db.run(
    "INSERT INTO accounts (account, held_micros, settled_micros, mark) VALUES (?, ?, ?, 0) ON CONFLICT DO UPDATE SET held_micros = held_micros + excluded.held_micros, settled_micros = settled_micros + excluded.settled_micros",
    account,
    held,
    settled,
  );
  for (const tag of ["", ...tagTexts(run.tags)]) {
    for (const [whose, sign] of [[run.account, -1] as const, [account, 1] as const]) {
      db.run(
        `INSERT INTO spending (account, tag, slot, held_micros, settled_micros) SELECT ?, ?, slot, ? * held_micros, ? * settled_micros FROM ledger WHERE run_key = ? ${ADD}`,
        whose,
        tag,
        sign,
        sign,
        run.key,
      );
    }
  }
  db.run("UPDATE ledger SET charged = 0 WHERE run_key = ? AND charged IS NOT NULL", run.key);
  db.run("UPDATE runs SET account = ? WHERE run_key = ?", account, run.key);
}

export function moneyAfter(db: Database, { account, tags }: RunRecord, update: LedgerUpdate): AccountMoney {
  return {
    committedMicros(scope) {
      const { heldMicros, settledMicros } = spendingOf(db, account, scope);
      if (scope.tag !== null && !tagTexts(tags).includes(scope.tag)) return heldMicros + settledMicros;
      const counted = (entries: readonly LedgerEntry[]) => {
        const { heldMicros, settledMicros } = sum(entries.filter((entry) => isSince(scope, entry)));
        return heldMicros + settledMicros;
      };
      return heldMicros + settledMicros + counted(update.after) - counted(update.before);
    },
    unseenMicros(mark) {
      const row = db.get(
        "SELECT coalesce(sum(l.held_micros + l.settled_micros), 0) AS unseen FROM ledger l JOIN runs r USING (run_key) WHERE r.account = ? AND (l.charged IS NULL OR l.charged > ?)",
        account,
        mark,
      );
      const unseen = (entries: readonly LedgerEntry[]) =>
        entries.reduce((total, entry) => total + unseenOf(entry, mark), 0);
      return db.columns.integer(row!, "unseen") + unseen(update.after) - unseen(update.before);
    },
  };
}

export function accountTotals(db: Database, account: string): AccountTotals {
  const row = db.get("SELECT held_micros, settled_micros, mark FROM accounts WHERE account = ?", account);
  return accountTotalsOf(db.columns, row);
}

export function spendingOf(db: Database, account: string, { tag, sinceAt }: SpendingScope): LedgerTotals {
  if (tag === null && sinceAt === null) {
    const { heldMicros, settledMicros } = accountTotals(db, account);
    return { heldMicros, settledMicros };
  }
  const row = db.get(
    "SELECT coalesce(sum(held_micros), 0) AS held_micros, coalesce(sum(settled_micros), 0) AS settled_micros FROM spending WHERE account = ? AND tag = ? AND slot >= ?",
    account,
    tag ?? "",
    sinceAt === null ? Number.MIN_SAFE_INTEGER : slotOf(sinceAt),
  );
  return ledgerTotalsOf(db.columns, row!);
}

function readEntry(db: Database, runKey: number, step: string, attempt: number): LedgerEntry {
  const row = db.get(
    "SELECT held_micros, settled_micros, slot, charged FROM ledger WHERE run_key = ? AND step = ? AND attempt = ?",
    runKey,
    step,
    attempt,
  );
  if (row === undefined) return emptyEntry;
  const { columns } = db;
  return {
    heldMicros: columns.integer(row, "held_micros"),
    settledMicros: columns.integer(row, "settled_micros"),
    slot: columns.integer(row, "slot"),
    charged: columns.integerOrNull(row, "charged"),
  };
}

function sum(entries: readonly LedgerEntry[]): LedgerTotals {
  let heldMicros = 0;
  let settledMicros = 0;
  for (const entry of entries) {
    heldMicros += entry.heldMicros;
    settledMicros += entry.settledMicros;
  }
  return { heldMicros, settledMicros };
}
