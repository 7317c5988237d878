import fc from "fast-check";
import { expect, test } from "vitest";
import { BusyRefusal, Shares } from "../../../src/studio/served/index.ts";

const ALL = 120;
const moves = fc.array(fc.tuple(fc.constantFrom("a", "b", "c", "d"), fc.integer({ min: -40, max: 40 })), {
  maxLength: 60,
});

function refusalOf(shares: Shares, owner: string, amount: number): number | null {
  try {
    shares.take(owner, amount);
    return null;
  } catch (error) {
    if (!(error instanceof BusyRefusal)) throw error;
    expect(error.retryAfterS).toBe(7);
    return error.status;
  }
}

test("whatever owners take and give back, one has as much as it leaves, all never more than there is [shares] [shares of quotes]", () => {
  fc.assert(
    fc.property(moves, (all) => {
      const shares = new Shares({ all: ALL, what: "things of yours", retryAfterS: 7 });
      const held = new Map<string, number>();
      const sum = () => [...held.values()].reduce((one, other) => one + other, 0);
      for (const [owner, amount] of all) {
        const had = held.get(owner) ?? 0;
        if (amount < 0) {
          const given = Math.min(had, -amount);
          shares.free(owner, given);
          held.set(owner, had - given);
          continue;
        }
        const free = ALL - sum();
        const refused = refusalOf(shares, owner, amount);
        expect(refused).toBe(had > 0 && had + amount > free - amount ? 429 : amount > free ? 503 : null);
        if (refused === null) held.set(owner, had + amount);
        expect(sum()).toBeLessThanOrEqual(ALL);
      }
    }),
  );
});

test("who takes all that it can leaves room for whoever comes next [shares]", () => {
  const shares = new Shares({ all: ALL, what: "things of yours", retryAfterS: 7 });
  for (const [at, owner] of ["a", "b", "c"].entries()) {
    let held = 0;
    while (refusalOf(shares, owner, 1) === null) held += 1;
    expect(held).toBeLessThanOrEqual(ALL / (at + 2));
    expect(held).toBeGreaterThan(0);
  }
  expect(refusalOf(shares, "late", 1)).toBe(null);
});

test("an owner has no more than its own most [shares]", () => {
  const shares = new Shares({ each: 3, all: ALL, what: "things of yours", retryAfterS: 7 });
  expect([1, 1, 1, 1].map((amount) => refusalOf(shares, "a", amount))).toEqual([null, null, null, 429]);
  expect(refusalOf(shares, "b", 3)).toBe(null);
});

test("what is lent comes back after its time, to whoever asks next [shares of quotes]", () => {
  const shares = new Shares({ each: 2, all: 3, what: "things of yours", retryAfterS: 7, lentMs: 100 });
  const lent = (owner: string, now: number) => {
    try {
      shares.lend(owner, now);
      return null;
    } catch (error) {
      return (error as BusyRefusal).status;
    }
  };
  expect([lent("a", 0), lent("b", 10), lent("c", 20), lent("d", 99)]).toEqual([null, null, null, 503]);
  expect([lent("d", 100), lent("a", 109), lent("a", 110), lent("b", 119), lent("c", 120)]).toEqual([
    null,
    503,
    null,
    503,
    null,
  ]);
});
