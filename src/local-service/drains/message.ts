import { createHmac } from "node:crypto";
import { instant } from "../jobs/views.ts";
import type { Message } from "../outbound/outbound.ts";
import type { LogLevel } from "../store/rows.ts";
import type { DrainEventRow, DrainRow } from "./tables.ts";

// The part of the protobuf wire format that log export needs. Each function returns one field, including its tag.

const VARINT = 0;
const FIXED_64 = 1;
const LENGTH_DELIMITED = 2;

function rawVarint(value: bigint): Buffer {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, value);
  while (rest > 0x7fn) {
    bytes.push(Number(rest & 0x7fn) | 0x80);
    rest >>= 7n;
  }
  bytes.push(Number(rest));
  return Buffer.from(bytes);
}

const tag = (field: number, wire: number) => rawVarint(BigInt(field * 8 + wire));

export function varintField(field: number, value: bigint): Buffer {
  return Buffer.concat([tag(field, VARINT), rawVarint(value)]);
}

export function fixed64Field(field: number, value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt.asUintN(64, value));
  return Buffer.concat([tag(field, FIXED_64), bytes]);
}

export function doubleField(field: number, value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleLE(value);
  return Buffer.concat([tag(field, FIXED_64), bytes]);
}

export function messageField(field: number, ...parts: readonly Uint8Array[]): Buffer {
  const size = parts.reduce((sum, part) => sum + part.byteLength, 0);
  return Buffer.concat([tag(field, LENGTH_DELIMITED), rawVarint(BigInt(size)), ...parts]);
}

export function stringField(field: number, text: string): Buffer {
  return messageField(field, Buffer.from(text));
}

const SEVERITY: Readonly<Record<LogLevel, bigint>> = { info: 9n, warning: 13n, error: 17n };

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

/** Returns an event's fields, with their names prefixed with the brand. */
function brandedFields(row: DrainEventRow, brand: string): readonly (readonly [string, unknown])[] {
  const { seq, jobId: job_id, model, event, source } = row;
  const data = row.data === "{}" ? {} : { data: JSON.parse(row.data) };
  const fields = { log_id: `log_${seq}`, job_id, model, event, source, ...data };
  return Object.entries(fields).map(([name, value]) => [`${brand.toLowerCase()}_${name}`, value]);
}

function logRecord(row: DrainEventRow, brand: string): Buffer {
  const nanos = BigInt(row.at) * 1_000_000n;
  return messageField(
    2,
    fixed64Field(1, nanos),
    varintField(2, SEVERITY[row.level]),
    stringField(3, row.level),
    messageField(5, anyValue(row.message)),
    ...brandedFields(row, brand).map(([name, value]) => keyValue(6, name, value)),
    fixed64Field(11, nanos),
  );
}

export function otlpMessage(rows: readonly DrainEventRow[], brand: string): Message {
  const resource = messageField(1, keyValue(1, "service.name", brand.toLowerCase()));
  const scope = messageField(1, stringField(1, "jobs"));
  const scopeLogs = messageField(2, scope, ...rows.map((row) => logRecord(row, brand)));
  const body = messageField(1, resource, scopeLogs);
  return { body, headers: { "Content-Type": "application/x-protobuf" } };
}

function line(row: DrainEventRow, brand: string): string {
  const { at, level, message } = row;
  return JSON.stringify({
    timestamp: instant(at),
    level,
    message,
    ...Object.fromEntries(brandedFields(row, brand)),
  });
}

export function ndjsonMessage(rows: readonly DrainEventRow[], brand: string, secret: string): Message {
  const body = Buffer.from(`${rows.map((row) => line(row, brand)).join("\n")}\n`);
  const signature = createHmac("sha256", secret).update(body).digest("hex");
  return { body, headers: { "Content-Type": "application/x-ndjson", [`X-${brand}-Signature`]: signature } };
}

/** Builds the request that delivers events. A drain's own headers cannot replace the headers that the format sets. */
export function drainMessage(drain: DrainRow, rows: readonly DrainEventRow[], brand: string): Message {
  const { body, headers } =
    drain.format === "otlp" ? otlpMessage(rows, brand) : ndjsonMessage(rows, brand, drain.secret ?? "");
  const own = JSON.parse(drain.headers) as Readonly<Record<string, string>>;
  return { body, headers: { "User-Agent": `${brand}-Drains`, ...own, ...headers } };
}
