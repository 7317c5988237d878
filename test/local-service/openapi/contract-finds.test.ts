import { expect, test } from "vitest";
import { contractOf, type Seen, type Sent } from "../support/contract.ts";
import { receiver } from "../support/receiver.ts";
import { ask, start } from "../support/service.ts";

/* The contract itself: what it would find. */

const NO_JOB = "job_00000000-0000-4000-8000-000000000000";

test("the contract finds what is not as described [E7 E12 WC4 WC18]", async () => {
  const service = await start();
  const contract = await contractOf(service.baseUrl);
  const headers = (more: object = {}) =>
    new Headers({
      "Content-Type": "application/json",
      "X-Trace-Id": "0".repeat(32),
      "X-Request-Id": "req_1",
      ...more,
    });
  const balance: Seen = {
    method: "GET",
    path: "/balance",
    status: 200,
    headers: headers(),
    text: '{"balance":1,"currency":"USD","spent":0}',
  };
  expect(() => contract.check(balance)).not.toThrow();
  const refused = { code: "UNAVAILABLE", message: "x", retryable: true };
  const wrong: readonly (readonly [string, Partial<Seen>])[] = [
    ["not as described", { text: '{"balance":"1","currency":"USD","spent":0}' }],
    ["additional", { text: '{"balance":1,"currency":"USD","spent":0,"more":1}' }],
    ["this status is not described", { status: 201 }],
    ["no such operation", { path: "/nothing" }],
    ["described are application/json", { headers: headers({ "Content-Type": "text/plain" }) }],
    ["has no X-Trace-Id", { headers: new Headers() }],
    [
      "has no header Location",
      {
        method: "POST",
        path: "/models/image-1",
        status: 202,
        text: JSON.stringify({
          job_id: NO_JOB,
          model: "image-1",
          status: "IN_QUEUE",
          status_url: "s",
          result_url: "r",
        }),
      },
    ],
    [
      "a retryable error has retry_after",
      { status: 503, text: JSON.stringify({ error: refused, trace_id: "0".repeat(32) }) },
    ],
    [
      "frame log is not as described",
      {
        path: `/jobs/${NO_JOB}/stream`,
        headers: headers({ "Content-Type": "text/event-stream" }),
        text: "event: log\ndata: {}\n\n",
      },
    ],
  ];
  for (const [message, change] of wrong)
    expect(() => contract.check({ ...balance, ...change }), message).toThrow(message);
});

test("the contract finds what is not as described in what the service sends by itself", async () => {
  const service = await start();
  const contract = await contractOf(service.baseUrl);
  const hook = await receiver();
  await ask(service, "PUT", "/webhooks/default", { body: { url: hook.url } });
  await ask(service, "POST", "/webhooks/default/test", { body: {} });
  const [sent] = await hook.arrived(1);
  const { headers, body } = sent!;
  expect(() => contract.checkSent("webhook.test", { headers, body })).not.toThrow();
  const other = (change: object) => Buffer.from(JSON.stringify({ ...(JSON.parse(String(body)) as object), ...change }));
  const wrong: readonly (readonly [string, Sent])[] = [
    [
      "no header X-Studio-Webhook-Signature",
      { headers: { ...headers, "x-studio-webhook-signature": undefined }, body },
    ],
    [
      "header X-Studio-Webhook-Timestamp is not",
      { headers: { ...headers, "x-studio-webhook-timestamp": "now" }, body },
    ],
    ["not as described", { headers, body: other({ status: "FAILED" }) }],
    ["additional", { headers, body: other({ cost: 1 }) }],
  ];
  for (const [message, changed] of wrong)
    expect(() => contract.checkSent("webhook.test", changed), message).toThrow(message);
  expect(() => contract.checkSent("job.completed", { headers, body })).toThrow("X-Studio-Webhook-Event");
});
