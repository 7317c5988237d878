import { afterEach, describe, expect, test, vi } from "vitest";
import { ApiError, createClient, type FollowEvent, OptionError, usableOutputs } from "../../../src/core/api/index.ts";
import { clientSetup } from "../../support/client-setup.ts";
import {
  ack,
  failure,
  fakeService,
  hangUp,
  jobBody,
  json,
  outputItem,
  statusBody,
} from "../../support/fake-service.ts";
import { skippingClock } from "../../support/simulated-clock.ts";

const setUp = clientSetup();
afterEach(() => void vi.unstubAllGlobals());

const submitted = { model: "m", input: {}, idempotencyKey: "k1" };
const fails = (call: Promise<unknown>) =>
  call.then(
    () => Promise.reject(new Error("did not fail")),
    (error) => error,
  );

test.each([
  ["null", { scopes: null }, "all"],
  ["an empty list", { scopes: [] }, []],
  ["a list with one that is not known", { scopes: ["jobs:read", "films:write"] }, ["jobs:read", "films:write"]],
  ["nothing", {}, null],
])("a key whose scopes are %s", async (_, said, scopes) => {
  const token = { token: "t", expires_at: "2030-01-01T00:00:00Z", ...said };
  const { client } = await setUp([
    json(200, { data: [{ key_id: "k", ...said }], next_cursor: null }),
    json(201, token),
  ]);
  expect((await client.keys.list().page()).data).toMatchObject([{ keyId: "k", scopes }]);
  expect(await client.tokens.create()).toMatchObject({ scopes });
});

describe("addresses", () => {
  test("status_url, result_url and Location are paths that hold /v3 already and stand on the origin [WJ30]", async () => {
    const { client, service } = await setUp([ack("IN_QUEUE", { result_url: undefined })]);
    const acked = await client.submit(submitted);
    expect(acked.statusUrl).toBe(`${service.origin}/v3/jobs/job_1/status`);
    expect(acked.resultUrl).toBe(`${service.origin}/v3/jobs/job_1`);
  });

  test("an address on another origin is not used, and the credential goes only to the base", async () => {
    const other = await fakeService(json(200, {}));
    const { client, service } = await setUp([
      ack("IN_QUEUE", { status_url: `${other.origin}/steal`, result_url: `//${other.origin.slice(7)}/steal` }),
      json(200, jobBody("COMPLETED")),
    ]);
    const acked = await client.submit(submitted);
    expect([acked.statusUrl, acked.resultUrl].every((url) => url.startsWith(service.origin))).toBe(true);
    await client.job(acked.jobId);
    expect(other.seen).toHaveLength(0);
    await other.close();
  });

  test("a redirect is not followed, so the credential cannot be carried off", async () => {
    const other = await fakeService(json(200, jobBody("COMPLETED")));
    const { client } = await setUp([json(307, {}, { location: `${other.origin}/v3/jobs/job_1` })]);
    expect(await fails(client.job("job_1"))).toMatchObject({ code: "UNKNOWN", status: 307 });
    expect(other.seen).toHaveLength(0);
    await other.close();
  });

  test("the base URL works with and without a trailing slash", async () => {
    const { service } = await setUp([json(200, { balance: 1 })]);
    for (const baseUrl of [service.baseUrl, `${service.baseUrl}/`]) {
      const client = createClient({ baseUrl, apiKey: "k:s" });
      expect(client.baseUrl).toBe(service.baseUrl);
      await client.balance();
      await client.close();
    }
    expect(service.seen.map((seen) => seen.path)).toEqual(["/v3/balance", "/v3/balance"]);
  });

  test("a v2 base, a base with a credential in it and no URL at all are refused [X4]", () => {
    for (const baseUrl of [
      "https://x.example/v2",
      "https://x.example/v2/",
      "https://k:s@x.example/v3",
      "ftp://x.example/v3",
      "x.example",
    ]) {
      expect(() => createClient({ baseUrl, apiKey: "k:s" })).toThrow(OptionError);
    }
  });

  test("an id cannot lead to another path", async () => {
    const { client, service } = await setUp([json(200, jobBody("COMPLETED"))]);
    await client.job("../balance?x=1#y");
    expect(service.seen[0]!.path).toBe("/v3/jobs/..%2Fbalance%3Fx%3D1%23y");
    expect(() => client.job("..")).toThrow(OptionError);
  });
});

