import { expect, test } from "vitest";
import type { StreamFrame } from "../../../src/core/api/index.ts";
import { clientSetup } from "../../support/client-setup.ts";
import { failure, hangUp } from "../../support/fake-service.ts";
import { skippingClock } from "../../support/simulated-clock.ts";
import { sse } from "../../support/sse.ts";

const setUp = clientSetup();

async function collect(frames: AsyncIterable<StreamFrame>): Promise<string[]> {
  const told: string[] = [];
  for await (const frame of frames) {
    if (frame.type === "status") told.push(frame.status.status);
    else told.push(frame.type === "log" ? `log ${frame.log.id}` : "done");
  }
  return told;
}

test("a stream tells every frame and ends after done", async () => {
  const { client } = await setUp([
    (_request, response) => {
      const out = sse(response);
      out.status("s1", "IN_QUEUE");
      out.log(1, "queued");
      out.raw(": keep-alive\n\n");
      out.log(2);
      out.status("s2", "COMPLETED");
      out.done();
    },
  ]);
  expect(await collect(client.stream("job_1"))).toEqual(["IN_QUEUE", "log 1", "log 2", "COMPLETED", "done"]);
});

test("a cut stream resumes after its last frame and repeats nothing [WS7]", async () => {
  const { client, service } = await setUp([
    (_request, response) => {
      const out = sse(response);
      out.status("s1", "IN_PROGRESS");
      out.log(1);
      out.log(2);
      out.cut();
    },
    (_request, response) => {
      const out = sse(response);
      out.status("s1", "IN_PROGRESS");
      out.log(2);
      out.log(3);
      out.status("s3", "COMPLETED");
      out.done();
    },
  ]);
  expect(await collect(client.stream("job_1"))).toEqual([
    "IN_PROGRESS",
    "log 1",
    "log 2",
    "log 3",
    "COMPLETED",
    "done",
  ]);
  expect(service.seen.map((seen) => seen.headers["last-event-id"])).toEqual([undefined, "2"]);
});

test("a drain that brought something new is followed by a new connection however often it comes [WS8]", async () => {
  let connections = 0;
  const { client } = await setUp([
    (_request, response) => {
      const out = sse(response);
      connections++;
      out.status("s1", "IN_PROGRESS");
      out.log(connections);
      if (connections === 12) {
        out.status("s2", "FAILED");
        return out.done();
      }
      out.raw("retry: 10\n\n");
      out.end();
    },
  ]);
  const logs = Array.from({ length: 12 }, (_, index) => `log ${index + 1}`);
  expect(await collect(client.stream("job_1"))).toEqual(["IN_PROGRESS", ...logs, "FAILED", "done"]);
});

test("a service that only asks to reconnect at once is given up, never called in a hot loop", async () => {
  const at: number[] = [];
  const clock = skippingClock();
  const { client } = await setUp(
    [
      (_request, response) => {
        at.push(clock.now());
        const out = sse(response);
        out.raw("retry: 0\n\n");
        out.end();
      },
    ],
    { clock },
  );
  await expect(collect(client.stream("job_1"))).rejects.toThrow("was interrupted 5 times in a row");
  expect(at.length).toBe(5);
  expect(at.slice(2).map((time, index) => time - at[index + 1]! >= 500)).toEqual([true, true, true]);
});

test("a silent connection is closed and opened anew", async () => {
  let connections = 0;
  const { client } = await setUp(
    [
      (_request, response) => {
        const out = sse(response);
        // Each connection sends it: on a busy machine the first one may count as silent before its frame arrives.
        out.log(1);
        if (connections++ === 0) return;
        out.status("s2", "COMPLETED");
        out.done();
      },
    ],
    { clock: undefined },
  );
  expect(await collect(client.stream("job_1", { idleMs: 60 }))).toEqual(["log 1", "COMPLETED", "done"]);
  expect(connections).toBeGreaterThan(1);
});

test("late and repeated frames neither repeat nor move a job back", async () => {
  const { client } = await setUp([
    (_request, response) => {
      const out = sse(response);
      out.status("s1", "IN_PROGRESS", { progress: 0.5 });
      out.log(3);
      out.log(2);
      out.log(3);
      out.status("s0", "IN_QUEUE");
      out.status("s1", "IN_PROGRESS", { progress: 0.4 });
      out.status("s2", "COMPLETED");
      out.status("s1", "IN_PROGRESS", { progress: 0.9 });
      out.done();
    },
  ]);
  expect(await collect(client.stream("job_1"))).toEqual(["IN_PROGRESS", "log 3", "log 2", "COMPLETED", "done"]);
});

test("an end right after the terminal status counts as done", async () => {
  const { client, service } = await setUp([
    (_request, response) => {
      const out = sse(response);
      out.status("s2", "COMPLETED");
      out.end();
    },
  ]);
  expect(await collect(client.stream("job_1"))).toEqual(["COMPLETED"]);
  expect(service.seen).toHaveLength(1);
});

test("a frame cut inside a character or a line is put together again", async () => {
  const { client } = await setUp([
    async (_request, response) => {
      const out = sse(response);
      const bytes = Buffer.from(
        `event: log\nid: 1\ndata: ${JSON.stringify({ id: 1, level: "info", event: "progress", message: "größer", source: "worker", data: {} })}\n\n`,
      );
      for (let at = 0; at < bytes.length; at += 7) {
        response.write(bytes.subarray(at, at + 7));
        await new Promise((resolve) => setImmediate(resolve));
      }
      out.status("s2", "COMPLETED");
      out.done();
    },
  ]);
  const messages: string[] = [];
  for await (const frame of client.stream("job_1")) if (frame.type === "log") messages.push(frame.log.message);
  expect(messages).toEqual(["größer"]);
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
  const { client, service } = await setUp([
    (_request, response) => {
      sse(response).status("s1", "IN_PROGRESS");
    },
  ]);
  for await (const _frame of client.stream("job_1")) break;
  while (service.openSockets > 0) await new Promise((resolve) => setImmediate(resolve));
  expect(service.openSockets).toBe(0);
});

test("aborting a stream that waits for news rejects with the reason", async () => {
  const controller = new AbortController();
  const { client } = await setUp([
    (_request, response) => {
      sse(response).status("s1", "IN_PROGRESS");
    },
  ]);
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
