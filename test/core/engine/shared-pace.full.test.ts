import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import fc from "fast-check";
import { afterAll, expect, test } from "vitest";
import { startLocalService } from "../../../src/local-service/index.ts";
import { chaosProxy } from "../../support/proxy.ts";
import { isFull } from "../../support/sample.ts";
import { mostWithin, Pacers } from "./fixtures/pacers.ts";

const folder = mkdtempSync(join(tmpdir(), "shared-pace-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("Four processes of one key never exceed its limit in any window, and use all of it", async () => {
  const limit = { requests: 60, perMs: 6_000 };
  const service = await startLocalService({ renderer: "stub", rateLimit: { requests: 60, windowMs: 6_000 } });
  const times: number[] = [];
  const proxy = await chaosProxy(service.baseUrl, () => {
    times.push(performance.now());
    return "none";
  });
  const [processes, count] = [4, 40];
  const told = { baseUrl: proxy.baseUrl, apiKey: service.apiKey, journal: join(folder, "journal.db"), count, limit };
  const script = join(import.meta.dirname, "fixtures/sender.ts");
  const hook = join(import.meta.dirname, "fixtures/same-instance.mjs");
  const children = Array.from({ length: processes }, () =>
    spawn(process.execPath, ["--import", hook, script, JSON.stringify(told)], { stdio: ["pipe", "pipe", "inherit"] }),
  );
  try {
    const lines = children.map((child) => createInterface({ input: child.stdout })[Symbol.asyncIterator]());
    const all = () => Promise.all(lines.map(async (line) => (await line.next()).value));
    expect(await all()).toEqual(Array.from({ length: processes }, () => "ready"));
    for (const child of children) child.stdin.write("go\n");
    expect(await all()).toEqual(Array.from({ length: processes }, () => "done"));
    expect(times).toHaveLength(processes * count);
    expect(mostWithin(times, limit.perMs)).toBeLessThanOrEqual(limit.requests);
    // Refused by nobody: what the service counted agrees.
    const { requests } = service.stats();
    expect(JSON.stringify(requests)).not.toContain("429");
  } finally {
    for (const child of children) child.kill("SIGKILL");
    await proxy.close();
    await service.close();
  }
}, 300_000);

test("A limit that processes share holds in every window, whoever sends how much when", async () => {
  const burst = fc.record({
    who: fc.integer({ min: 0, max: 3 }),
    count: fc.integer({ min: 1, max: 8 }),
    laterMs: fc.integer({ min: 0, max: 15_000 }),
    tookMs: fc.integer({ min: 1, max: 900 }),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(burst, { minLength: 1, maxLength: 6 }),
      fc.integer({ min: 2, max: 30 }),
      fc.integer({ min: 0, max: 300 }),
      async (bursts, requests, writeMs) => {
        const limit = { requests, perMs: 10_000 };
        const world = new Pacers(writeMs);
        const pacers = Array.from({ length: 4 }, () => world.open(limit));
        const answers: Promise<unknown>[] = [];
        for (const { who, count, laterMs, tookMs } of bursts) {
          await world.clock.advance(laterMs);
          for (let index = 0; index < count; index += 1) answers.push(pacers[who]!.send(tookMs));
        }
        await world.until(Promise.all(answers));
        expect(mostWithin(world.sent, limit.perMs)).toBeLessThanOrEqual(requests);
        for (const { pacer } of pacers) pacer.close();
      },
    ),
    { numRuns: isFull ? 15 : 5 },
  );
}, 300_000);
