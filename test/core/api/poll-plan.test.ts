import fc from "fast-check";
import { expect, test } from "vitest";
import { nextPoll, type PollView } from "../../../src/core/api/follow/sources.ts";

const base: PollView = { now: 0, startedAt: 0, expectedAt: null, progress: null, queued: false, last: null };

/** Looks that a job of known length takes until one sees its end, and how late that is. */
function simulate(lengthMs: number, estimateOf: (now: number) => number | null, firstExpectedAt: number | null = null) {
  let [now, expectedAt, requests] = [0, firstExpectedAt, 0];
  let last: PollView["last"] = null;
  for (;;) {
    const next = nextPoll({ ...base, now, expectedAt, last });
    now += next.delayMs;
    requests++;
    last = next.at;
    if (now >= lengthMs) return { requests: requests + (next.at === "status" ? 1 : 0), lateMs: now - lengthMs };
    if (next.at === "status") expectedAt = estimateOf(now);
  }
}

test("a right estimate costs one poll, right after it", () => {
  expect(simulate(180_000, () => null, 180_000)).toEqual({ requests: 1, lateMs: 500 });
});

test("without an estimate at first, the status gives one", () => {
  expect(simulate(180_000, () => 180_000)).toEqual({ requests: 2, lateMs: 500 });
});

test("a job of three minutes costs at most five polls when its estimate is up to a fifth too short", () => {
  fc.assert(
    fc.property(fc.integer({ min: 145_000, max: 180_000 }), (expectedAt) => {
      const { requests, lateMs } = simulate(180_000, (now) => Math.max(now, expectedAt), expectedAt);
      expect(requests).toBeLessThanOrEqual(5);
      expect(lateMs).toBeLessThan(40_000);
    }),
  );
});

test("whatever is known, the next poll is between a second and the expected end, and never beyond a minute without one", () => {
  const instant = fc.integer({ min: 0, max: 10_000_000 });
  fc.assert(
    fc.property(
      instant,
      instant,
      fc.option(instant),
      fc.option(fc.double({ min: 0, max: 1, noNaN: true })),
      fc.boolean(),
      (a, b, expectedAt, progress, queued) => {
        const [startedAt, now] = [Math.min(a, b), Math.max(a, b)];
        const next = nextPoll({ startedAt, now, expectedAt, progress, queued, last: "status" });
        expect(next.delayMs).toBeGreaterThanOrEqual(1_000);
        if (expectedAt === null && progress === null) expect(next.delayMs).toBeLessThanOrEqual(60_000);
        if (expectedAt !== null) expect(next.delayMs).toBeLessThanOrEqual(Math.max(60_000, expectedAt - now + 500));
      },
    ),
  );
});