describe("credentials", () => {
  test("both header forms are sent as configured, Bearer by default [A5]", async () => {
    const { client, service } = await setUp([json(200, { balance: 1 })]);
    await client.balance();
    const direct = createClient({ baseUrl: service.baseUrl, apiKey: "key_1:secret", credentialForm: "key" });
    await direct.balance();
    await direct.close();
    expect(service.seen.map((seen) => seen.headers.authorization)).toEqual(["Bearer key_1:secret", "Key key_1:secret"]);
  });

  test("a browser only ever gets a token [A8]", () => {
    vi.stubGlobal("document", {});
    expect(() => createClient({ baseUrl: "https://x.example/v3", apiKey: "key_1:secret" })).toThrow(/browser/);
    expect(createClient({ baseUrl: "https://x.example/v3", apiKey: "tok_123" }).keyId).toBe("token");
  });

  test("a key id is known without the secret, and a token is not sent in the Key form", () => {
    expect(createClient({ baseUrl: "https://x.example/v3", apiKey: "key_1:secret" }).keyId).toBe("key_1");
    expect(() => createClient({ baseUrl: "https://x.example/v3", apiKey: "tok", credentialForm: "key" })).toThrow(
      OptionError,
    );
    expect(() => createClient({ baseUrl: "https://x.example/v3", apiKey: "k:s\r\nx: y" })).toThrow(OptionError);
  });
});

describe("acks and jobs", () => {
  test("a replayed ack shows the original status, and the job its present one [WJ29]", async () => {
    const { client } = await setUp([
      ack("IN_QUEUE", {}, { "x-idempotent-replayed": "true" }),
      json(200, jobBody("COMPLETED")),
    ]);
    const acked = await client.submit(submitted);
    expect([acked.status, acked.replayed]).toEqual(["IN_QUEUE", true]);
    expect((await client.job(acked.jobId)).status).toBe("COMPLETED");
  });

  test("an ack may show any status, a final one included [WJ29]", async () => {
    for (const status of ["IN_PROGRESS", "COMPLETED", "FAILED", "SOMETHING_NEW"]) {
      const { client } = await setUp([ack(status)]);
      expect((await client.submit(submitted)).status).toBe(status);
    }
  });

  test("what is absent reads as its default: output COMPLETED, retryable false, currency USD, cost null [E6 O4 WC20]", async () => {
    const { client } = await setUp([
      json(200, { job_id: "job_1", model: "m", status: "FAILED", outputs: [{}], error: { code: "INTERNAL" } }),
    ]);
    const job = await client.job("job_1");
    expect(job).toMatchObject({
      costMicros: null,
      currency: "USD",
      logs: null,
      error: { retryable: false, message: "", retryAfterMs: null },
    });
    expect(job.outputs[0]).toMatchObject({ index: 0, status: "COMPLETED", assetId: null, url: null, error: null });
  });

  test("unknown fields and unknown members of enums are tolerated everywhere [WC20]", async () => {
    const { client } = await setUp([
      json(
        200,
        jobBody("PAUSED", {
          novel: 1,
          outputs: [outputItem({ status: "ARCHIVED", novel: {} })],
          error: { code: "NEW_CODE", message: "m" },
        }),
      ),
    ]);
    expect(await client.job("job_1")).toMatchObject({
      status: "PAUSED",
      outputs: [{ status: "ARCHIVED" }],
      error: { code: "NEW_CODE" },
    });
  });

  test("FAILED and EXPIRED outputs never feed another job", async () => {
    const outputs = [
      outputItem({ status: "FAILED" }),
      outputItem({ asset_id: "asset_2" }),
      outputItem({ status: "EXPIRED", asset_id: null }),
    ];
    const { client } = await setUp([json(200, jobBody("COMPLETED", { outputs }))]);
    expect(usableOutputs(await client.job("job_1")).map((output) => output.assetId)).toEqual(["asset_2"]);
  });

  test("fps may be null at first and be there at a later read [O21]", async () => {
    const { client } = await setUp([
      json(200, jobBody("COMPLETED", { outputs: [outputItem({ fps: null })] })),
      json(200, jobBody("COMPLETED", { outputs: [outputItem({ fps: 30 })] })),
    ]);
    expect((await client.job("job_1")).outputs[0]!.fps).toBeNull();
    expect((await client.job("job_1")).outputs[0]!.fps).toBe(30);
  });

  test("a cost that is absent at completion is null and not nothing [WJ6]", async () => {
    const { client } = await setUp([
      json(200, jobBody("COMPLETED")),
      json(200, jobBody("COMPLETED", { cost: 0, currency: "USD" })),
    ]);
    expect((await client.job("job_1")).costMicros).toBeNull();
    expect((await client.job("job_1")).costMicros).toBe(0);
  });

  test("a status that is wrong in kind is a malformed answer and not a guess", async () => {
    const { client } = await setUp([json(200, { job_id: "job_1", status: 7 })]);
    expect(await fails(client.job("job_1"))).toMatchObject({ code: "MALFORMED_RESPONSE" });
  });
});

