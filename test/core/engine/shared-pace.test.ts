import { describe, expect, test } from "vitest";
import { mostWithin, Pacers } from "./fixtures/pacers.ts";

describe("A limit that processes share", () => {
  test("is one process's alone while no other asks, and asked for rarely", async () => {
    const world = new Pacers(1);
    const { send, pacer } = world.open({ requests: 60, perMs: 60_000 });
    await world.until(Promise.all(Array.from({ length: 120 }, () => send(10))));
    expect(world.clock.now() - world.sent[0]!).toBeLessThan(65_000);
    // Every two seconds while it sends.
    expect(world.asked.length).toBeLessThanOrEqual(40);
    pacer.close();
  });

  test("and that one process is told of, with how long to wait, holds for the others", async () => {
    const world = new Pacers(1);
    const [one, other] = [world.open(undefined), world.open(undefined)];
    await world.until(Promise.all([one.send(1), other.send(1)]));
    const headers = { "retry-after": "30", "x-ratelimit-limit": "10" };
    await world.until(one.send(1, { kind: "answer", status: 429, headers }));
    const refusedAt = world.clock.now();
    await world.clock.advance(3_000);
    await world.until(other.send(1));
    expect(world.sent.at(-1)! - refusedAt).toBeGreaterThanOrEqual(30_000);
    expect(other.pacer.snapshot().limit?.requests).toBe(10);
    one.pacer.close();
    other.pacer.close();
  });

  test("of a process that died is the others' after its last requests are in no window", async () => {
    const world = new Pacers(1);
    const limit = { requests: 20, perMs: 10_000 };
    const [dies, lives] = [world.open(limit), world.open(limit)];
    await world.until(Promise.all(Array.from({ length: 20 }, () => dies.send(1))));
    dies.pacer.close();
    await world.until(Promise.all(Array.from({ length: 20 }, () => lives.send(1))));
    expect(mostWithin(world.sent, limit.perMs)).toBeLessThanOrEqual(20);
    lives.pacer.close();
  });
});
