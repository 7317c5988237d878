import fc from "fast-check";
import { expect, test } from "vitest";
import { isFull } from "../../support/sample.ts";
import { announced, deliveryOf, ended, eventOf, redeliver } from "../support/deliveries.ts";
import { receiver } from "../support/receiver.ts";
import { ask, type Body, get, key, read, refusal, start, startHeld } from "../support/service.ts";

test("a replay sends the event again under its id, marked as a redelivery in header and signature [D11 N10 P30 T10 T12 WH1 WH11]", async () => {
  const service = await start();
  const hook = await receiver();
  const jobId = await announced(service, hook.url);
  await ended(service, jobId, 1);
  const reply = await redeliver(service, jobId);
  expect(reply).toMatchObject({ status: 200, body: { job_id: jobId, status: "PENDING", redelivery_count: 1 } });
  const [, second] = await hook.arrived(2);
  expect(second!.headers["x-studio-webhook-redelivery"]).toBe("true");
  const event = { id: jobId, event: "job.completed", redelivery: true, attempt: 2 };
  expect(await eventOf(service, second)).toMatchObject(event);
});

test("attempts are cumulative, and the history holds each delivery as it stood when the replay was requested [D6 D12 D13 D20 T10 T12 WH13]", async () => {
  const service = await startHeld();
  const statuses = [404, 404, 200, 503, 204];
  const hook = await receiver((index) => statuses[index] ?? 200);
  const jobId = await announced(service, hook.url);
  await ended(service, jobId, 1);
  await service.clock.advance(40_000);
  const first = await deliveryOf(service, jobId);
  expect(first).toMatchObject({ status: "DELIVERED", attempts: 3, last_response_status: 200 });
  await service.clock.advance(1_000);
  const firstAsked = service.clock.now();
  await redeliver(service, jobId);
  await ended(service, jobId, 4);
  await service.clock.advance(10_000);
  const second = await deliveryOf(service, jobId);
  expect(second).toMatchObject({ status: "DELIVERED", attempts: 5, last_response_status: 204 });
  await redeliver(service, jobId);
  const { redeliveries, redelivery_count } = await ended(service, jobId, 6);
  expect(redelivery_count).toBe(2);
  const asItStood = (row: Body, requestedAt: number) => {
    const { status, attempts, last_response_status, last_error, last_attempt_at } = row;
    const requested_at = new Date(requestedAt).toISOString();
    return { requested_at, status, attempts, last_response_status, last_error, last_attempt_at };
  };
  expect(redeliveries).toEqual([asItStood(first, firstAsked), asItStood(second, service.clock.now())]);
  expect(redeliveries[0].last_error).toMatchObject({ code: "NOT_FOUND" });
});

test("every attempt of a replayed cycle carries the redelivery mark, and has the whole retry schedule again [N12]", async () => {
  const service = await startHeld();
  const hook = await receiver(() => 500);
  const jobId = await announced(service, hook.url);
  await ended(service, jobId, 1);
  await service.clock.advance(21_640_000);
  expect(await deliveryOf(service, jobId)).toMatchObject({ status: "FAILED", attempts: 12 });
  await redeliver(service, jobId);
  await ended(service, jobId, 13);
  await service.clock.advance(21_640_000);
  expect(await deliveryOf(service, jobId)).toMatchObject({ status: "FAILED", attempts: 24, redelivery_count: 1 });
  const marks = hook.received.map((post) => post.headers["x-studio-webhook-redelivery"]);
  expect(marks).toEqual([...new Array(12).fill("false"), ...new Array(12).fill("true")]);
});

test("a delivery that has not finished is 409, before its job ends and between attempts [E37 P32 WH19]", async () => {
  const service = await startHeld({ speed: 1 });
  const hook = await receiver(() => 500);
  const jobId = await announced(service, hook.url);
  const refused = refusal(409, "ALREADY_IN_PROGRESS");
  expect(await redeliver(service, jobId)).toMatchObject(refused);
  while ((await read(service, `/jobs/${jobId}`)).status !== "COMPLETED") await service.clock.advance(1_000);
  await ended(service, jobId, 1);
  expect(await redeliver(service, jobId)).toMatchObject(refused);
});

