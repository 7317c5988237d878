import fc from "fast-check";
import { expect, test } from "vitest";
import { createPacer, type Paced, type PaceOptions, type RequestClass } from "../../../src/core/api/pace/pacer.ts";
import { alignedLimiter, type Limiter, limitHeaders, slidingLimiter } from "../../support/limiter.ts";
import { SimulatedClock } from "../../support/simulated-clock.ts";

const good: Paced = { kind: "answer", status: 200, headers: {} };
const refusal = (headers: Record<string, string> = {}): Paced => ({ kind: "answer", status: 429, headers });

function setUp(options: PaceOptions = {}) {
  const clock = new SimulatedClock();
  const pacer = createPacer(clock, { maxPerSecond: Number.POSITIVE_INFINITY, ...options }, () => 0.5);
  const started: string[] = [];
  const answers = new Map<string, (answer: Paced) => void>();
  const send = (name: string, priority = 0, requestClass: RequestClass = "read", signal?: AbortSignal) =>
    pacer.run({ requestClass, priority, signal }, () => {
      started.push(name);
      return new Promise<Paced>((resolve) => answers.set(name, resolve));
    });
  const answer = async (name: string, value: Paced = good) => {
    answers.get(name)?.(value);
    await clock.advance(0);
  };
  return { clock, pacer, started, send, answer };
}

test("requests beyond the number in flight wait, the highest priority goes first, equals in order", async () => {
  const { started, send, answer } = setUp({ maxInFlight: 1 });
  for (const [name, priority] of [
    ["a", 0],
    ["b", 0],
    ["c", 5],
    ["d", 0],
    ["e", 5],
  ] as const)
    void send(name, priority);
  for (const name of ["a", "c", "e", "b", "d"]) await answer(name);
  expect(started).toEqual(["a", "c", "e", "b", "d"]);
});

test("no more than maxPerSecond start within a second", async () => {
  const { clock, started, send, answer } = setUp({ maxPerSecond: 2 });
  for (const name of ["a", "b", "c", "d", "e"]) void send(name);
  for (const name of ["a", "b"]) await answer(name);
  expect(started).toEqual(["a", "b"]);
  await clock.advance(999);
  expect(started).toEqual(["a", "b"]);
  await clock.advance(1);
  expect(started).toEqual(["a", "b", "c", "d"]);
  await clock.advance(1_000);
  expect(started).toEqual(["a", "b", "c", "d", "e"]);
});

test("Retry-After goes before X-RateLimit-Reset and holds every request back [WK2]", async () => {
  const { clock, started, send, answer, pacer } = setUp();
  void send("a");
  await answer("a", refusal({ "retry-after": "7", "x-ratelimit-reset": String(clock.now() / 1000 + 50) }));
  void send("b");
  void send("c");
  await clock.advance(6_900);
  expect(started).toEqual(["a"]);
  expect(pacer.snapshot()).toMatchObject({ inFlight: 0, queued: 2 });
  await clock.advance(1_000);
  expect(started).toEqual(["a", "b"]);
});

test("after a pause one request tries alone, and each good answer doubles how many follow", async () => {
  const { clock, started, send, answer } = setUp();
  void send("first");
  await answer("first", refusal({ "retry-after": "1" }));
  for (let index = 0; index < 12; index++) void send(`r${index}`);
  await clock.advance(2_000);
  expect(started).toEqual(["first", "r0"]);
  await answer("r0");
  expect(started).toEqual(["first", "r0", "r1", "r2"]);
  await answer("r1");
  expect(started).toEqual(["first", "r0", "r1", "r2", "r3", "r4", "r5"]);
});

test("a reset instant is read on the service's clock", async () => {
  const { clock, started, send, answer, pacer } = setUp();
  void send("a");
  const serviceNow = clock.now() + 3_600_000;
  await answer(
    "a",
    refusal({ date: new Date(serviceNow).toUTCString(), "x-ratelimit-reset": String(serviceNow / 1000 + 5) }),
  );
  expect(Math.abs(pacer.clockOffsetMs() - 3_600_000)).toBeLessThan(1_000);
  void send("b");
  await clock.advance(4_000);
  expect(started).toEqual(["a"]);
  await clock.advance(2_500);
  expect(started).toEqual(["a", "b"]);
});

test("an answer that says nothing remains is obeyed before any refusal", async () => {
  const { clock, started, send, answer } = setUp();
  void send("a");
  const headers = { "x-ratelimit-remaining": "0", "x-ratelimit-reset": String(clock.now() / 1000 + 9) };
  await answer("a", { ...good, headers });
  void send("b");
  await clock.advance(8_000);
  expect(started).toEqual(["a"]);
  await clock.advance(2_000);
  expect(started).toEqual(["a", "b"]);
});

test("a class with a bucket of its own is not held back by another's limit", async () => {
  const { started, send, answer } = setUp({ buckets: { upload: {} } });
  void send("a");
  await answer("a", refusal({ "retry-after": "60" }));
  void send("b");
  void send("u", 0, "upload");
  await answer("none");
  expect(started).toEqual(["a", "u"]);
});

