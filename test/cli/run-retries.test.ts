import fc from "fast-check";
import { expect, test } from "vitest";
import { RunRetries } from "../../src/cli/input/run-retries.ts";

test("a run that fails is retried after longer and longer delays, at most five minutes, however often it fails", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 100 }), (failures) => {
      let now = 0;
      const retries = new RunRetries({ now: () => now, circumstances: () => "same" });
      let longest = 0;
      for (let n = 0; n < failures; n++) {
        expect(retries.isDue("a", 7)).toBe(true);
        const waitMs = retries.failed("a", { lastSeq: 7, file: null });
        expect(waitMs).toBeGreaterThanOrEqual(longest);
        expect(waitMs).toBeLessThanOrEqual(300_000);
        longest = waitMs;
        now += waitMs - 1;
        expect(retries.isDue("a", 7)).toBe(false);
        now += 1;
      }
    }),
  );
});

test("a run is retried at once when its journal has new events, or the cause of its failure may have changed", () => {
  let room = "full";
  const retries = new RunRetries({ now: () => 0, circumstances: (file) => `${file} ${room}` });
  retries.failed("a", { lastSeq: 7, file: "p.ts" });
  expect(retries.isDue("a", 7)).toBe(false);
  expect(retries.isDue("a", 8)).toBe(true);
  room = "free";
  expect(retries.isDue("a", 7)).toBe(true);
  retries.driven("a");
  expect(retries.failed("a", { lastSeq: 7, file: null })).toBe(5_000);
});
