import { expect, test } from "vitest";
import {
  type AccountEvent,
  createWebhookHandler,
  verifyWebhook,
  type WebhookEvent,
  type WebhookHandlerOptions,
} from "../../../src/core/api/index.ts";
import { createWebhookReceiver } from "../../../src/fleet/worker/index.ts";
import { createMemoryJournal, openShowrunner } from "../../../src/index.ts";
import { jobBody } from "../../support/fake-service.ts";
import { jsonOf, startReceiver } from "../../support/receiver.ts";
import { signedHeaders, signingKey } from "../../support/signed-webhook.ts";

const failure = {
  ...{ id: "evt_0b5e", type: "billing.top_off_failed", created_at: "2026-11-28T10:00:00Z" },
  ...{ reason: "payment_method_declined", amount_attempted: 50, balance: 3.2, currency: "USD" },
};
const { privateKey, publicKey } = signingKey();

const delivery = (body: object, event = "billing.top_off_failed", id = "evt_0b5e") => {
  const text = JSON.stringify(body);
  const headers = signedHeaders({ privateKey, body: text, signedAt: Date.now(), id, event });
  return { headers, text, request: () => new Request("http://r.test/", { method: "POST", headers, body: text }) };
};

const verified = (sent: ReturnType<typeof delivery>) =>
  verifyWebhook({ headers: sent.headers, body: Buffer.from(sent.text), publicKey, now: Date.now() });

test("a top-up that failed is verified like every delivery, and is of no job", () => {
  const verdict = verified(delivery(failure));
  expect(verdict).toMatchObject({
    ok: true,
    event: {
      ...{ id: "evt_0b5e", event: "billing.top_off_failed", job: null },
      topOffFailure: { reason: "payment_method_declined", amountAttemptedMicros: 50_000_000, balanceMicros: 3_200_000 },
    },
  });
  const forged = delivery(failure);
  const body = Buffer.from(forged.text.replace("3.2", "9.2"));
  const altered = verifyWebhook({ headers: forged.headers, body, publicKey, now: Date.now() });
  expect(altered).toEqual({ ok: false, reason: "bad-signature" });
});

test("no body makes a job of an event of the account, nor an event of the account of a job's", () => {
  const both = { ...jobBody("COMPLETED"), ...failure };
  expect(verified(delivery(both))).toMatchObject({ ok: true, event: { job: null } });
  expect(verified(delivery(both, "billing.of_tomorrow"))).toMatchObject({
    ok: true,
    event: { job: null, topOffFailure: null },
  });
  expect(verified(delivery(both, "job.completed"))).toMatchObject({ ok: true, event: { job: { jobId: "job_1" } } });
  expect(verified(delivery(failure, "job.completed"))).toEqual({ ok: false, reason: "malformed-body" });
  expect(verified(delivery({ id: "evt_1" }))).toEqual({ ok: false, reason: "malformed-body" });
});

test("a handler gives it to onAccountEvent once, or warns, and never to onEvent or to who follows jobs", async () => {
  const [jobs, account, notified, warned]: [WebhookEvent[], AccountEvent[], string[], unknown[]] = [[], [], [], []];
  const ignore = () => {};
  const checks: WebhookHandlerOptions = {
    publicKey,
    onEvent: (event) => void jobs.push(event),
    client: { notify: (id: string) => notified.push(id), expectWebhooks: ignore } as never,
    logger: { debug: ignore, info: ignore, error: ignore, warn: (fields) => void warned.push(fields) },
  };
  const told = createWebhookHandler({ ...checks, onAccountEvent: (event) => void account.push(event) });
  for (let times = 0; times < 2; times++) expect((await told(delivery(failure).request())).status).toBe(200);
  expect(account.map(({ id }) => id)).toEqual(["evt_0b5e"]);
  expect((await createWebhookHandler(checks)(delivery(failure).request())).status).toBe(200);
  expect(warned).toMatchObject([{ event: "billing.top_off_failed", reason: "payment_method_declined" }]);
  expect([jobs, notified]).toEqual([[], []]);
});

test("a worker tells people of it, and asks for it again where nobody could be told", async () => {
  await using target = await startReceiver((index) => (index === 0 ? 503 : 204));
  const show = await openShowrunner({ local: true, journal: createMemoryJournal(), notify: target.url });
  const news: string[] = [];
  const jobs: string[] = [];
  const receive = createWebhookReceiver({
    ...{ show, publicKey },
    onNews: (message) => void news.push(message),
    onDelivery: (jobId) => void jobs.push(jobId),
  });
  expect((await receive(delivery(failure).request())).status).toBe(500);
  expect((await receive(delivery(failure).request())).status).toBe(200);
  const message = expect.stringMatching(
    /top-up of the wallet by \$50\.00 failed \(payment_method_declined\); \$3\.20 is left/,
  );
  expect(news).toEqual([message, message]);
  expect(jobs).toEqual([]);
  expect(jsonOf(target.received.at(-1)!)).toMatchObject({
    id: "evt_0b5e",
    event: "billing.top_off_failed",
    run: null,
    message,
  });
  await show.close();
});
