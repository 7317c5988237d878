import { expect, test } from "vitest";
import { createMemoryJournal, openShowrunner } from "../../../src/index.ts";
import { counting, type Traffic, wakeThrough } from "../../bench/chain-wakes.ts";
import { newFolder } from "../../support/temporary-folder.ts";

const mediaDir = newFolder();

/** What the slices of a run exchange with the journal, for each of them. */
async function trafficAWake(steps: number): Promise<Traffic> {
  const { store, traffic } = counting(createMemoryJournal());
  const show = await openShowrunner({
    ...{ baseUrl: "http://127.0.0.1:9/v3", apiKey: "of:nobody" },
    ...{ journal: store, mediaDir },
  });
  const wakes = await wakeThrough(show, "chain", steps);
  await show.close();
  await store.close();
  expect(wakes).toBeGreaterThan(steps);
  const { calls, readBytes, writtenBytes } = traffic;
  return { calls: calls / wakes, readBytes: readBytes / wakes, writtenBytes: writtenBytes / wakes };
}

test("A wake of a run reads and writes what changed, however many steps the run has", async () => {
  const [small, large] = [await trafficAWake(100), await trafficAWake(400)];
  expect(large.calls).toBeLessThan(small.calls + 0.5);
  expect(large.readBytes).toBeLessThan(1.1 * small.readBytes);
  // Snapshots grow with the run, and come so much more rarely.
  expect(large.writtenBytes).toBeLessThan(1.3 * small.writtenBytes);
}, 120_000);
