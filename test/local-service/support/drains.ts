import protobuf from "protobufjs";
import type { LocalService } from "../../../src/local-service/index.ts";
import type { Received } from "../../support/receiver.ts";
import { ask, type Body, get, until } from "./service.ts";

export const SECRET = "s".repeat(64);
/** A time that is longer than the interval for which events are collected. */
export const GATHERED_MS = 1_000;

/** Creates a drain; fails the test if it is refused. */
export async function drain(service: LocalService, settings: object): Promise<Body> {
  const reply = await ask(service, "POST", "/log-drains", { body: { name: "logs", secret: SECRET, ...settings } });
  if (reply.status !== 201) throw new Error(`refused: ${JSON.stringify(reply.body)}`);
  return reply.body;
}

export const drainNow = async (service: LocalService, id: string): Promise<Body> =>
  (await get(service, `/log-drains/${id}`)).body;

export const drainUntil = (service: LocalService, id: string, isDone: (row: Body) => boolean): Promise<Body> =>
  until(service, `/log-drains/${id}`, isDone);

export const change = (service: LocalService, id: string, body: object) =>
  ask(service, "PATCH", `/log-drains/${id}`, { body });

/** The events in an NDJSON request. */
export function lines(post: Received | undefined): Body[] {
  return String(post?.body)
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
}

/** The used part of the public schema for log export, with which an independent library decodes requests. */
const SCHEMA = `
syntax = "proto3";
message ExportLogsServiceRequest { repeated ResourceLogs resource_logs = 1; }
message ResourceLogs { Resource resource = 1; repeated ScopeLogs scope_logs = 2; string schema_url = 3; }
message Resource { repeated KeyValue attributes = 1; uint32 dropped_attributes_count = 2; }
message ScopeLogs { InstrumentationScope scope = 1; repeated LogRecord log_records = 2; string schema_url = 3; }
message InstrumentationScope { string name = 1; string version = 2; }
message LogRecord {
  fixed64 time_unix_nano = 1; int32 severity_number = 2; string severity_text = 3; AnyValue body = 5;
  repeated KeyValue attributes = 6; uint32 dropped_attributes_count = 7; fixed32 flags = 8; bytes trace_id = 9;
  bytes span_id = 10; fixed64 observed_time_unix_nano = 11;
}
message KeyValue { string key = 1; AnyValue value = 2; }
message AnyValue {
  oneof value {
    string string_value = 1; bool bool_value = 2; int64 int_value = 3; double double_value = 4;
    ArrayValue array_value = 5; KeyValueList kvlist_value = 6; bytes bytes_value = 7;
  }
}
message ArrayValue { repeated AnyValue values = 1; }
message KeyValueList { repeated KeyValue values = 1; }
`;

const requestType = protobuf.parse(SCHEMA, { keepCase: true }).root.lookupType("ExportLogsServiceRequest");

/** Decodes an OTLP request to plain objects; 64-bit numbers are strings, and empty strings and lists may be absent. */
export function decodeOtlp(body: Uint8Array): Body {
  return requestType.toObject(requestType.decode(body), { longs: String, enums: Number, arrays: true });
}

/** Converts a decoded value to JSON. */
export function jsonOf(value: Body): unknown {
  if (value?.array_value) return (value.array_value.values ?? []).map(jsonOf);
  if (value?.kvlist_value) return attributes(value.kvlist_value.values ?? []);
  if (value?.int_value !== undefined) return Number(value.int_value);
  return value?.string_value ?? value?.bool_value ?? value?.double_value ?? null;
}

export function attributes(list: readonly Body[]): Record<string, unknown> {
  return Object.fromEntries(list.map(({ key, value }) => [key ?? "", jsonOf(value)]));
}
