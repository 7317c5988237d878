import { createHmac } from "node:crypto";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  createClient,
  createDrainHandler,
  createWebhookHandler,
  type DrainEvent,
  seenInFile,
  verifyWebhook,
  type WebhookEvent,
  type WebhookHandlerOptions,
} from "../../../src/core/api/index.ts";
import { fakeService, jobBody, json } from "../../support/fake-service.ts";
import { type SignedParts, signedHeaders, signingKey } from "../../support/signed-webhook.ts";
import { SimulatedClock } from "../../support/simulated-clock.ts";
import { newFolder } from "../../support/temporary-folder.ts";

const body = JSON.stringify(jobBody("COMPLETED"));

const posted = (parts: SignedParts, sent = parts.body) =>
  new Request("http://receiver.example/hook", { method: "POST", headers: signedHeaders(parts), body: sent });

function setUp(options: Partial<WebhookHandlerOptions> = {}) {
  const clock = new SimulatedClock();
  const { privateKey, publicKey } = signingKey();
  const events: WebhookEvent[] = [];
  const handler = createWebhookHandler({ publicKey, clock, onEvent: (event) => void events.push(event), ...options });
  const parts = (more: Partial<SignedParts> = {}) => ({ privateKey, body, signedAt: clock.now(), ...more });
  const post = (more: Partial<SignedParts> = {}, sent?: string) => handler(posted(parts(more), sent));
  return { clock, publicKey, events, handler, parts, post };
}

test("a genuine delivery of any brand is handled, with or without a Redelivery header [WH5]", async () => {
  for (const [brand, redelivery] of [
    ["Studio", "false"],
    ["acme-media", null],
  ] as const) {
    const { events, post } = setUp();
    expect((await post({ brand, redelivery })).status).toBe(200);
    expect(events).toMatchObject([
      {
        id: "job_1",
        event: "job.completed",
        redelivery: false,
        attempt: 1,
        brand: brand.toLowerCase(),
        job: { jobId: "job_1" },
      },
    ]);
  }
});

test("a delivery of another brand than the required one is refused", async () => {
  const { post, events } = setUp({ brand: "Studio" });
  expect((await post({ brand: "Other" })).status).toBe(400);
  expect(events).toEqual([]);
});

test("an event is handled once however often it is delivered, and again when a person asks for it [N11 N13]", async () => {
  const { events, post } = setUp();
  expect((await Promise.all([post(), post()])).map((response) => response.status)).toEqual([200, 200]);
  expect((await post({ body: JSON.stringify(jobBody("COMPLETED", { other: "signed anew" })) })).status).toBe(200);
  expect(events).toHaveLength(1);
  expect((await post({ redelivery: "true" })).status).toBe(200);
  expect(events.map((event) => event.redelivery)).toEqual([false, true]);
});

test("the same signed replay is handled once, a replay signed anew again", async () => {
  const { events, post, clock } = setUp();
  const signedAt = clock.now();
  const replay = { redelivery: "true" as const, signedAt };
  expect([(await post(replay)).status, (await post(replay)).status]).toEqual([200, 200]);
  expect(events).toHaveLength(1);
  expect((await post({ ...replay, signedAt: signedAt + 1000 })).status).toBe(200);
  expect(events).toHaveLength(2);
});

test("a handler that throws gets the event again", async () => {
  let failures = 1;
  const { post } = setUp({
    onEvent: () => {
      if (failures-- > 0) throw new Error("full disk");
    },
  });
  expect([(await post()).status, (await post()).status]).toEqual([500, 200]);
  expect(failures).toBe(-1);
});

test("what is stale, forged, too large or no POST is refused [WH4]", async () => {
  const { clock, post, handler, events } = setUp({ maxBytes: 2_000 });
  expect((await post({ signedAt: clock.now() - 301_000 })).status).toBe(401);
  expect((await post({ signedAt: clock.now() + 302_000 })).status).toBe(401);
  expect((await post({}, body.replace("COMPLETED", "FAILED"))).status).toBe(401);
  expect((await post({ privateKey: signingKey().privateKey })).status).toBe(401);
  expect((await post({ body: "x".repeat(2_001) })).status).toBe(413);
  expect((await post({ body: "no json" })).status).toBe(400);
  expect((await handler(new Request("http://receiver.example/hook"))).status).toBe(405);
  expect((await handler(new Request("http://receiver.example/hook", { method: "POST", body }))).status).toBe(400);
  expect(events).toEqual([]);
});

