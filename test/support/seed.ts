import { configureGlobal } from "fast-check";
import { afterAll, expect, vi } from "vitest";

// A check of every change draws the same examples each time; a full check draws new ones, and says their seed on a failure.
const isQuick = process.env.SHOWRUNNER_TEST_RUNS === undefined;
if (isQuick) configureGlobal({ seed: 20_261_122, numRuns: process.env.SHOWRUNNER_TEST_SHARE === undefined ? 40 : 100 });

// Test files share processes: a server or a loop that one leaves behind slows, or stops, all that follow.
const before = leftovers();
afterAll(() =>
  vi.waitFor(
    () => {
      const { servers, loops } = leftovers();
      expect(servers, "servers that this file left open").toBeLessThanOrEqual(before.servers);
      expect(loops, "loops of setImmediate that this file left running").toBeLessThanOrEqual(before.loops);
    },
    { timeout: 10_000 },
  ),
);

function leftovers() {
  const active = process.getActiveResourcesInfo();
  const count = (kind: string) => active.filter((name) => name === kind).length;
  return { servers: count("TCPServerWrap"), loops: count("Immediate") };
}
