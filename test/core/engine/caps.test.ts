import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { dayAt, instantText, parseCap, spendingLimits } from "../../../src/core/engine/money/spending.ts";
import { checkTags } from "../../../src/core/kit/tags.ts";
import type { OpenOptions, ResumeOptions, RunOptions } from "../../../src/index.ts";
import { isFull, openFakeShow, pictures, SimulatedClock } from "../../support/engine.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** 2030-01-01T00:00Z. */
const START = Date.UTC(2030, 0, 1);
const PRICE = 70_000;

async function world(open: Partial<OpenOptions>, { jobMs = 1_000, startAt = START } = {}) {
  const clock = new SimulatedClock(startAt);
  const fake = await openFakeShow({ clock, priceMicros: () => PRICE, takesMs: () => jobMs, open });
  /** Jumps from timer to timer until it is settled. */
  async function during<T>(work: Promise<T>): Promise<T> {
    let isOver = false;
    const over = () => (isOver = true);
    work.then(over, over);
    while (!isOver) if (!(await clock.step())) await new Promise((resolve) => setImmediate(resolve));
    return work;
  }
  return {
    ...{ ...fake, during },
    run: async (count: number, options: RunOptions) =>
      during((await during(fake.show.run(pictures, { count }, { outDir: fake.outDir, ...options }))).result()),
    resume: async (options: ResumeOptions = {}) => during((await fake.show.resume("x", options)).result()),
    /** Jobs by the days on which they were submitted, from the first day on. */
    perDay: () => {
      const counts: number[] = [];
      for (const { createdAt } of fake.paidService.jobs.values()) {
        const day = Math.floor((createdAt - START) / DAY);
        counts[day] = (counts[day] ?? 0) + 1;
      }
      return [...counts].map((count) => count ?? 0);
    },
  };
}

