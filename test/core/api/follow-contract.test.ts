import { afterEach, describe, expect, test } from "vitest";
import { type Client, createClient, type FollowEvent, type FollowOptions } from "../../../src/core/api/index.ts";
import { type FakeJob, fakeJob, outputItem } from "../../support/fake-job.ts";
import { skippingClock } from "../../support/simulated-clock.ts";

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close();
});

async function setUp(): Promise<{ readonly job: FakeJob; readonly client: Client }> {
  const job = await fakeJob();
  const { baseUrl } = job.service;
  const client = createClient({ baseUrl, apiKey: "k:s", clock: skippingClock(), random: () => 0.5 });
  open.push(job.service, client);
  return { job, client };
}

async function collect(events: AsyncIterable<FollowEvent>): Promise<FollowEvent[]> {
  const told: FollowEvent[] = [];
  for await (const event of events) told.push(event);
  return told;
}

type Strategy = NonNullable<FollowOptions["strategy"]>;

/** Runs the job through its life, a step whenever something was read or told. */
function live(job: FakeJob, client: Client, steps: readonly (() => void)[]): Partial<FollowOptions> {
  let at = 0;
  const step = () => {
    steps[at++]?.();
    if (at === steps.length) client.notify("job_1");
  };
  job.onRead = () => setImmediate(step);
  return { onUpdate: () => setImmediate(step) };
}

/** Follows a job through its life; what is told of it. */
async function lived(strategy: Strategy, stepsOf: (job: FakeJob) => readonly (() => void)[]): Promise<FollowEvent[]> {
  const { job, client } = await setUp();
  return collect(client.follow("job_1", { strategy, ...live(job, client, stepsOf(job)) }));
}

for (const strategy of ["stream", "poll", "webhook", "auto"] as const) {
  describe(`following by ${strategy}`, () => {
    test("ends with the job as it reads when it completes, whatever its outputs", async () => {
      const outputs = [
        outputItem(),
        outputItem({ status: "FAILED", asset_id: null, error: { code: "MODERATION_FAILED", message: "no" } }),
      ];
      const told = await lived(strategy, (job) => [
        () => job.move("IN_PROGRESS"),
        () => job.move("COMPLETED", { outputs, cost: 0.07 }),
      ]);
      const end = told.at(-1);
      expect(end).toMatchObject({
        type: "finished",
        outcome: "completed",
        job: { status: "COMPLETED", costMicros: 70_000 },
      });
      expect(told.filter((event) => event.type === "finished")).toHaveLength(1);
      expect(end?.type === "finished" && end.job.outputs.map((output) => output.status)).toEqual([
        "COMPLETED",
        "FAILED",
      ]);
    });

    test("ends with the error of a job that failed straight from the queue", async () => {
      const error = { code: "INTERNAL", message: "broke", retryable: true };
      const told = await lived(strategy, (job) => [() => job.move("FAILED", { error })]);
      expect(told.at(-1)).toMatchObject({
        type: "finished",
        outcome: "failed",
        job: { error: { code: "INTERNAL", retryable: true } },
      });
    });

    test("ends at once when the job is over already", async () => {
      const { job, client } = await setUp();
      job.log();
      job.move("COMPLETED");
      client.notify("job_1");
      expect((await collect(client.follow("job_1", { strategy }))).at(-1)).toMatchObject({ outcome: "completed" });
    });

    test("ends as unrecognised for a final status that nobody knows", async () => {
      const told = await lived(strategy, (job) => [() => job.move("IN_PROGRESS"), () => job.move("CANCELLED")]);
      expect(told.at(-1)).toMatchObject({ type: "finished", outcome: "unrecognised", job: { status: "CANCELLED" } });
    });

    test("tells each log once, in order, and no status that moves back", async () => {
      const told = await lived(strategy, (job) => [
        () => job.log(),
        () => job.move("IN_PROGRESS"),
        () => job.log(),
        () => job.log(),
        () => job.move("COMPLETED"),
      ]);
      expect(told.flatMap((event) => (event.type === "log" ? [event.log.id] : []))).toEqual([1, 2, 3]);
      const statuses = told.flatMap((event) => (event.type === "status" ? [event.status.status] : []));
      expect(statuses).toEqual(statuses.toSorted((a, b) => b.localeCompare(a)));
    });

    test("survives broken connections", async () => {
      const told = await lived(strategy, (job) => {
        job.breakNext(3);
        return [() => job.breakNext(2), () => job.move("COMPLETED")];
      });
      expect(told.at(-1)).toMatchObject({ outcome: "completed" });
    });

    test("throws NOT_FOUND for a job that cannot be read", async () => {
      const { client } = await setUp();
      client.notify("job_2");
      await expect(collect(client.follow("job_2", { strategy }))).rejects.toMatchObject({
        code: "NOT_FOUND",
        status: 404,
      });
    });

    test("rejects with the signal's reason and leaves no socket busy", async () => {
      const { client, job } = await setUp();
      const controller = new AbortController();
      const following = collect(client.follow("job_1", { strategy, signal: controller.signal }));
      job.onRead = () => controller.abort(new Error("no longer"));
      await expect(following).rejects.toThrow("no longer");
      await client.close();
      while (job.service.openSockets > 0) await new Promise((resolve) => setImmediate(resolve));
    });
  });
}

test("a stream costs three requests for a finished job with its submit, a webhook two", async () => {
  for (const [strategy, most] of [
    ["stream", 2],
    ["webhook", 1],
  ] as const) {
    const { job, client } = await setUp();
    const following = collect(client.follow("job_1", { strategy, estimatedCompletionAt: "2999-01-01T00:00:00Z" }));
    if (strategy === "stream") while (job.counts.stream === 0) await new Promise((resolve) => setImmediate(resolve));
    job.move("COMPLETED");
    client.notify("job_1");
    await following;
    expect(job.counts.job + job.counts.status + job.counts.stream).toBe(most);
  }
});