describe("errors", () => {
  test("any retryable error is waited for as long as its retry_after says [WK2]", async () => {
    for (const [status, code] of [
      [503, "UNAVAILABLE"],
      [500, "INTERNAL"],
      [504, "DEADLINE_EXCEEDED"],
      [409, "CANCELLED"],
    ] as const) {
      const { client, service } = await setUp([
        failure(status, code, { retryable: true, retry_after: 7 }),
        json(200, { balance: 1 }),
      ]);
      await client.balance();
      expect(service.seen).toHaveLength(2);
    }
  });

  test("only code and retryable decide; the message means nothing [E4 E44]", async () => {
    const { client, service } = await setUp([
      failure(500, "INTERNAL", { message: "please retry, RESOURCE_EXHAUSTED, NOT_FOUND" }),
    ]);
    expect(await fails(client.balance())).toMatchObject({ code: "INTERNAL", retryable: false });
    expect(service.seen).toHaveLength(1);
  });

  test("billing.required null, a declined card and reasons nobody knows are kept as they are [E23]", async () => {
    for (const reason of ["card_declined", "a_new_reason", null]) {
      const billing = { balance: 0.1, required: null, currency: "USD", funding_url: "https://pay.example", reason };
      const { client } = await setUp([failure(402, "INSUFFICIENT_BALANCE", { billing })]);
      const error = await fails(client.submit(submitted));
      expect(error).toBeInstanceOf(ApiError);
      expect(error.billing).toEqual({
        balanceMicros: 100_000,
        requiredMicros: null,
        currency: "USD",
        fundingUrl: "https://pay.example",
        reason,
      });
    }
  });

  test("every field-level problem arrives, and a retired model names its successor [E11]", async () => {
    const details = [
      { field: "input.resolution", message: "input.resolution must be one of", reason: "enum", allowed: ["720p"] },
      { field: "input.images[0]", message: "input.images[0]: has expired", reason: "expired" },
    ];
    const { client } = await setUp([
      failure(400, "INVALID_ARGUMENT", { param: "input.resolution", details }),
      failure(410, "GONE", { replaced_by: "m2" }),
    ]);
    expect(await fails(client.submit(submitted))).toMatchObject({
      param: "input.resolution",
      details: [{ allowed: ["720p"] }, { message: "has expired", reason: "expired", allowed: null }],
    });
    expect(await fails(client.model("m"))).toMatchObject({ code: "GONE", replacedBy: "m2" });
  });
});

