import { expect, test } from "vitest";
import { announced, bodyOf, deliveryOf, ended, eventOf } from "../support/deliveries.ts";
import { receiver } from "../support/receiver.ts";
import { ask, finished, get, key, post, read, refusal, start, startHeld } from "../support/service.ts";

const PATH = "/webhooks/default";

test("the default webhook is set, read, replaced and forgotten [P29 WH9]", async () => {
  const service = await start();
  const [keyId] = service.apiKey.split(":");
  service.clock.manual();
  const none = { url: null, enabled: false, updated_at: null, updated_by_key_id: null };
  expect(await get(service, PATH)).toMatchObject({ status: 200, body: none });
  const set = await ask(service, "PUT", PATH, { body: { url: "https://example.com/a" } });
  const updated_at = new Date(service.clock.now()).toISOString();
  const shown = { url: "https://example.com/a", enabled: true, updated_at, updated_by_key_id: keyId };
  expect([set.status, set.body]).toEqual([200, shown]);
  await ask(service, "PUT", PATH, { body: { url: "https://example.com/b", enabled: false } });
  expect(await read(service, PATH)).toMatchObject({ url: "https://example.com/b", enabled: false });
  for (let turn = 0; turn < 2; turn++) expect((await ask(service, "DELETE", PATH)).status).toBe(204);
  expect((await read(service, PATH)).url).toBe(null);
});

test.each([{}, { url: "nonsense" }, { url: "ftp://example.com" }, { url: 7 }, { url: null }])(
  "a default webhook of %j is 400 with param url",
  async (body) => {
    const error = { code: "INVALID_ARGUMENT", param: "url" };
    expect(await ask(await start(), "PUT", PATH, { body })).toMatchObject(refusal(400, error));
  },
);

test("a job that names no webhook goes to the default; one that does, to its own [D5 D7 N4 N5 P29]", async () => {
  const service = await start();
  const byDefault = await receiver();
  const own = await receiver();
  await ask(service, "PUT", PATH, { body: { url: byDefault.url, enabled: null } });
  const first = await announced(service, null);
  const second = await announced(service, own.url);
  expect(await ended(service, first, 1)).toMatchObject({ source: "default", webhook_url: byDefault.url });
  expect(await ended(service, second, 1)).toMatchObject({ source: "per_job", webhook_url: own.url });
  expect([byDefault.received.length, own.received.length]).toEqual([1, 1]);
});

test("the URL is fixed at submit: a default changed later does not move the delivery [WH17]", async () => {
  const service = await startHeld({ speed: 1 });
  const old = await receiver();
  const next = await receiver();
  await ask(service, "PUT", PATH, { body: { url: old.url } });
  const jobId = await announced(service, null);
  await ask(service, "PUT", PATH, { body: { url: next.url } });
  while ((await read(service, `/jobs/${jobId}`)).status !== "COMPLETED") await service.clock.advance(1_000);
  expect(await ended(service, jobId, 1)).toMatchObject({ status: "DELIVERED", webhook_url: old.url });
  expect([old.received.length, next.received.length]).toEqual([1, 0]);
});

test("a default that is switched off, or was forgotten, gets nothing", async () => {
  const service = await start();
  const hook = await receiver();
  await ask(service, "PUT", PATH, { body: { url: hook.url, enabled: false } });
  const off = await announced(service, null);
  await ask(service, "DELETE", PATH);
  const gone = await announced(service, null);
  await finished(service, gone);
  expect([await deliveryOf(service, off), await deliveryOf(service, gone)]).toEqual([undefined, undefined]);
  expect(hook.received).toHaveLength(0);
});

test("each workspace has its own default [WC16]", async () => {
  const service = await start();
  const elsewhere = { credential: await key(service, { workspace_id: "elsewhere", owner_id: "someone" }) };
  await ask(service, "PUT", PATH, { body: { url: "https://example.com/a" } });
  expect((await read(service, PATH, elsewhere)).url).toBe(null);
});

test("a test sends a signed event of its own kind, and makes no delivery [WH10]", async () => {
  const service = await start();
  const hook = await receiver();
  await ask(service, "PUT", PATH, { body: { url: hook.url } });
  const reply = await post(service, `${PATH}/test`, {});
  expect(reply.body).toEqual({ ok: true, response_status: 200, error: null });
  expect(await eventOf(service, hook.received[0])).toMatchObject({ event: "webhook.test", redelivery: false });
  expect(bodyOf(hook.received[0])).toMatchObject({ status: "COMPLETED", outputs: [] });
  expect((await read(service, "/webhooks/deliveries")).data).toEqual([]);
});

test("a test that fails says how, by code, and there is none without a default", async () => {
  const service = await start();
  expect((await ask(service, "POST", `${PATH}/test`)).status).toBe(404);
  const hook = await receiver(() => 418);
  for (const [url, response_status, error] of [
    [hook.url, 418, /^INVALID_ARGUMENT: /],
    ["http://192.168.1.1/", null, /^FAILED_PRECONDITION: /],
  ] as const) {
    await ask(service, "PUT", PATH, { body: { url } });
    const { body } = await ask(service, "POST", `${PATH}/test`);
    expect(body).toMatchObject({ ok: false, response_status, error: expect.stringMatching(error) });
  }
});

test("the public key is open to everyone, 32 raw bytes, and stays the same [WH8]", async () => {
  const service = await start();
  const first = await get(service, "/webhooks/public-key", { credential: null });
  expect(first).toMatchObject({ status: 200, body: { algorithm: "ed25519" } });
  expect(Buffer.from(first.body.public_key, "base64")).toHaveLength(32);
  expect(await read(service, "/webhooks/public-key")).toEqual(first.body);
});
