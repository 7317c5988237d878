import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { createPacer, type Paced } from "../../src/api/pace/pacer.ts";
import { StorePace } from "../../src/engine/service/store-pace.ts";
import { createMemoryJournal } from "../../src/index.ts";
import { startLocalService } from "../../src/local-service/index.ts";
import { chaosProxy } from "../support/chaos-proxy.ts";
import { SimulatedClock } from "../support/simulated-clock.ts";

const folder = mkdtempSync(join(tmpdir(), "shared-pace-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The most requests within any window of this length. */
function mostWithin(times: readonly number[], windowMs: number): number {
  const sorted = [...times].sort((a, b) => a - b);
  let [most, from] = [0, 0];
  for (const [index, at] of sorted.entries()) {
    while (sorted[from]! <= at - windowMs) from += 1;
    most = Math.max(most, index - from + 1);
  }
  return most;
}

test("Four processes of one key never exceed its limit in any window, and use all of it", async () => {
  const limit = { requests: 60, perMs: 6_000 };
  const service = await startLocalService({ renderer: "stub", rateLimit: { requests: 60, windowMs: 6_000 } });
  const times: number[] = [];
  const proxy = await chaosProxy(service.baseUrl, () => {
    times.push(performance.now());
    return "none";
  });
  const [processes, count] = [4, 60];
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

/** Processes in simulated time: requests that take some time, one pacer each, on one journal whose answers take some, too. */
class Pacers {
  readonly clock = new SimulatedClock();
  readonly sent: number[] = [];
  readonly #journal = createMemoryJournal({ now: () => this.clock.now() });
  readonly asked: number[] = [];
  readonly #writeMs: number;

  constructor(writeMs: number) {
    this.#writeMs = writeMs;
  }

  async #later(ms: number): Promise<void> {
    await new Promise<void>((resolve) => void this.clock.setTimer(ms, resolve));
  }

  open(limit: { readonly requests: number; readonly perMs: number } | undefined) {
    const pace = new StorePace(this.#journal, this.clock);
    pace.of("key");
    const shared = {
      share: async (request: Parameters<StorePace["share"]>[0]) => {
        this.asked.push(this.clock.now());
        const grant = await pace.share(request);
        await this.#later(this.#writeMs);
        return grant;
      },
    };
    const pacer = createPacer(this.clock, { limit, shared, maxPerSecond: 10_000, maxInFlight: 1_000 }, () => 0);
    const slot = { requestClass: "read", priority: 0 } as const;
    return {
      pacer,
      send: (tookMs: number, answer: Paced = { kind: "answer", status: 200, headers: {} }) =>
        pacer.run(slot, async () => {
          this.sent.push(this.clock.now());
          await this.#later(tookMs);
          return answer;
        }),
    };
  }

  async until(work: Promise<unknown>): Promise<void> {
    let isOver = false;
    void work.then(() => (isOver = true));
    while (!isOver) if (!(await this.clock.step())) await new Promise((resolve) => setImmediate(resolve));
  }
}

describe("A limit that processes share", () => {
  test("holds in every window, whoever sends how much when", async () => {
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
      { numRuns: 15 },
    );
  }, 120_000);

  test("is one process's alone while no other asks, and asked for rarely", async () => {
    const world = new Pacers(1);
    const { send, pacer } = world.open({ requests: 60, perMs: 60_000 });
    await world.until(Promise.all(Array.from({ length: 120 }, () => send(10))));
    expect(world.clock.now() - world.sent[0]!).toBeLessThan(65_000);
    // Every two seconds while it sends.
    expect(world.asked.length).toBeLessThanOrEqual(40);
    pacer.close();
  });

  test("and that one process is told of, with how long to wait, holds for the others", async () => {
    const world = new Pacers(1);
    const [one, other] = [world.open(undefined), world.open(undefined)];
    await world.until(Promise.all([one.send(1), other.send(1)]));
    const headers = { "retry-after": "30", "x-ratelimit-limit": "10" };
    await world.until(one.send(1, { kind: "answer", status: 429, headers }));
    const refusedAt = world.clock.now();
    await world.clock.advance(3_000);
    await world.until(other.send(1));
    expect(world.sent.at(-1)! - refusedAt).toBeGreaterThanOrEqual(30_000);
    expect(other.pacer.snapshot().limit?.requests).toBe(10);
    one.pacer.close();
    other.pacer.close();
  });

  test("of a process that died is the others' after its last requests are in no window", async () => {
    const world = new Pacers(1);
    const limit = { requests: 20, perMs: 10_000 };
    const [dies, lives] = [world.open(limit), world.open(limit)];
    await world.until(Promise.all(Array.from({ length: 20 }, () => dies.send(1))));
    dies.pacer.close();
    await world.until(Promise.all(Array.from({ length: 20 }, () => lives.send(1))));
    expect(mostWithin(world.sent, limit.perMs)).toBeLessThanOrEqual(20);
    lives.pacer.close();
  });
});
