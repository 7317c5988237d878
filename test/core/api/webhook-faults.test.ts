import { createServer } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { afterAll, afterEach, expect, test } from "vitest";
import {
  createClient,
  createWebhookHandler,
  type FollowEvent,
  type WebhookEvent,
  type WebhookHandlerOptions,
} from "../../../src/core/api/index.ts";
import { type FaultRule, startLocalService } from "../../../src/local-service/index.ts";
import { listen } from "../../support/listen.ts";
import { SimulatedClock } from "../../support/simulated-clock.ts";
import { watchLeftovers } from "./support/leftovers.ts";

const leftovers = watchLeftovers();
const open: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});
afterAll(() => leftovers.stop());

/** A service held by hand, a client that waits for webhooks only, and a receiver of the real handler between them. */
async function setUp(faults: readonly FaultRule[], onEvent: WebhookHandlerOptions["onEvent"] = () => {}) {
  const service = await startLocalService({ renderer: "stub" });
  service.clock.manual();
  service.faults(faults);
  const clock = new SimulatedClock(Date.now());
  const client = createClient({ baseUrl: service.baseUrl, apiKey: service.apiKey, clock });
  const handled: WebhookEvent[] = [];
  const answers: number[] = [];
  const waiting = new Set<() => void>();
  const handler = createWebhookHandler({
    client,
    clock: { now: () => service.clock.now(), setTimer: (delayMs, fire) => clock.setTimer(delayMs, fire) },
    async onEvent(event) {
      await onEvent(event);
      handled.push(event);
    },
  });
  const { origin, close } = await listen(
    createServer(
      getRequestListener(async (request) => {
        const response = await handler(request);
        answers.push(response.status);
        for (const tell of waiting) tell();
        return response;
      }),
    ),
  );
  open.push(async () => {
    await client.close();
    await leftovers.expectNone(service.port, clock);
    await service.close();
    await close();
  });
  return {
    service,
    client,
    clock,
    url: `${origin}/hook`,
    handled,
    /** Statuses that the receiver answered, in their order. */
    answers,
    async answered(count: number) {
      while (answers.length < count) {
        await new Promise<void>((resolve) => waiting.add(resolve));
        waiting.clear();
      }
    },
  };
}

type Scene = Awaited<ReturnType<typeof setUp>>;

async function submitted({ client, url }: Scene, prompt: string) {
  return client.submit({ model: "image-1", input: { prompt }, idempotencyKey: prompt, webhook: url });
}

async function endOf({ client }: Scene, jobId: string): Promise<FollowEvent | undefined> {
  let last: FollowEvent | undefined;
  for await (const event of client.follow(jobId, { strategy: "webhook" })) last = event;
  return last;
}

async function ended({ client }: Scene, jobId: string): Promise<void> {
  while ((await client.job(jobId)).status !== "COMPLETED") await new Promise((resolve) => setImmediate(resolve));
}

test("a webhook sent twice is answered twice, handled once, and ends the follow", async () => {
  const scene = await setUp([{ kind: "webhook_duplicate" }]);
  const { jobId } = await submitted(scene, "a fox");
  expect(await endOf(scene, jobId)).toMatchObject({ type: "finished", outcome: "completed" });
  await scene.answered(2);
  expect(scene.answers).toEqual([200, 200]);
  expect(scene.handled.map((event) => event.id)).toEqual([jobId]);
});

test("webhooks out of order each end the follow of their own job", async () => {
  const scene = await setUp([
    { kind: "webhook_delay", delay_ms: 3_000, prompt: "first" },
    { kind: "webhook_delay", delay_ms: 1_000, prompt: "second" },
  ]);
  const jobs = [await submitted(scene, "first"), await submitted(scene, "second")];
  const follows = Promise.all(jobs.map(({ jobId }) => endOf(scene, jobId)));
  for (const { jobId } of jobs) await ended(scene, jobId);
  expect(scene.handled).toEqual([]);
  await scene.service.clock.advance(3_000);
  const ends = await follows;
  expect(scene.handled.map((event) => event.id)).toEqual([jobs[1]!.jobId, jobs[0]!.jobId]);
  expect(ends).toMatchObject(jobs.map(({ jobId }) => ({ outcome: "completed", job: { jobId } })));
});

test("a webhook that never comes is replaced by the timer behind it", async () => {
  const scene = await setUp([{ kind: "webhook_never" }]);
  const { jobId } = await submitted(scene, "a fox");
  await ended(scene, jobId);
  const follow = endOf(scene, jobId);
  let isOver = false;
  follow.finally(() => (isOver = true));
  for (let turn = 0; turn < 10_000 && !isOver; turn++) {
    // Only the follow's own timer may run out, not those that guard a request under way.
    if (scene.client.pace().inFlight === 0) await scene.clock.step();
    else await new Promise((resolve) => setImmediate(resolve));
  }
  expect(await follow).toMatchObject({ outcome: "completed" });
  expect(scene.answers).toEqual([]);
});

test("an event whose handling failed is delivered again, and then handled once", async () => {
  let fails = 2;
  const scene = await setUp([], () => {
    if (fails-- > 0) throw new Error("the database is away");
  });
  const { jobId } = await submitted(scene, "a fox");
  const follow = endOf(scene, jobId);
  await scene.answered(1);
  await scene.service.clock.advance(10_000);
  await scene.answered(2);
  await scene.service.clock.advance(30_000);
  expect(await follow).toMatchObject({ outcome: "completed" });
  expect(scene.answers).toEqual([500, 500, 200]);
  expect(scene.handled).toHaveLength(1);
});