describe("A cap of a day", () => {
  test("pauses a run that meets it, says when it can go on, and lets it go on with the next day", async () => {
    const { show, run, resume, perDay, clock, journal } = await world({ caps: [{ usd: "0.3", per: "day" }] });
    const met = await run(10, { id: "x" });
    expect([met.status, met.pause?.reason, met.report.held, perDay()]).toEqual(["paused", "cap", "0.00", [4]]);
    expect(met.pause?.message).toMatch(
      /needs 0.07 USD, but 0.28 USD of the cap of 0.30 USD a day \(UTC\) across all runs in this journal is spent or reserved. The run can continue at 2030-01-02 00:00 UTC/,
    );
    expect(await journal.run("x")).toMatchObject({ status: "paused", resumeAt: START + DAY });
    expect((await show.show("x")).next?.note).toContain("--cap 0.35/day");
    expect(await show.due()).toEqual([]);
    const early = await resume();
    expect([early.pause?.reason, perDay()]).toEqual(["cap", [4]]);

    await clock.advance(START + DAY - clock.now());
    expect((await show.due()).map(({ runId }) => runId)).toEqual(["x"]);
    await resume();
    expect(perDay()).toEqual([4, 4]);
    await clock.advance(DAY);
    expect((await resume()).status).toBe("succeeded");
    expect(perDay()).toEqual([4, 4, 2]);
    expect(await journal.run("x")).toMatchObject({ status: "succeeded", resumeAt: null });
  });

  test("is waited for by a run that stays, over midnight and over midnight again", async () => {
    const { run, resume, perDay } = await world({ caps: [{ usd: "0.3", per: "day" }] });
    const short = await run(10, { id: "x", waitForCapMs: 30 * HOUR });
    expect([short.pause?.reason, perDay()]).toEqual(["cap", [4, 4]]);
    const done = await resume({ waitForCapMs: 30 * HOUR });
    expect([done.status, perDay()]).toEqual(["succeeded", [4, 4, 2]]);
  });

  test("hears a stop while it waits", async () => {
    const { show, during, journal, clock } = await world({ caps: [{ usd: "0.1", per: "day" }] });
    const handle = await during(show.run(pictures, { count: 2 }, { id: "x", waitForCapMs: 2 * DAY }));
    while ((await journal.run("x"))?.status !== "paused") await clock.step();
    await show.stop("x");
    expect((await during(handle.result())).pause?.reason).toBe("stopped");
    expect(clock.now()).toBeLessThan(START + HOUR);
  });

  test("begins at midnight of the zone that is named", async () => {
    const options = { caps: [{ usd: "0.08", per: "day" }], capTimeZone: "Asia/Kathmandu" } as const;
    const { run, clock } = await world(options);
    const met = await run(2, { id: "x" });
    expect(met.pause?.message).toContain("at 2030-01-02 00:00 Asia/Kathmandu");
    // Five hours and three quarters ahead of UTC.
    expect(met.pause?.resumeAt).toBe(START + DAY - 5.75 * HOUR);
    await clock.advance(18.25 * HOUR);
    expect((await run(2, { id: "x", onExisting: "resume" })).status).toBe("succeeded");
  });

  test("counts what was reserved before midnight for that day, also when it is charged after it [G24]", async () => {
    const late = { jobMs: 10 * 60_000, startAt: START + DAY - 5 * 60_000 };
    const { show, run, perDay, clock } = await world({ caps: [{ usd: "0.3", per: "day" }] }, late);
    expect((await run(4, { id: "before" })).status).toBe("succeeded");
    expect(clock.now()).toBeGreaterThan(START + DAY);
    expect((await show.spending()).caps).toMatchObject([{ spentMicros: 0, heldMicros: 0, endsAt: START + 2 * DAY }]);
    expect((await run(4, { id: "after" })).status).toBe("succeeded");
    expect((await show.spending()).caps).toMatchObject([{ spentMicros: 4 * PRICE }]);
    expect(perDay()).toEqual([4, 4]);
  });

  test("that is less than one job is no reason to wait", async () => {
    const { run } = await world({ caps: [{ usd: "0.05", per: "day" }] });
    const met = await run(1, { id: "x", waitForCapMs: 9 * DAY });
    expect([met.pause?.reason, met.pause?.resumeAt]).toEqual(["budget", null]);
    expect(met.report.next?.command).toBe("showrunner resume x --cap 0.07/day");
  });

  test("is never passed on any day, by any number of runs at any hours of any days [G24]", async () => {
    const begins = fc.record({
      count: fc.integer({ min: 1, max: 4 }),
      team: fc.constantFrom("a", "b"),
      laterMs: fc.integer({ min: 0, max: 9 * HOUR }),
    });
    const life = fc.record({
      all: fc.array(begins, { minLength: 2, maxLength: 5 }),
      perDayOfAll: fc.integer({ min: 1, max: 5 }),
      perDayOfA: fc.integer({ min: 1, max: 4 }),
      jobMs: fc.integer({ min: 1_000, max: 3 * HOUR }),
    });
    await fc.assert(
      fc.asyncProperty(life, async ({ all, perDayOfAll, perDayOfA, jobMs }) => {
        const usd = (jobs: number) => ((jobs * PRICE) / 1e6).toFixed(2);
        const caps = [
          { usd: usd(perDayOfAll), per: "day" },
          { usd: usd(perDayOfA), per: "day", tag: "team=a" },
        ] as const;
        const { show, clock, paidService, during, journal } = await world({ caps }, { jobMs });
        const results = [];
        for (const [index, { count, team, laterMs }] of all.entries()) {
          await clock.advance(laterMs);
          const options = { id: `r${index}`, tags: { team }, waitForCapMs: 60 * DAY, startAnyway: true };
          results.push((await during(show.run(pictures, { count }, options))).result());
        }
        expect((await during(Promise.all(results))).every(({ status }) => status === "succeeded")).toBe(true);
        const [days, daysOfA] = [new Map<number, number>(), new Map<number, number>()];
        for (const { runId, tags } of await journal.runs()) {
          for (const { event, at } of await journal.read(runId)) {
            if (event.type !== "job.submit.intended") continue;
            for (const counts of tags.team === "a" ? [days, daysOfA] : [days])
              counts.set(Math.floor(at / DAY), (counts.get(Math.floor(at / DAY)) ?? 0) + 1);
          }
        }
        expect(Math.max(...days.values())).toBeLessThanOrEqual(perDayOfAll);
        expect(Math.max(0, ...daysOfA.values())).toBeLessThanOrEqual(perDayOfA);
        expect(paidService.jobs.size).toBe(all.reduce((sum, { count }) => sum + count, 0));
      }),
      { numRuns: isFull ? 4 : 1 },
    );
  }, 300_000);
});

describe("A cap of a tag", () => {
  test("counts the runs that carry it, and `*` each value by itself", async () => {
    const caps = [
      { usd: "0.15", tag: "team=video" },
      { usd: "0.08", per: "day", tag: "user=*" },
    ] as const;
    const { run, paidService, show } = await world({ caps });
    const video = await run(3, { id: "v", tags: { team: "video" } });
    const audio = await run(3, { id: "a", tags: { team: "audio" } });
    expect([video.pause?.reason, audio.status, paidService.jobs.size]).toEqual(["budget", "succeeded", 5]);
    expect(video.pause?.message).toContain("cap of 0.15 USD across all runs in this journal with the tag team=video");
    expect(video.report.next?.command).toBe("showrunner resume v --cap team=video:0.21");
    for (const user of ["x", "y"]) {
      const met = await run(2, { id: user, tags: { user } });
      const message = expect.stringContaining(`with the tag user=${user}`);
      expect(met.pause).toMatchObject({ reason: "cap", message });
    }
    expect(paidService.jobs.size).toBe(7);
    expect((await show.runs({ tags: { team: "video" } })).map(({ runId }) => runId)).toEqual(["v"]);
  });

  test("and a run's tags stay: under the same id with others it is another run", async () => {
    const { run, show } = await world({});
    await run(1, { id: "x", tags: { team: "video" } });
    const other = show.run(pictures, { count: 1 }, { id: "x", tags: { team: "audio" } });
    await expect(other).rejects.toThrow("tags: team=video → team=audio");
    expect((await run(1, { id: "x", tags: { team: "video" } })).status).toBe("succeeded");
  });
});

