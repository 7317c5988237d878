import { randomBytes } from "node:crypto";
import { readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { during } from "../support/fake-showrunner.ts";
import { SimulatedClock } from "../support/simulated-clock.ts";

async function instantAfter(work: () => Promise<unknown>): Promise<number> {
  const clock = new SimulatedClock(0);
  const tick = () => void clock.setTimer(100, tick);
  tick();
  return during(
    clock,
    work().then(() => clock.now()),
  );
}

test("a simulated clock stands still while a module is loaded", async () => {
  expect(await instantAfter(() => import("./fixtures/slow-module.ts"))).toBe(0);
});

test("a simulated clock stands still while files are written and read", async () => {
  const path = join(tmpdir(), `${randomBytes(8).toString("hex")}.bin`);
  expect(
    await instantAfter(async () => {
      for (let turn = 0; turn < 20; turn++) {
        await writeFile(path, randomBytes(100_000));
        await readFile(path);
      }
      await rm(path);
    }),
  ).toBe(0);
});
