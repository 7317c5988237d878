import { readdir } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { createClock } from "../../src/local-service/clock/clock.ts";
import { get, made, post, read, start } from "./support/service.ts";

test("the Date header follows the service's clock, which never runs backwards", async () => {
  const service = await start();
  const clock = async (body: object) => (await post(service, "/_local/clock", body)).body;
  const held = await clock({ mode: "manual" });
  expect(held).toMatchObject({ mode: "manual", factor: 0 });
  const moved = await clock({ advance_ms: 3_600_000 });
  expect(Date.parse(moved.now) - Date.parse(held.now)).toBe(3_600_000);
  const reply = await get(service, "/balance");
  expect(reply.headers.get("date")).toBe(new Date(moved.now).toUTCString());
  expect(await clock({ mode: "scaled", factor: 1000 })).toMatchObject({ mode: "scaled", factor: 1000 });
  const real = await clock({ mode: "real" });
  expect(Date.parse(real.now)).toBeGreaterThanOrEqual(Date.parse(moved.now));
  expect((await post(service, "/_local/clock", { factor: 0 })).status).toBe(400);
});

test("the bytes of expired outputs are removed, and their metadata stays", async () => {
  const service = await start();
  const job = await made(service, "image-1", { prompt: "x" });
  const files = async () =>
    (await readdir(join(service.dataDir, "assets"), { recursive: true })).filter((name) => name.includes("asset_"));
  expect(await files()).toHaveLength(1);
  await service.clock.advance(49 * 3_600_000);
  for (;;) if ((await files()).length === 0) break;
  const { outputs } = await read(service, `/jobs/${job.job_id}`);
  expect(outputs[0]).toMatchObject({ status: "EXPIRED", content_type: "image/png", width: 64 });
});

test("an advance calls everything due on the way, each at its own instant, and what follows from it", async () => {
  const clock = createClock();
  clock.manual();
  const from = clock.now();
  const seen: number[] = [];
  const see = () => seen.push(clock.now() - from);
  clock.at(from + 30, see);
  clock.at(from + 10, () => {
    see();
    clock.at(from + 20, see);
  });
  clock.at(from + 15, () => seen.push(-1))();
  await clock.advance(25);
  expect(seen).toEqual([10, 20]);
  await clock.advance(5);
  expect(seen).toEqual([10, 20, 30]);
  clock.stop();
});

test("timers are called earliest first, and in order among equals", async () => {
  const timers = fc.array(fc.record({ dueMs: fc.nat(20), cancelled: fc.boolean() }), { maxLength: 60 });
  await fc.assert(
    fc.asyncProperty(timers, async (items) => {
      const clock = createClock();
      clock.manual();
      const from = clock.now();
      const called: number[] = [];
      for (const [order, { dueMs, cancelled }] of items.entries()) {
        const cancel = clock.at(from + dueMs, () => called.push(order));
        if (cancelled) cancel();
      }
      await clock.advance(20);
      clock.stop();
      const expected = items
        .map((item, order) => ({ ...item, order }))
        .filter(({ cancelled }) => !cancelled)
        .toSorted((a, b) => a.dueMs - b.dueMs || a.order - b.order);
      expect(called).toEqual(expected.map(({ order }) => order));
    }),
  );
});
