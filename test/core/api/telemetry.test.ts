import { join } from "node:path";
import { type Attributes, type Span, trace } from "@opentelemetry/api";
import { afterEach, expect, test } from "vitest";
import type { Logger } from "../../../src/core/api/index.ts";
import { createRedactor, redactingLogger } from "../../../src/core/api/redactor.ts";
import { clientSetup } from "../../support/client-setup.ts";
import { ack, failure, hangUp, jobBody, json, outputItem } from "../../support/fake-service.ts";
import { newFolder } from "../../support/temporary-folder.ts";

const setUp = clientSetup();
afterEach(() => trace.disable());

interface Recorded {
  readonly name: string;
  readonly attributes: Attributes;
  status: number;
  ended: number;
}

/** A tracer that keeps what it is told. */
function record(): Recorded[] {
  const spans: Recorded[] = [];
  const startSpan = (name: string, options: { readonly attributes?: Attributes } = {}) => {
    const recorded: Recorded = { name, attributes: { ...options.attributes }, status: 0, ended: 0 };
    spans.push(recorded);
    const span = {
      setAttributes: (attributes: Attributes) => Object.assign(recorded.attributes, attributes),
      setAttribute: (key: string, value: string) => Object.assign(recorded.attributes, { [key]: value }),
      setStatus: ({ code }: { readonly code: number }) => {
        recorded.status = code;
      },
      end: () => {
        recorded.ended++;
      },
    };
    return span as unknown as Span;
  };
  const startActiveSpan = (
    name: string,
    options: { readonly attributes?: Attributes },
    work: (span: Span) => unknown,
  ) => work(startSpan(name, options));
  trace.setGlobalTracerProvider({ getTracer: () => ({ startSpan, startActiveSpan }) as never });
  return spans;
}

test("submit, follow and download are spans with codes and ids, each ended once", async () => {
  const spans = record();
  const { client, service } = await setUp([
    ack(),
    failure(400, "INVALID_ARGUMENT"),
    json(200, jobBody("COMPLETED")),
    (_request, response) => void response.end("bytes"),
  ]);
  await client.submit({ model: "m", input: {}, idempotencyKey: "k" });
  await client.submit({ model: "m", input: {}, idempotencyKey: "k" }).catch(() => {});
  client.notify("job_1");
  for await (const _event of client.follow("job_1", { strategy: "webhook" }));
  await client.download(`${service.origin}/asset?signature=hidden`, join(newFolder(), "a"));
  const span = (name: string, attributes: object, status = 0) => {
    return { name: `showrunner.${name}`, attributes, status, ended: 1 };
  };
  const [model, jobId] = [{ "showrunner.model": "m" }, { "showrunner.job_id": "job_1" }];
  expect(spans).toEqual([
    span("submit", { ...model, ...jobId, "showrunner.replayed": false }),
    span("submit", { ...model, "error.type": "INVALID_ARGUMENT" }, 2),
    span("follow", { ...jobId, "showrunner.strategy": "webhook", "showrunner.outcome": "completed" }),
    span("download", {}),
  ]);
  expect(JSON.stringify(spans)).not.toContain("hidden");
});

test("neither the secret nor a presigned query reaches the logger or an error's message [G50]", async () => {
  const lines: string[] = [];
  const write = (fields: unknown, message: string) => void lines.push(JSON.stringify({ fields, message }));
  const logger: Logger = { debug: write, info: write, warn: write, error: write };
  const { client, service } = await setUp(
    [
      hangUp,
      failure(503, "UNAVAILABLE", { retryable: true }),
      failure(403, "PERMISSION_DENIED"),
      json(200, jobBody("COMPLETED", { outputs: [outputItem()] })),
    ],
    { logger, apiKey: "key_1:s3cr3t-part" },
  );
  const errors = [
    await client.submit({ model: "m", input: {}, idempotencyKey: "k" }).catch((error) => error),
    await client
      .download(
        { jobId: "job_1", outputIndex: 0, url: `${service.origin}/x?sig=pr3signed` },
        join(newFolder(), "never"),
      )
      .catch((error) => error),
  ];
  expect(lines.length).toBeGreaterThan(0);
  const all = [...lines, ...errors.map((error) => `${error.message} ${error.stack} ${JSON.stringify(error)}`)].join(
    "\n",
  );
  expect(all).not.toMatch(/s3cr3t-part|pr3signed/);
});

test("a logger gets fields cleaned at any depth", () => {
  const seen: unknown[] = [];
  const ignore = () => {};
  const debug = (fields: unknown, message: string) => void seen.push(fields, message);
  const logger: Logger = { debug, info: ignore, warn: ignore, error: ignore };
  const url = "https://x.example/a/b?token=1#2";
  redactingLogger(logger, createRedactor("id:a-secret-part")).debug(
    { url, deep: [{ key: "Bearer id:a-secret-part" }], error: new Error(`at ${url}`), count: 3 },
    `see ${url} now`,
  );
  expect(seen).toEqual([
    {
      url: "https://x.example/a/b",
      deep: [{ key: "Bearer [redacted]" }],
      error: "Error: at https://x.example/a/b",
      count: 3,
    },
    "see https://x.example/a/b now",
  ]);
});
