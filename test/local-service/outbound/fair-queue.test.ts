import fc from "fast-check";
import { expect, test } from "vitest";
import { FairQueue } from "../../../src/local-service/outbound/outbox.ts";

test("lanes take turns, each in its own order", () => {
  const queue = new FairQueue({ total: 10, perLane: 10 });
  for (const item of [1, 2, 3]) queue.push("a", item);
  queue.push("b", 4);
  expect([queue.take(), queue.take(), queue.take(), queue.take()].map((next) => next?.item)).toEqual([1, 4, 2, 3]);
  expect(queue.take()).toBeNull();
});

test("a full lane does not hold up another", () => {
  const queue = new FairQueue({ total: 10, perLane: 1 });
  for (const item of [1, 2]) queue.push("slow", item);
  queue.push("quick", 3);
  expect([queue.take(), queue.take(), queue.take()].map((next) => next?.item ?? null)).toEqual([1, 3, null]);
  queue.done("slow");
  expect(queue.take()).toEqual({ lane: "slow", item: 2 });
});

test("nothing is lost or started twice, and no limit is passed, in any order of pushing, taking and finishing", () => {
  const step = fc.oneof(
    fc.record({ is: fc.constant("push" as const), lane: fc.constantFrom("a", "b", "c") }),
    fc.record({ is: fc.constant("take" as const) }),
    fc.record({ is: fc.constant("done" as const) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const limits = { total: 3, perLane: 2 };
      const queue = new FairQueue(limits);
      const active: string[] = [];
      const taken: number[] = [];
      let pushed = 0;
      const take = () => {
        const next = queue.take();
        if (!next) return false;
        active.push(next.lane);
        taken.push(next.item);
        return true;
      };
      const finish = () => {
        const lane = active.shift();
        if (lane !== undefined) queue.done(lane);
      };
      for (const one of steps) {
        if (one.is === "push") queue.push(one.lane, pushed++);
        else if (one.is === "take") take();
        else finish();
        expect(active.length).toBeLessThanOrEqual(limits.total);
        for (const lane of "abc") expect(active.filter((name) => name === lane).length).toBeLessThanOrEqual(2);
      }
      while (active.length > 0 || take()) finish();
      expect(taken.toSorted((a, b) => a - b)).toEqual(Array.from({ length: pushed }, (_, index) => index));
    }),
  );
});
