import { createHmac } from "node:crypto";
import { instant } from "../jobs/views.ts";
import type { Message } from "../outbound/post.ts";
import { type DrainEventRow, logIdOf } from "./tables.ts";

function line(row: DrainEventRow, brand: string): string {
  const field = (name: string) => `${brand.toLowerCase()}_${name}`;
  return JSON.stringify({
    timestamp: instant(row.at),
    level: row.level,
    message: row.message,
    [field("log_id")]: logIdOf(row),
    [field("job_id")]: row.jobId,
    [field("model")]: row.model,
    [field("event")]: row.event,
    [field("source")]: row.source,
    ...(row.data === "{}" ? {} : { [field("data")]: JSON.parse(row.data) }),
  });
}

/** One line an event, signed with the drain's secret. */
export function ndjsonMessage(rows: readonly DrainEventRow[], brand: string, secret: string): Message {
  const body = Buffer.from(`${rows.map((row) => line(row, brand)).join("\n")}\n`);
  const signature = createHmac("sha256", secret).update(body).digest("hex");
  return { body, headers: { "Content-Type": "application/x-ndjson", [`X-${brand}-Signature`]: signature } };
}
