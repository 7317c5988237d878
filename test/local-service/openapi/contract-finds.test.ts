import { expect, test } from "vitest";
import { contractOf, type Seen, type Sent } from "../support/contract.ts";
import { receiver } from "../support/receiver.ts";
import { ask, post, start } from "../support/service.ts";

/* The contract itself: what it would find. */

const NO_JOB = "job_00000000-0000-4000-8000-000000000000";

test("the contract finds what is not as described [E7 E12 WC4 WC18]", async () => {
  const service = await start();
  const contract = await contractOf(service.baseUrl);
  const ids = { "X-Trace-Id": "0".repeat(32), "X-Request-Id": "req_1" };
  const headers = (type = "application/json") => new Headers({ "Content-Type": type, ...ids });
  const text = '{"balance":1,"currency":"USD","spent":0}';
  const balance: Seen = { method: "GET", path: "/balance", status: 200, headers: headers(), text };
  expect(() => contract.check(balance)).not.toThrow();
  const error = { code: "UNAVAILABLE", message: "x", retryable: true };
  const refused = JSON.stringify({ error, trace_id: "0".repeat(32) });
  const job = { job_id: NO_JOB, model: "image-1", status: "IN_QUEUE", status_url: "s", result_url: "r" };
  const submitted = { method: "POST", path: "/models/image-1", status: 202, text: JSON.stringify(job) };
  const stream = { path: `/jobs/${NO_JOB}/stream`, headers: headers("text/event-stream") };
  const wrong: readonly (readonly [string, Partial<Seen>])[] = [
    ["not as described", { text: text.replace("1", '"1"') }],
    ["additional", { text: text.replace("{", '{"more":1,') }],
    ["this status is not described", { status: 201 }],
    ["no such operation", { path: "/nothing" }],
    ["described are application/json", { headers: headers("text/plain") }],
    ["has no X-Trace-Id", { headers: new Headers() }],
    ["has no header Location", submitted],
    ["a retryable error has retry_after", { status: 503, text: refused }],
    ["frame log is not as described", { ...stream, text: "event: log\ndata: {}\n\n" }],
  ];
  for (const [message, change] of wrong)
    expect(() => contract.check({ ...balance, ...change }), message).toThrow(message);
});

test("the contract finds what is not as described in what the service sends by itself", async () => {
  const service = await start();
  const contract = await contractOf(service.baseUrl);
  const hook = await receiver();
  await ask(service, "PUT", "/webhooks/default", { body: { url: hook.url } });
  await post(service, "/webhooks/default/test", {});
  const [sent] = await hook.arrived(1);
  const { headers, body } = sent!;
  expect(() => contract.checkSent("webhook.test", { headers, body })).not.toThrow();
  const other = (change: object) => Buffer.from(JSON.stringify({ ...(JSON.parse(String(body)) as object), ...change }));
  const unsigned = { headers: { ...headers, "x-studio-webhook-signature": undefined }, body };
  const untimed = { headers: { ...headers, "x-studio-webhook-timestamp": "now" }, body };
  const wrong: readonly (readonly [string, Sent])[] = [
    ["no header X-Studio-Webhook-Signature", unsigned],
    ["header X-Studio-Webhook-Timestamp is not", untimed],
    ["not as described", { headers, body: other({ status: "FAILED" }) }],
    ["additional", { headers, body: other({ cost: 1 }) }],
  ];
  for (const [message, changed] of wrong)
    expect(() => contract.checkSent("webhook.test", changed), message).toThrow(message);
  expect(() => contract.checkSent("job.completed", { headers, body })).toThrow("X-Studio-Webhook-Event");
});