describe("catalog and estimates", () => {
  test("a catalog list may hold nothing but id and name [P5]", async () => {
    const { client } = await setUp([json(200, { data: [{ id: "m", name: "M" }], next_cursor: null })]);
    expect((await client.models().page()).data).toEqual([
      { id: "m", name: "M", modality: null, description: null, priceDescription: null, logoUrl: null },
    ]);
  });

  test("an estimate without a cost, by any of its signs, is not quotable [WM6]", async () => {
    for (const body of [{ model: "m", cost: null, quotable: false, reason: "needs measuring" }, { model: "m" }]) {
      const { client } = await setUp([json(200, body)]);
      expect(await client.estimate({ model: "m", input: {} })).toMatchObject({ costMicros: null, quotable: false });
    }
  });

  test("FAILED_PRECONDITION on an estimate means not quotable only where the catalog serves the model [WM7]", async () => {
    const { client } = await setUp([failure(400, "FAILED_PRECONDITION"), json(200, { id: "m", modality: "image" })]);
    expect(await client.estimate({ model: "m", input: {} })).toMatchObject({
      quotable: false,
      reason: "said by the test",
    });
    const { client: other } = await setUp([failure(400, "FAILED_PRECONDITION")]);
    expect(await fails(other.estimate({ model: "m", input: {} }))).toMatchObject({ code: "FAILED_PRECONDITION" });
  });

  test("a list whose pages are empty and always name a next one is given up", async () => {
    let pages = 0;
    const { client } = await setUp([
      (request, response) => json(200, { data: [], next_cursor: `c${++pages}` })(request, response),
    ]);
    const read = async () => {
      for await (const job of client.jobs()) expect(job).toBe(undefined);
    };
    await expect(read()).rejects.toThrow("pages in a row were empty");
    expect(pages).toBeLessThan(30);
  });

  test("pages are followed to their end, and a cursor that comes twice does not list for ever", async () => {
    const page = (id: string, next: string | null) =>
      json(200, { data: [{ job_id: id, status: "COMPLETED" }], next_cursor: next });
    const { client, service } = await setUp([page("job_1", "c1"), page("job_2", "c2"), page("job_3", "c1")]);
    const ids: string[] = [];
    for await (const job of client.jobs({ limit: 1 })) ids.push(job.jobId);
    expect(ids).toEqual(["job_1", "job_2", "job_3"]);
    expect(service.seen.map((seen) => seen.path)).toEqual([
      "/v3/jobs?limit=1",
      "/v3/jobs?limit=1&cursor=c1",
      "/v3/jobs?limit=1&cursor=c2",
    ]);
  });
});

describe("webhooks and deliveries", () => {
  test("a job that names no webhook leaves the field out, so that the account's default applies", async () => {
    const { client, service } = await setUp([ack()]);
    await client.submit(submitted);
    await client.submit({ ...submitted, webhook: "https://me.example/hook" });
    const bodies = service.seen.map((seen) => JSON.parse(seen.body));
    expect("webhook" in bodies[0]).toBe(false);
    expect(bodies[1].webhook).toBe("https://me.example/hook");
  });

  test("redelivery_count may exceed the history, and event_type and last_error may be null", async () => {
    const row = {
      ...{ job_id: "job_1", job_accessible: true, model: "m", event_type: null, status: "PENDING", source: "default" },
      ...{ attempts: 3, redelivery_count: 5, redeliveries: [{ status: "FAILED", attempts: 2 }] },
      webhook_url: "https://x.example",
    };
    const { client } = await setUp([json(200, { data: [row], next_cursor: null })]);
    const [delivery] = (await client.webhooks.deliveries().page()).data;
    expect(delivery).toMatchObject({ redeliveryCount: 5, eventType: null, lastError: null });
    expect(delivery!.redeliveries).toHaveLength(1);
  });

  test("a delivery whose job is not accessible is still listed, and reading that job is a 404", async () => {
    const delivered = { status: "DELIVERED", attempts: 1, redelivery_count: 0, redeliveries: [] };
    const row = { job_id: "job_9", job_accessible: false, ...delivered };
    const { client } = await setUp([json(200, { data: [row], next_cursor: null }), failure(404, "NOT_FOUND")]);
    const [delivery] = (await client.webhooks.deliveries().page()).data;
    expect(delivery!.jobAccessible).toBe(false);
    expect(await fails(client.job(delivery!.jobId))).toMatchObject({ status: 404 });
  });

  test("a redelivery while one is in flight is a 409 that is not repeated", async () => {
    const { client, service } = await setUp([
      failure(409, "ALREADY_IN_PROGRESS", { retryable: true }, { "retry-after": "5" }),
    ]);
    expect(await fails(client.webhooks.redeliver("job_1"))).toMatchObject({ status: 409 });
    expect(service.seen).toHaveLength(1);
  });

  test("a chat job sends no webhook, so following it by webhook ends by the timer behind it", async () => {
    const { client } = await setUp([json(200, jobBody("COMPLETED", { outputs: [] }))]);
    const told: FollowEvent[] = [];
    for await (const event of client.follow("job_1", { strategy: "webhook" })) told.push(event);
    expect(told).toMatchObject([{ type: "finished", outcome: "completed", job: { outputs: [] } }]);
  });

  test("a chat call whose answer was lost is not sent again, since it has no key [WT5]", async () => {
    const { client, service } = await setUp([hangUp]);
    expect(await fails(client.chat({ model: "m", messages: [] }))).toMatchObject({
      code: "CONNECTION_FAILED",
      sent: true,
    });
    expect(service.seen).toHaveLength(1);
  });
});