test("of many replays requested at once, one is started", async () => {
  const service = await start();
  const hook = await receiver();
  const jobId = await announced(service, hook.url);
  await ended(service, jobId, 1);
  const replies = await Promise.all(Array.from({ length: 10 }, () => redeliver(service, jobId)));
  const made = replies.filter((reply) => reply.status === 200).length;
  const { attempts, redelivery_count } = await ended(service, jobId, 1 + made);
  expect({ attempts, redelivery_count }).toEqual({ attempts: 1 + made, redelivery_count: made });
  expect(replies.every((reply) => reply.status === 200 || reply.status === 409)).toBe(true);
  expect(hook.received).toHaveLength(1 + made);
});

test("the destination is checked again when it is sent again [N14 T11]", async () => {
  const service = await start();
  const jobId = await announced(service, "http://10.0.0.1/");
  await ended(service, jobId, 1);
  await redeliver(service, jobId);
  const failed = { status: "FAILED", last_error: { code: "FAILED_PRECONDITION" } };
  const row = { ...failed, redeliveries: [{ ...failed, attempts: 1 }] };
  expect(await ended(service, jobId, 2)).toMatchObject(row);
});

test("deliveries belong to the workspace: another owner in it sees and replays them, another workspace does not [D2 P31 WC16]", async () => {
  const service = await start();
  const hook = await receiver();
  const jobId = await announced(service, hook.url);
  await ended(service, jobId, 1);
  const colleague = { credential: await key(service, { owner_id: "colleague" }) };
  const stranger = { credential: await key(service, { workspace_id: "elsewhere", owner_id: "stranger" }) };
  const path = `/webhooks/deliveries/${jobId}/redeliver`;
  const shown = { job_id: jobId, job_accessible: false };
  expect((await read(service, "/webhooks/deliveries", colleague)).data).toMatchObject([shown]);
  expect((await get(service, `/jobs/${jobId}`, colleague)).status).toBe(404);
  expect(await ask(service, "POST", path, colleague)).toMatchObject({ status: 200, body: { job_accessible: false } });
  expect((await read(service, "/webhooks/deliveries", stranger)).data).toEqual([]);
  expect((await ask(service, "POST", path, stranger)).status).toBe(404);
});

test("over real sockets, any sequence of answers and replays keeps to the chart and counts every attempt", async () => {
  const service = await startHeld();
  let plan: number[] = [];
  const hook = await receiver(() => plan.shift() ?? 200);
  const step = fc.oneof(
    { weight: 3, arbitrary: fc.constant("wait" as const) },
    { weight: 1, arbitrary: fc.constant("replay" as const) },
  );
  const answers = fc.array(fc.constantFrom(200, 204, 302, 404, 429, 500), { maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(answers, fc.array(step, { maxLength: 10 }), async (statuses, steps) => {
      plan = [...statuses];
      const before = hook.received.length;
      const jobId = await announced(service, hook.url);
      let row = await ended(service, jobId, 1);
      for (const one of steps) {
        const next = one === "wait" ? await waited() : await replayed(row);
        expect(next.attempts).toBeGreaterThanOrEqual(row.attempts);
        expect(next.redelivery_count).toBeGreaterThanOrEqual(row.redelivery_count);
        expect(next.attempts).toBe(hook.received.length - before);
        expect(next.redeliveries).toHaveLength(next.redelivery_count);
        if (row.status === "DELIVERED" && one === "wait") expect(next).toEqual(row);
        row = next;
      }
      await service.clock.advance(21_640_000);

      async function waited() {
        await service.clock.advance(3_600_000);
        return deliveryOf(service, jobId);
      }

      async function replayed(now: Body) {
        const reply = await redeliver(service, jobId);
        const isOver = now.status === "DELIVERED" || now.status === "FAILED";
        expect(reply.status).toBe(isOver ? 200 : 409);
        return isOver ? ended(service, jobId, now.attempts + 1) : deliveryOf(service, jobId);
      }
    }),
    { numRuns: isFull ? 100 : 5 },
  );
});