test("a request that waits can be called off, and a closed pacer lets nobody wait", async () => {
  const { clock, pacer, send, answer, started } = setUp({ maxInFlight: 1 });
  const controller = new AbortController();
  void send("a");
  const off = send("b", 0, "read", controller.signal).catch((reason) => reason.message);
  const late = send("c").catch((error) => error);
  controller.abort(new Error("not any more"));
  expect(await off).toBe("not any more");
  pacer.close();
  expect(await late).toMatchObject({ code: "CONNECTION_FAILED", sent: false });
  await answer("a");
  expect(started).toEqual(["a"]);
  expect(clock.pendingTimers).toBe(0);
});

/** Runs requests of many against a limiter, answers coming back in any order, until all were let through. */
async function against(limiter: Limiter, requests: number, count: number, scheduler: fc.Scheduler, startMs: number) {
  const clock = new SimulatedClock(startMs);
  const pacer = createPacer(clock, { maxPerSecond: Number.POSITIVE_INFINITY }, () => 0.5);
  let firstRefusalAt: number | null = null;
  let refusalsAfter = 0;
  let most = 0;
  const work = () => {
    most = Math.max(most, pacer.snapshot().inFlight);
    const sentAt = clock.now();
    const comeBackAt = limiter.arrive(sentAt);
    if (comeBackAt !== null && firstRefusalAt !== null && sentAt > firstRefusalAt) refusalsAfter++;
    return scheduler.schedule(Promise.resolve()).then((): Paced => {
      if (comeBackAt === null) return good;
      firstRefusalAt ??= clock.now();
      return refusal(limitHeaders(requests, clock.now(), Math.max(comeBackAt, clock.now())));
    });
  };
  let left = count;
  const one = async () => {
    for (;;) {
      const answer = await pacer.run({ requestClass: "read", priority: 0 }, work);
      if (answer.kind === "answer" && answer.status === 200) break;
    }
    left--;
  };
  const all = Promise.all(Array.from({ length: count }, one));
  while (left > 0) {
    await clock.advance(5);
    if (scheduler.count() > 0) await scheduler.waitOne();
    else if (!(await clock.step()) && scheduler.count() === 0 && left > 0)
      throw new Error("nothing is under way, yet not all is done");
  }
  await all;
  const tookMs = clock.now() - startMs;
  pacer.close();
  return { refusalsAfter, most, tookMs, pending: clock.pendingTimers };
}

for (const [name, make] of [
  ["aligned", alignedLimiter],
  ["sliding", slidingLimiter],
] as const) {
  test(`against ${name} windows of a minute no request is refused once the first refusal was read`, {
    timeout: 120_000,
  }, async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        fc.integer({ min: 3, max: 12 }),
        fc.nat(50_000),
        async (scheduler, requests, phase) => {
          const count = requests * 3;
          const result = await against(
            make(requests, 60_000),
            requests,
            count,
            scheduler,
            Date.UTC(2030, 0, 1) + phase,
          );
          expect(result.refusalsAfter).toBe(0);
          expect(result.most).toBeLessThanOrEqual(32);
          expect(result.tookMs).toBeLessThan(60_000 * 5);
          expect(result.pending).toBe(0);
        },
      ),
      { numRuns: 40 },
    );
  });
}

test("a start in the last second of a window looks like a limit a second, and the next refusal corrects it", async () => {
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), fc.integer({ min: 3, max: 12 }), async (scheduler, requests) => {
      const startMs = Date.UTC(2030, 0, 1) + 59_700;
      const result = await against(alignedLimiter(requests, 60_000), requests, requests * 3, scheduler, startMs);
      expect(result.refusalsAfter).toBeLessThanOrEqual(8);
      expect(result.tookMs).toBeLessThan(60_000 * 5);
    }),
    { numRuns: 30 },
  );
});

test("a limit a second is not taken for one a minute", async () => {
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), fc.integer({ min: 3, max: 12 }), async (scheduler, requests) => {
      const result = await against(
        slidingLimiter(requests, 1_000),
        requests,
        requests * 5,
        scheduler,
        Date.UTC(2030, 0, 1),
      );
      expect(result.tookMs).toBeLessThan(20_000);
    }),
    { numRuns: 30 },
  );
});

test("says until when the key's limit holds requests back, where some wait for it", async () => {
  const { clock, started, send, answer, pacer } = setUp({ limit: { requests: 2, perMs: 60_000 } });
  for (const name of ["a", "b", "c"]) void send(name);
  for (const name of ["a", "b"]) await answer(name);
  expect(started).toEqual(["a", "b"]);
  const { pausedUntil, queued } = pacer.snapshot();
  expect(queued).toBe(1);
  await clock.advance(pausedUntil! - clock.now() - 1);
  expect(started).toEqual(["a", "b"]);
  await clock.advance(1);
  expect(started).toEqual(["a", "b", "c"]);
  expect(pacer.snapshot().pausedUntil).toBeNull();
});