test("no change of any signed part passes, and nothing makes the check throw [WH3]", () => {
  const { parts, publicKey, clock } = setUp();
  const headers = signedHeaders(parts());
  const names = Object.keys(headers).filter((name) => !name.endsWith("Attempt"));
  fc.assert(
    fc.property(fc.constantFrom(...names), fc.string(), (name, value) => {
      fc.pre(value.trim().toLowerCase() !== headers[name]?.toLowerCase());
      // A missing Redelivery means false; an empty one does not.
      const verdict = verifyWebhook({
        headers: { ...headers, [name]: value },
        body: Buffer.from(body),
        publicKey,
        now: clock.now(),
      });
      expect(verdict.ok).toBe(false);
    }),
  );
});

test("a rotated key is fetched anew, but not more than once a minute for forgeries", async () => {
  const clock = new SimulatedClock();
  const [old, next] = [signingKey(), signingKey()];
  let current = old;
  let fetched = 0;
  const service = await fakeService((request, response) => {
    fetched++;
    json(200, { algorithm: "ed25519", public_key: current.publicKey })(request, response);
  });
  const client = createClient({ baseUrl: service.baseUrl, apiKey: "k:s" });
  try {
    const handler = createWebhookHandler({ client, clock });
    const post = (privateKey: typeof old.privateKey) => handler(posted({ privateKey, body, signedAt: clock.now() }));
    expect([(await post(old.privateKey)).status, (await post(old.privateKey)).status]).toEqual([200, 200]);
    expect(fetched).toBe(1);
    current = next;
    await clock.advance(61_000);
    expect((await post(next.privateKey)).status).toBe(200);
    expect(fetched).toBe(2);
    const forger = signingKey().privateKey;
    for (let index = 0; index < 5; index++) expect((await post(forger)).status).toBe(401);
    expect(fetched).toBe(2);
  } finally {
    await client.close();
    await service.close();
  }
});

test("a receiver without a key to check by asks for the delivery again", async () => {
  const service = await fakeService(json(500, {}));
  const client = createClient({ baseUrl: service.baseUrl, apiKey: "k:s", retry: { maxAttempts: 1 } });
  const { parts, clock } = setUp();
  const handler = createWebhookHandler({ client, clock });
  expect((await handler(posted(parts()))).status).toBe(503);
  await client.close();
  await service.close();
});

test("ids remembered in a file survive a restart", async () => {
  const path = join(newFolder(), "seen.db");
  const before = seenInFile(path);
  await before.add("job_1");
  before.close();
  const after = seenInFile(path);
  expect([await after.has("job_1"), await after.has("job_2")]).toEqual([true, false]);
  after.close();
});

test("a log drain's batch is accepted when its HMAC fits and refused when not", async () => {
  const secret = "s".repeat(64);
  const taken: DrainEvent[] = [];
  const handler = createDrainHandler({ secret, onEvents: (events) => void taken.push(...events) });
  const line = {
    ...{ timestamp: "2030-01-01T00:00:00Z", level: "info", message: "m", studio_job_id: "job_1", studio_model: "x" },
    ...{ studio_event: "queued", studio_source: "api" },
  };
  const lines = [1, 2].map((id) => JSON.stringify({ ...line, studio_log_id: id }));
  const batch = `${lines.join("\n")}\n`;
  const post = (signature: string, sent = batch) =>
    handler(
      new Request("http://r.example", { method: "POST", headers: { "X-Studio-Signature": signature }, body: sent }),
    );
  const signature = createHmac("sha256", secret).update(batch).digest("hex");
  expect((await post(signature)).status).toBe(200);
  expect(taken.map((event) => [event.logId, event.jobId, event.event])).toEqual([
    ["1", "job_1", "queued"],
    ["2", "job_1", "queued"],
  ]);
  expect([(await post(signature, `${batch}{}`)).status, (await post("00")).status]).toEqual([401, 401]);
  expect(taken).toHaveLength(2);
});
