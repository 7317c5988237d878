import { afterEach, expect, test, vi } from "vitest";
import { TookTooLong, withinTime } from "../../../src/core/kit/within-time.ts";

afterEach(() => void vi.restoreAllMocks());

const LIMIT_MS = 20;

/** Work that hangs at its first tries and is done at the next. */
function hangingFor(tries: number) {
  const seen = { tries: 0 };
  const work = () => {
    seen.tries += 1;
    while (seen.tries <= tries);
    return "done";
  };
  return { seen, run: () => withinTime(LIMIT_MS, work) };
}

/** As if each try had got so much of the processor. */
function processorGives(ms: number): void {
  vi.spyOn(process, "cpuUsage").mockImplementation((before) => ({ user: before ? ms * 1000 : 0, system: 0 }));
}

test("work that had the processor to itself for two limits is out of time", () => {
  processorGives(LIMIT_MS);
  const { seen, run } = hangingFor(100);
  expect(run).toThrow(TookTooLong);
  expect(seen.tries).toBe(2);
});

test("work that a busy machine gave no time to is tried again, and not for ever", () => {
  processorGives(LIMIT_MS / 20);
  expect(hangingFor(4).run()).toBe("done");
  const hung = hangingFor(100);
  expect(hung.run).toThrow(TookTooLong);
  expect(hung.seen.tries).toBe(8);
});
