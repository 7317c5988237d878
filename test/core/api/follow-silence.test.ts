import fc from "fast-check";
import { expect, test } from "vitest";
import { silenceMs } from "../../../src/core/api/follow/sources.ts";
import { clientSetup } from "../../support/client-setup.ts";
import { jobBody, json, type Reply, statusBody } from "../../support/fake-service.ts";
import { SimulatedClock } from "../../support/simulated-clock.ts";

const setUp = clientSetup();
const START = Date.UTC(2030, 0, 1);
const second = (n: number) => new Date(START + n * 1000).toISOString();

/** A job of one second by its ack, over by now, of which neither stream nor webhook ever says anything. */
const silent: Reply = (request, response) => {
  response.setHeader("date", new Date(START).toUTCString());
  if (request.method === "POST") {
    const ack = { job_id: "job_1", model: "m", status: "IN_QUEUE", estimated_completion_at: second(1) };
    return json(202, ack)(request, response);
  }
  if (request.path.endsWith("/stream")) {
    response.writeHead(200, { "content-type": "text/event-stream" });
    return void response.write(": keep-alive\n\n");
  }
  const body = request.path.includes("/status") ? statusBody("COMPLETED") : jobBody("COMPLETED");
  return json(200, body)(request, response);
};

for (const strategy of ["stream", "webhook"] as const) {
  test(`a silent ${strategy} of a job of one second is looked behind soon after its ack's estimate [G35]`, async () => {
    const clock = new SimulatedClock(START);
    const { client, service } = await setUp([silent], { clock });
    const ack = await client.submit({ model: "m", input: {}, idempotencyKey: "k" });
    const following = (async () => {
      for await (const event of client.follow(ack.jobId, { strategy })) if (event.type === "finished") return event;
      return null;
    })();
    const begun = () => strategy === "webhook" || service.seen.some(({ path }) => path.endsWith("/stream"));
    while (!begun()) await new Promise((resolve) => setImmediate(resolve));
    await clock.advance(1_900);
    expect(service.seen.filter(({ path }) => path.includes("/status"))).toHaveLength(0);
    await clock.advance(200);
    expect(await following).toMatchObject({ outcome: "completed" });
  });
}

test("a silent job is polled within a quarter of its expected time after its end, and never later than the bound", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 3_600_000 }),
      fc.option(fc.integer({ min: -60_000, max: 3_600_000 }), { nil: null }),
      fc.integer({ min: 120_000, max: 600_000 }),
      (spentMs, expectedInMs, longestMs) => {
        const expectedAt = expectedInMs === null ? null : START + expectedInMs;
        const now = START + spentMs;
        const ms = silenceMs({ now, startedAt: START, expectedAt, longestMs });
        expect(ms).toBeGreaterThanOrEqual(1_000);
        expect(ms).toBeLessThanOrEqual(longestMs);
        if (expectedAt === null || expectedAt <= now) {
          expect(ms).toBeLessThanOrEqual(Math.max(15_000, spentMs / 2));
        } else {
          const margin = Math.min(30_000, Math.max(1_000, (expectedAt - START) / 4));
          expect(now + ms).toBeLessThanOrEqual(expectedAt + margin);
        }
      },
    ),
  );
});
