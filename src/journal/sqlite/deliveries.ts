import { DELIVERIES_KEPT_MS, type Delivery, type DeliveryOutcome, jobsOf, MOST_DELIVERIES } from "../deliveries.ts";
import type { RunEvent } from "../events.ts";
import type { Database } from "./database.ts";
import { sendMessage } from "./inbox.ts";
import type { RunRecord } from "./runs.ts";

/** See `JournalStore.deliver`. */
export function deliver(db: Database, { account, id, jobId, at }: Delivery): DeliveryOutcome {
  db.run("DELETE FROM deliveries WHERE at < ?", at - DELIVERIES_KEPT_MS);
  db.run(
    "INSERT INTO deliveries (account, name, job_id, at, waiting) VALUES (?, ?, ?, ?, 1) ON CONFLICT (account, name) DO NOTHING",
    account,
    id,
    jobId,
    at,
  );
  const row = db.get("SELECT id, waiting FROM deliveries WHERE account = ? AND name = ?", account, id)!;
  if (db.columns.integer(row, "waiting") === 0) return { outcome: "repeated", runIds: [] };
  const number = db.columns.integer(row, "id");
  db.run("DELETE FROM deliveries WHERE id <= ?", number - MOST_DELIVERIES);
  const jobs = db.all(
    "SELECT run_key, run_id, step, attempt FROM jobs JOIN runs USING (run_key) WHERE job_id = ? AND account = ?",
    jobId,
    account,
  );
  if (jobs.length === 0) return { outcome: "early", runIds: [] };
  for (const job of jobs) {
    const of = { step: db.columns.text(job, "step"), attempt: db.columns.integer(job, "attempt") };
    sendMessage(db, db.columns.integer(job, "run_key"), { type: "hint", ...of }, at);
  }
  db.run("UPDATE deliveries SET waiting = 0 WHERE id = ?", number);
  return { outcome: "delivered", runIds: jobs.map((job) => db.columns.text(job, "run_id")) };
}

/** From now on deliveries find the run by these jobs; what was delivered before is in its inbox. */
export function writeJobs(db: Database, { key, account }: RunRecord, events: readonly RunEvent[], at: number): void {
  for (const { step, attempt, jobId } of jobsOf(events)) {
    const values = [key, step, attempt, jobId];
    db.run("INSERT OR REPLACE INTO jobs (run_key, step, attempt, job_id) VALUES (?, ?, ?, ?)", ...values);
    const early = db.all("SELECT id FROM deliveries WHERE job_id = ? AND account = ? AND waiting = 1", jobId, account);
    for (const row of early) {
      sendMessage(db, key, { type: "hint", step, attempt }, at);
      db.run("UPDATE deliveries SET waiting = 0 WHERE id = ?", db.columns.integer(row, "id"));
    }
  }
}
