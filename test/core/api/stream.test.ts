import { expect, test } from "vitest";
import type { StreamFrame } from "../../../src/core/api/index.ts";
import { clientSetup } from "../../support/client-setup.ts";
import { failure, hangUp, type Reply } from "../../support/fake-service.ts";
import { skippingClock } from "../../support/simulated-clock.ts";
import { type SseWriter, sse } from "../../support/sse.ts";

const setUp = clientSetup();

const telling =
  (tell: (out: SseWriter) => void): Reply =>
  (_request, response) =>
    tell(sse(response));

/** A connection that tells these logs and statuses, and then ends in the way that the last of them says. */
const frames = (...told: readonly (number | string)[]): Reply =>
  telling((out) => {
    for (const one of told) {
      if (typeof one === "number") out.log(one);
      else if (one === "done" || one === "end" || one === "cut") out[one]();
      else if (one.endsWith("\n")) out.raw(one);
      else out.status(`s ${one}`, one);
    }
  });

async function collect(stream: AsyncIterable<StreamFrame>): Promise<string[]> {
  const told: string[] = [];
  for await (const frame of stream) {
    if (frame.type === "status") told.push(frame.status.status);
    else told.push(frame.type === "log" ? `log ${frame.log.id}` : "done");
  }
  return told;
}

test("a stream tells every frame and ends after done", async () => {
  const { client } = await setUp([frames("IN_QUEUE", 1, ": keep-alive\n\n", 2, "COMPLETED", "done")]);
  expect(await collect(client.stream("job_1"))).toEqual(["IN_QUEUE", "log 1", "log 2", "COMPLETED", "done"]);
});

test("a cut stream resumes after its last frame and repeats nothing, in whatever order its logs came [WS7]", async () => {
  const { client, service } = await setUp([
    frames("IN_PROGRESS", 2, 1, "cut"),
    frames("IN_PROGRESS", 1, 2, 3, "COMPLETED", "done"),
  ]);
  expect(await collect(client.stream("job_1"))).toEqual([
    "IN_PROGRESS",
    "log 2",
    "log 1",
    "log 3",
    "COMPLETED",
    "done",
  ]);
  expect(service.seen.map((seen) => seen.headers["last-event-id"])).toEqual([undefined, "1"]);
});

test("a drain that brought something new is followed by a new connection however often it comes [WS8]", async () => {
  const drained = (_: unknown, index: number) => frames("IN_PROGRESS", index + 1, "retry: 10\n\n", "end");
  const { client } = await setUp([...Array.from({ length: 11 }, drained), frames("IN_PROGRESS", 12, "FAILED", "done")]);
  const logs = Array.from({ length: 12 }, (_, index) => `log ${index + 1}`);
  expect(await collect(client.stream("job_1"))).toEqual(["IN_PROGRESS", ...logs, "FAILED", "done"]);
});

test("a service that only asks to reconnect at once is given up, never called in a hot loop", async () => {
  const at: number[] = [];
  const clock = skippingClock();
  const { client } = await setUp(
    [
      telling((out) => {
        at.push(clock.now());
        out.raw("retry: 0\n\n");
        out.end();
      }),
    ],
    { clock },
  );
  await expect(collect(client.stream("job_1"))).rejects.toThrow("was interrupted 5 times in a row");
  expect(at.length).toBe(5);
  expect(at.slice(2).map((time, index) => time - at[index + 1]! >= 500)).toEqual([true, true, true]);
});

test("a silent connection is closed and opened anew", async () => {
  // Each connection sends the log: on a busy machine the first one may count as silent before its frame arrives.
  const { client, service } = await setUp([frames(1), frames(1, "COMPLETED", "done")], { clock: undefined });
  expect(await collect(client.stream("job_1", { idleMs: 60 }))).toEqual(["log 1", "COMPLETED", "done"]);
  expect(service.seen.length).toBeGreaterThan(1);
});

test("late and repeated frames neither repeat nor move a job back", async () => {
  const { client } = await setUp([
    telling((out) => {
      out.status("s1", "IN_PROGRESS", { progress: 0.5 });
      out.log(3);
      out.log(2);
      out.log(3);
      out.status("s0", "IN_QUEUE");
      out.status("s1", "IN_PROGRESS", { progress: 0.4 });
      out.status("s2", "COMPLETED");
      out.status("s1", "IN_PROGRESS", { progress: 0.9 });
      out.done();
    }),
  ]);
  expect(await collect(client.stream("job_1"))).toEqual(["IN_PROGRESS", "log 3", "log 2", "COMPLETED", "done"]);
});

test("an end right after the terminal status counts as done", async () => {
  const { client, service } = await setUp([frames("COMPLETED", "end")]);
  expect(await collect(client.stream("job_1"))).toEqual(["COMPLETED"]);
  expect(service.seen).toHaveLength(1);
});

test("a refused stream is an ApiError at once", async () => {
  const { client, service } = await setUp([failure(404, "NOT_FOUND")]);
  await expect(collect(client.stream("job_1"))).rejects.toMatchObject({ code: "NOT_FOUND" });
  expect(service.seen).toHaveLength(1);
});

test("connections that bring nothing end in a ConnectionError after a bounded number", async () => {
  const { client, service } = await setUp([hangUp]);
  await expect(collect(client.stream("job_1"))).rejects.toMatchObject({ code: "CONNECTION_FAILED" });
  expect(service.seen).toHaveLength(5);
});

test("leaving the loop closes the connection", async () => {
  const { client, service } = await setUp([frames("IN_PROGRESS")]);
  for await (const _frame of client.stream("job_1")) break;
  while (service.openSockets > 0) await new Promise((resolve) => setImmediate(resolve));
  expect(service.openSockets).toBe(0);
});

test("aborting a stream that waits for news rejects with the reason", async () => {
  const controller = new AbortController();
  const { client } = await setUp([frames("IN_PROGRESS")]);
  const told: string[] = [];
  const reading = (async () => {
    for await (const frame of client.stream("job_1", { signal: controller.signal })) {
      told.push(frame.type);
      controller.abort(new Error("enough"));
    }
  })();
  await expect(reading).rejects.toThrow("enough");
  expect(told).toEqual(["status"]);
});