describe("Days", () => {
  const zones = [
    ...["UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu"],
    ...["Pacific/Chatham", "America/Santiago", "Africa/Cairo", "Australia/Lord_Howe"],
  ];

  test("are found in every zone, also where clocks change", () => {
    const at = fc.integer({ min: Date.UTC(2020, 0, 1), max: Date.UTC(2035, 0, 1) });
    fc.assert(
      fc.property(at, fc.constantFrom(...zones), (now, zone) => {
        const { startAt, endAt } = dayAt(now, zone);
        const date = (instant: number) => instantText(instant, zone).slice(0, 10);
        expect(startAt <= now && now < endAt).toBe(true);
        expect([date(startAt), date(endAt - 1)]).toEqual([date(now), date(now)]);
        expect(date(startAt - 1) < date(now) && date(endAt) > date(now)).toBe(true);
        expect([23, 23.5, 24, 24.5, 25]).toContain((endAt - startAt) / HOUR);
      }),
      { numRuns: isFull ? 500 : 100 },
    );
  });

  test("have 23 and 25 hours in Berlin when its clocks change", () => {
    const days = [Date.UTC(2030, 2, 31), Date.UTC(2030, 9, 27), Date.UTC(2030, 9, 28)];
    const lengths = days.map((at) => dayAt(at, "Europe/Berlin")).map(({ startAt, endAt }) => (endAt - startAt) / HOUR);
    expect(lengths).toEqual([23, 25, 24]);
  });
});

describe("Caps and tags as they are written", () => {
  test("are read from options, text and environment", () => {
    expect(parseCap("50/day", "x")).toEqual({ capMicros: 50_000_000, per: "day", tag: null });
    const tag = { key: "team", value: "video" };
    expect(parseCap("team=video:10.5", "x")).toEqual({ capMicros: 10_500_000, per: null, tag });
    expect(parseCap("user=a:b=c:1/day", "x").tag).toEqual({ key: "user", value: "a:b=c" });
    const env = { SHOWRUNNER_CAPS: "50/day, team=*:10/day", SHOWRUNNER_CAP_TIME_ZONE: "Europe/Berlin" };
    const { caps } = spendingLimits({ env, spendingCap: "9" });
    const rules = [
      { capMicros: 9_000_000, per: null, tag: null },
      { capMicros: 50_000_000, per: "day", tag: null },
      { capMicros: 10_000_000, per: "day", tag: { key: "team", value: "*" } },
    ];
    expect(caps).toEqual({ timeZone: "Europe/Berlin", rules });
    // One that is given replaces the environment's for the same runs and time; the others stay.
    const given = spendingLimits({ env, caps: ["70/day", { usd: "1", tag: "team=*" }] }).caps.rules;
    expect(given.map(({ capMicros, per }) => `${capMicros / 1e6}/${per}`)).toEqual(["10/day", "70/day", "1/null"]);
  });

  test.each([
    [() => parseCap("10/week", "--cap"), /--cap: "10\/week" is not a cap/],
    [() => parseCap("ten", "--cap"), /not an amount/],
    [() => parseCap("video:10", "--cap"), /"video" is not a tag; write tags as key=value, such as team=video/],
    [
      () => spendingLimits({ env: { SHOWRUNNER_CAP_TIME_ZONE: "Berlin" } }),
      /SHOWRUNNER_CAP_TIME_ZONE: "Berlin" is not a time zone/,
    ],
    [() => spendingLimits({ env: {}, caps: [{ usd: "1", per: "week" as never }] }), /caps: "week" is not a cap period/],
    [() => checkTags({ "a b": "c" }), /"a b" is not a valid tag key/],
    [() => checkTags({ a: "x".repeat(81) }), /is not a valid value for the tag a/],
    [() => checkTags({ a: "line\nbreak" }), /is not a valid value for the tag a/],
    [() => checkTags({ a: "*" }), /is not a valid value for the tag a/],
    [() => checkTags({ a: 1 as never }), /is not a valid value for the tag a/],
    [() => checkTags(Object.fromEntries(Array.from({ length: 9 }, (_, i) => [`k${i}`, "v"]))), /9 tags are too many/],
  ])("are refused with what is wrong, %#", (read, message) => {
    expect(read).toThrow(message);
  });
});
