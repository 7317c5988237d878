import fc from "fast-check";
import { expect, test } from "vitest";
import type { Outcome } from "../../../src/local-service/outbound/outbound.ts";
import { delayAfter } from "../../../src/local-service/outbound/outbox.ts";
import {
  begin,
  type DeliveryState,
  end,
  fire,
  interrupted,
  isDue,
  MAX_ATTEMPTS,
  mayReplay,
  NEW_DELIVERY,
  replay,
} from "../../../src/local-service/webhooks/deliveries.ts";
import { isFull } from "../../support/sample.ts";

const MOVES: Readonly<Record<string, readonly string[]>> = {
  PENDING: ["DELIVERING"],
  DELIVERING: ["DELIVERED", "PENDING", "FAILED"],
  DELIVERED: ["PENDING"],
  FAILED: ["PENDING"],
};

const outcome: fc.Arbitrary<Outcome> = fc.oneof(
  fc.record({ is: fc.constant("answered" as const), status: fc.constantFrom(200, 204, 302, 400, 401, 404, 429, 500) }),
  fc.constantFrom<Outcome>({ is: "late" }, { is: "unreachable" }, { is: "blocked" }, { is: "no-body" }),
);

const step = fc.oneof(
  fc.record({ is: fc.constant("attempt" as const), outcome }),
  fc.record({ is: fc.constant("killed" as const) }),
  fc.record({ is: fc.constant("replay" as const) }),
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** Every state on the way; a step that the chart does not allow changes nothing. */
function walk(steps: readonly Step[]): DeliveryState[] {
  const states: DeliveryState[] = [fire(NEW_DELIVERY, "job.completed", 0)];
  for (const one of steps) {
    const now = states.at(-1)!.nextAttemptAt ?? states.at(-1)!.lastAttemptAt ?? 0;
    const current = states.at(-1)!;
    if (one.is === "replay") {
      if (mayReplay(current)) states.push(replay(current, now).delivery);
      continue;
    }
    if (!isDue(current, now)) continue;
    const begun = begin(current, now);
    states.push(begun, one.is === "killed" ? interrupted(begun, now) : end(begun, one.outcome, now));
  }
  return states;
}

test("in any sequence of outcomes, kills and replays, a delivery moves only along the chart, attempts and replays never fall, a cycle has at most 12, and something is due exactly while PENDING [D4 WH19]", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
      const states = walk(steps);
      states.slice(1).forEach((state, index) => {
        const before = states[index]!;
        expect(MOVES[before.status]).toContain(state.status);
        expect(state.attempts).toBeGreaterThanOrEqual(before.attempts);
        expect(state.redeliveryCount).toBeGreaterThanOrEqual(before.redeliveryCount);
        expect(state.failedInCycle).toBeLessThanOrEqual(MAX_ATTEMPTS);
        expect(state.nextAttemptAt !== null).toBe(state.status === "PENDING");
        expect(state.attempts > 0).toBe(state.lastAttemptAt !== null);
      });
    }),
    { numRuns: isFull ? 1000 : 200 },
  );
});

test("the retry schedule has 12 attempts over about six hours", () => {
  const waits = Array.from({ length: MAX_ATTEMPTS - 1 }, (_, index) => delayAfter(index + 1));
  expect(waits.slice(0, 7)).toEqual([10_000, 30_000, 90_000, 270_000, 810_000, 2_430_000, 3_600_000]);
  expect(MAX_ATTEMPTS).toBe(12);
  expect(waits.reduce((sum, wait) => sum + wait, 0)).toBe(21_640_000);
});

test("a body that cannot be built fails like an answer, and is tried again", () => {
  const begun = begin(fire(NEW_DELIVERY, "job.failed", 0), 0);
  const after = { status: "PENDING", lastError: "INTERNAL", lastResponseStatus: null, nextAttemptAt: 10_005 };
  expect(end(begun, { is: "no-body" }, 5)).toMatchObject(after);
});
