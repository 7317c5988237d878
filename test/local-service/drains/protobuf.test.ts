import fc from "fast-check";
import { expect, test } from "vitest";
import { otlpMessage } from "../../../src/local-service/drains/message.ts";
import { attributes, decodeOtlp } from "../support/drains.ts";
import type { Body } from "../support/service.ts";

const EVENT = {
  ...({ seq: 1, workspaceId: "w", jobId: "job_1", model: "m", logId: 1, at: 1_790_000_000_123 } as const),
  ...({ level: "warning", event: "progress", message: "", source: "api" } as const),
};

/** JSON without minus zero, which JSON text does not keep. */
const json = fc.jsonValue({ maxDepth: 3 }).map((value) => JSON.parse(JSON.stringify(value)) as unknown);

test("any JSON in an event's data survives the way through the protobuf", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), json, { minKeys: 1, noNullPrototype: true }), (data) => {
      const { body } = otlpMessage([{ ...EVENT, data: JSON.stringify(data) }], "Studio");
      const record = decodeOtlp(body).resource_logs[0].scope_logs[0].log_records[0];
      const { studio_data: decoded } = attributes(record.attributes);
      expect(decoded).toEqual(data);
    }),
    { numRuns: 300 },
  );
});

test("any text in an event survives, and batches of any size keep their order", () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: "grapheme", maxLength: 300 }), { minLength: 1, maxLength: 40 }), (texts) => {
      const rows = texts.map((message, index) => ({ ...EVENT, logId: index, message, data: "{}" }));
      const records = decodeOtlp(otlpMessage(rows, "Studio").body).resource_logs[0].scope_logs[0].log_records;
      expect(records.map((record: Body) => record.body.string_value ?? "")).toEqual(texts);
      expect(records[0]).toMatchObject({ time_unix_nano: "1790000000123000000", severity_number: 13 });
    }),
  );
});