describe("deleting", () => {
  test("a 503 is sent again until the deletion is complete", async () => {
    const { client, service } = await setUp([
      failure(503, "UNAVAILABLE", { retryable: true, retry_after: 1 }),
      json(204, undefined),
    ]);
    await client.deleteJob("job_1");
    expect(service.seen).toHaveLength(2);
  });

  test.each([
    ["", failure(409, "ALREADY_IN_PROGRESS"), 6_000],
    [
      ", as long as it asks for",
      failure(409, "ALREADY_IN_PROGRESS", { retryable: true }, { "retry-after": "7" }),
      14_000,
    ],
  ])("a 409 is waited out%s, bounded, or thrown when nobody wants to wait", async (_name, busy, waitMs) => {
    const clock = skippingClock();
    const { client, service } = await setUp([busy, busy, json(204, undefined)], { clock });
    const before = clock.now();
    await client.deleteJob("job_1");
    expect(service.seen).toHaveLength(3);
    expect(clock.now() - before).toBe(waitMs);
    const { client: never } = await setUp([busy]);
    expect(await fails(never.deleteJob("job_1"))).toMatchObject({ status: 409 });
    const { client: hasty, service: asked } = await setUp([busy]);
    expect(await fails(hasty.deleteJob("job_1", { waitForRunning: false }))).toMatchObject({ status: 409 });
    expect(asked.seen).toHaveLength(1);
  });

  test("the 400 for a voice clone is final", async () => {
    const { client, service } = await setUp([failure(400, "INVALID_ARGUMENT")]);
    expect(await fails(client.deleteJob("job_1"))).toMatchObject({ status: 400 });
    expect(service.seen).toHaveLength(1);
  });
});

describe("deployments that differ", () => {
  test("endpoints beyond the description may be missing: a 404 in any form, at once", async () => {
    const { client, service } = await setUp([
      failure(404, "NOT_FOUND"),
      (_request, response) => void response.writeHead(404).end("<html>"),
      failure(404, "NOT_FOUND"),
    ]);
    expect(await fails(client.usage())).toMatchObject({ code: "NOT_FOUND", status: 404 });
    expect(await fails(client.webhooks.deliveries().page())).toMatchObject({
      code: "UNKNOWN",
      status: 404,
      envelope: false,
    });
    expect(await fails(client.drains.list().page())).toMatchObject({ status: 404 });
    expect(service.seen).toHaveLength(3);
  });

  test("a status answer without logs_next_cursor is followed from the old cursor", async () => {
    const { client, service } = await setUp([
      json(200, statusBody("IN_PROGRESS", { logs: [{ id: 1 }] })),
      json(200, statusBody("COMPLETED", { logs: [{ id: 1 }, { id: 2 }] })),
      json(200, jobBody("COMPLETED")),
    ]);
    const logs: number[] = [];
    for await (const event of client.follow("job_1", { strategy: "poll" }))
      if (event.type === "log") logs.push(event.log.id);
    expect(logs).toEqual([1, 2]);
    expect(service.seen.map((seen) => seen.path.split("?")[1])).toEqual([
      "logs_after=start",
      "logs_after=start",
      undefined,
    ]);
  });
});
