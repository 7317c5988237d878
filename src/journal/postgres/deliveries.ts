import { DELIVERIES_KEPT_MS, type Delivery, type DeliveryOutcome, MOST_DELIVERIES } from "../deliveries.ts";
import type { Database } from "./database.ts";
import { newestVersion } from "./migrate.ts";

/** See `JournalStore.deliver`. */
export async function deliver(db: Database, channel: string, delivery: Delivery): Promise<DeliveryOutcome> {
  const { account, id, jobId, at } = delivery;
  const rows = await db.query("SELECT * FROM {s}.deliver($1, $2, $3, $4, $5, $6, $7, $8)", [
    newestVersion,
    account,
    id,
    jobId,
    at,
    at - DELIVERIES_KEPT_MS,
    MOST_DELIVERIES,
    channel,
  ]);
  const { columns } = db;
  const outcome = columns.text(rows[0]!, "outcome") as DeliveryOutcome["outcome"];
  return { outcome, runIds: outcome === "delivered" ? rows.map((row) => columns.text(row, "run")) : [] };
}
