import type { JournalStore, ModelCharges } from "../store.ts";
import type { Database } from "./database.ts";

export function writeCharges(db: Database, key: number, charges: readonly ModelCharges[]): void {
  for (const { model, worst, unquotedMicros } of charges) {
    db.run(
      "INSERT OR REPLACE INTO charges (run_key, model, quoted_micros, charged_micros, unquoted_micros) VALUES (?, ?, ?, ?, ?)",
      ...[key, model, worst?.quotedMicros ?? null, worst?.chargedMicros ?? null, unquotedMicros],
    );
  }
}

export function readCharges(
  db: Database,
  { account, model, exceptRun }: Parameters<JournalStore["charges"]>[0],
): (ModelCharges & { readonly runId: string }) | null {
  const row = db.get(
    "SELECT run_id, quoted_micros, charged_micros, unquoted_micros FROM charges CROSS JOIN runs USING (run_key) WHERE model = ? AND account = ? AND run_id <> ? ORDER BY run_key DESC LIMIT 1",
    ...[model, account, exceptRun],
  );
  if (row === undefined) return null;
  const { columns } = db;
  const [quotedMicros, chargedMicros] = [
    columns.integerOrNull(row, "quoted_micros"),
    columns.integerOrNull(row, "charged_micros"),
  ];
  const worst = quotedMicros === null || chargedMicros === null ? null : { quotedMicros, chargedMicros };
  const unquotedMicros = columns.integerOrNull(row, "unquoted_micros");
  return { runId: columns.text(row, "run_id"), model, worst, unquotedMicros };
}
