import type { Message } from "../outbound/post.ts";
import { ndjsonMessage } from "./ndjson.ts";
import { otlpMessage } from "./otlp.ts";
import type { DrainEventRow, DrainRow } from "./tables.ts";

/** A batch as the drain wants it, with the drain's own headers; those of the format come last and win. */
export function drainMessage(drain: DrainRow, rows: readonly DrainEventRow[], brand: string): Message {
  const { body, headers } =
    drain.format === "otlp" ? otlpMessage(rows, brand) : ndjsonMessage(rows, brand, drain.secret ?? "");
  const own = JSON.parse(drain.headers) as Readonly<Record<string, string>>;
  return { body, headers: { "User-Agent": `${brand}-Drains`, ...own, ...headers } };
}
