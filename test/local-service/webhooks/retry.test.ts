import { expect, test } from "vitest";
import type { LocalService } from "../../../src/local-service/index.ts";
import { announced, bodyOf, deliveryOf, ended, eventOf } from "../support/deliveries.ts";
import { receiver } from "../support/receiver.ts";
import { start, startHeld } from "../support/service.ts";

const RETRY_DELAYS_S = [10, 30, 90, 270, 810, 2430, 3600, 3600, 3600, 3600, 3600];

test("a failing webhook is tried 12 times, each exactly at its delay of the retry schedule, and then FAILED [D11 N2 N8 N10 WH12]", async () => {
  const service = await startHeld();
  const hook = await receiver(() => 500);
  const jobId = await announced(service, hook.url);
  expect(await ended(service, jobId, 1)).toMatchObject({ status: "PENDING", last_response_status: 500 });
  for (const [attempt, seconds] of RETRY_DELAYS_S.entries()) {
    await service.clock.advance(seconds * 1000 - 1);
    expect(hook.received).toHaveLength(attempt + 1);
    await service.clock.advance(1);
    expect(hook.received).toHaveLength(attempt + 2);
    expect(await eventOf(service, hook.received.at(-1))).toMatchObject({ attempt: attempt + 2, id: jobId });
  }
  const last_error = { code: "UNAVAILABLE", retryable: true };
  expect(await deliveryOf(service, jobId)).toMatchObject({ status: "FAILED", attempts: 12, last_error });
  await service.clock.advance(86_400_000);
  expect(hook.received).toHaveLength(12);
});

test("every attempt is signed afresh, and so are the URLs in its body [N15 T11 WH7]", async () => {
  const service = await startHeld();
  const hook = await receiver((index) => (index < 2 ? 500 : 200));
  const jobId = await announced(service, hook.url);
  await ended(service, jobId, 1);
  await service.clock.advance(40_000);
  const events = await Promise.all(hook.received.map((post) => eventOf(service, post)));
  const signed = events.map(({ id, attempt, signedAt }) => [id, attempt, signedAt - events[0]!.signedAt]);
  expect(signed).toEqual([0, 10_000, 40_000].map((after, index) => [jobId, index + 1, after]));
  const urls = hook.received.map((post) => bodyOf(post).outputs[0].url);
  expect(new Set(urls).size).toBe(3);
});

test.each([
  [302, "UNAVAILABLE"],
  [404, "NOT_FOUND"],
  [410, "INVALID_ARGUMENT"],
])("an answer of %i is kept as %s, and tried again [D16 N7 WH16]", async (status, code) => {
  const service = await startHeld();
  const hook = await receiver((index) => (index === 0 ? status : 200));
  const jobId = await announced(service, hook.url);
  const row = await ended(service, jobId, 1);
  expect(row).toMatchObject({ status: "PENDING", last_response_status: status, last_error: { code } });
  await service.clock.advance(10_000);
  const after = { status: "DELIVERED", attempts: 2, last_response_status: 200 };
  expect(await deliveryOf(service, jobId)).toMatchObject(after);
});

test.each([
  ["a receiver that does not answer in time", "DEADLINE_EXCEEDED", async () => (await receiver(() => undefined)).url],
  ["a port where nobody listens", "UNAVAILABLE", async () => "http://127.0.0.1:1/"],
])("%s counts as %s, without a response status [D15 N7 WH16]", async (_what, code, urlOf) => {
  const service = await start({ deliveryTimeoutMs: 50 });
  const row = { status: "PENDING", last_response_status: null, last_error: { code, retryable: true } };
  expect(await ended(service, await announced(service, await urlOf()), 1)).toMatchObject(row);
});

test.each([
  ["a blocked range", () => "http://169.254.169.254/latest/meta-data"],
  ["the service itself", ({ baseUrl }: LocalService) => new URL("/_local/wallet", baseUrl).href],
])("a webhook into %s fails at once and for good [N14 WH15]", async (_where, urlOf) => {
  const service = await startHeld();
  const jobId = await announced(service, urlOf(service));
  const row = await ended(service, jobId, 1);
  const last_error = { code: "FAILED_PRECONDITION", retryable: false };
  expect(row).toMatchObject({ status: "FAILED", attempts: 1, last_response_status: null, last_error });
  await service.clock.advance(86_400_000);
  expect(await deliveryOf(service, jobId)).toEqual(row);
});

test("last_error leaks nothing: no destination, credential, header or answer, only fixed words [D16 D18]", async () => {
  const service = await start();
  const hook = await receiver((_index, response) => {
    response.writeHead(500, { "X-Internal": "db-7.internal" }).end("Traceback: password=swordfish at 10.1.2.3");
    return undefined;
  });
  const { port } = new URL(hook.url);
  const jobId = await announced(service, `http://user:hunter2@127.0.0.1:${port}/secret-path?token=abc`);
  const { last_error } = await ended(service, jobId, 1);
  expect(last_error).toEqual({
    code: "UNAVAILABLE",
    message: "The destination could not be reached, or answered with a redirect or a server error.",
    retryable: true,
  });
  expect(hook.received[0]!.headers.authorization).toBe(`Basic ${btoa("user:hunter2")}`);
});

test("one slow receiver has at most eight POSTs at once, and does not hold up another", async () => {
  const service = await start();
  let open = 0;
  let most = 0;
  let answers: (() => void)[] = [];
  let isHeld = true;
  const slow = await receiver((_index, response) => {
    if (!isHeld) return 200;
    open += 1;
    most = Math.max(most, open);
    answers.push(() => {
      open -= 1;
      response.writeHead(200).end();
    });
    return undefined;
  });
  const quick = await receiver();
  await Promise.all(Array.from({ length: 30 }, () => announced(service, slow.url)));
  await slow.arrived(8);
  await announced(service, quick.url);
  await quick.arrived(1);
  expect(open).toBe(8);
  isHeld = false;
  for (const answer of answers.splice(0)) answer();
  await slow.arrived(30);
  expect(most).toBe(8);
  answers = [];
});
