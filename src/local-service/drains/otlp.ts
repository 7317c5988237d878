import type { Message } from "../outbound/post.ts";
import type { LogLevel } from "../store/rows.ts";
import { doubleField, fixed64Field, messageField, stringField, varintField } from "./protobuf.ts";
import { type DrainEventRow, logIdOf } from "./tables.ts";

/** Numbers of the severities INFO, WARN and ERROR. */
const SEVERITY: Readonly<Record<LogLevel, bigint>> = { info: 9n, warning: 13n, error: 17n };

/** The one field of an AnyValue that a JSON value becomes; null is an AnyValue without one. */
function anyValue(value: unknown): Uint8Array {
  if (typeof value === "string") return stringField(1, value);
  if (typeof value === "boolean") return varintField(2, value ? 1n : 0n);
  if (typeof value === "number") {
    return Number.isSafeInteger(value) ? varintField(3, BigInt(value)) : doubleField(4, value);
  }
  if (Array.isArray(value)) return messageField(5, ...value.map((item) => messageField(1, anyValue(item))));
  if (typeof value !== "object" || value === null) return new Uint8Array();
  return messageField(6, ...Object.entries(value).map(([name, item]) => keyValue(1, name, item)));
}

function keyValue(field: number, name: string, value: unknown): Buffer {
  return messageField(field, stringField(1, name), messageField(2, anyValue(value)));
}

function logRecord(row: DrainEventRow, brand: string): Buffer {
  const nanos = BigInt(row.at) * 1_000_000n;
  const attribute = (name: string, value: unknown) => keyValue(6, `${brand.toLowerCase()}_${name}`, value);
  return messageField(
    2,
    fixed64Field(1, nanos),
    varintField(2, SEVERITY[row.level]),
    stringField(3, row.level),
    messageField(5, anyValue(row.message)),
    attribute("log_id", logIdOf(row)),
    attribute("job_id", row.jobId),
    attribute("model", row.model),
    attribute("event", row.event),
    attribute("source", row.source),
    ...(row.data === "{}" ? [] : [attribute("data", JSON.parse(row.data))]),
    fixed64Field(11, nanos),
  );
}

/** An ExportLogsServiceRequest with one resource and one scope. */
export function otlpMessage(rows: readonly DrainEventRow[], brand: string): Message {
  const resource = messageField(1, keyValue(1, "service.name", brand.toLowerCase()));
  const scope = messageField(1, stringField(1, "jobs"));
  const scopeLogs = messageField(2, scope, ...rows.map((row) => logRecord(row, brand)));
  const body = messageField(1, resource, scopeLogs);
  return { body, headers: { "Content-Type": "application/x-protobuf" } };
}
