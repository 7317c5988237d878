import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { models } from "../../../recipes/models.ts";
import type { Clock } from "../../../src/core/api/index.ts";
import type { Firing } from "../../../src/core/engine/schedule/run-schedules.ts";
import { createMemoryJournal, openShowrunner, pipeline, runSchedules, type Schedule } from "../../../src/index.ts";
import { builtInCatalog } from "../../support/built-in-catalog.ts";
import { FakePaidService } from "../../support/fake-paid-service.ts";
import { SimulatedClock } from "../../support/simulated-clock.ts";

const folder = mkdtempSync(join(tmpdir(), "schedules-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const HOUR = 3_600_000;
/** A Tuesday. */
const START = Date.UTC(2030, 0, 1, 0, 30);

const news = pipeline("news", {
  input: z.object({ day: z.string() }),
  build({ input, job }) {
    job("card", models.image, { prompt: input.day }, { keep: false });
    return {};
  },
});

function hourly(more: Partial<Schedule> = {}): Schedule {
  const input = ({ at }: { readonly at: Date }) => ({ day: at.toISOString() });
  return { name: "news", cron: "0 * * * *", pipeline: news, input, options: { outDir: join(folder, "out") }, ...more };
}

function world(startAt = START) {
  const clock = new SimulatedClock(startAt);
  const paidService = new FakePaidService({ catalog: builtInCatalog(), priceMicros: () => 10_000 });
  paidService.now = () => clock.now();
  const journal = createMemoryJournal({ now: () => clock.now() });
  const waits = new Set<{ timers: number }>();
  /** A process with these schedules. */
  async function begin(schedules: readonly Schedule[]) {
    const show = await openShowrunner({
      client: paidService.client(),
      journal,
      clock,
      mediaDir: folder,
      notify: false,
    });
    const stop = new AbortController();
    const firings: Firing[] = [];
    const wait = { timers: 0 };
    waits.add(wait);
    const own: Clock = {
      now: () => clock.now(),
      setTimer(delayMs, fire) {
        wait.timers += 1;
        const timer = clock.setTimer(delayMs, () => {
          wait.timers -= 1;
          fire();
        });
        return timer;
      },
    };
    const over = runSchedules(show, schedules, {
      signal: stop.signal,
      clock: own,
      onFiring: (one) => firings.push(one),
    });
    over.catch(() => {}).finally(() => waits.delete(wait));
    return {
      firings,
      told: () => firings.map(({ at, outcome }) => [new Date(at).toISOString().slice(5, 16), outcome]),
      async end() {
        stop.abort();
        await over;
        await show.close();
      },
    };
  }
  /** Lets time pass in steps, so that every process has its turn. */
  async function pass(ms: number) {
    for (let passed = 0; passed < ms; passed += 60_000) {
      await clock.advance(60_000);
      // A process that holds no timer is at work, which may read and write files.
      while ([...waits].some((one) => one.timers === 0)) await new Promise((resolve) => setTimeout(resolve, 1));
    }
  }
  return { begin, pass, journal, paidService, clock };
}

describe("A schedule", () => {
  test("starts a run at each of its times, named after it", async () => {
    const { begin, pass, journal } = world();
    const process = await begin([hourly()]);
    await pass(2.5 * HOUR);
    expect(process.told()).toEqual([
      ["01-01T01:00", "started"],
      ["01-01T02:00", "started"],
      ["01-01T03:00", "started"],
    ]);
    while ((await journal.run("news-20300101T030000Z"))?.status !== "succeeded") await pass(60_000);
    const runs = await journal.runs({ tags: { schedule: "news" } });
    expect(runs.map(({ runId, status }) => [runId, status])).toEqual([
      ["news-20300101T030000Z", "succeeded"],
      ["news-20300101T020000Z", "succeeded"],
      ["news-20300101T010000Z", "succeeded"],
    ]);
    await process.end();
  });

  test("in two processes starts each run once", async () => {
    const { begin, pass, journal, paidService } = world();
    const [one, other] = [await begin([hourly()]), await begin([hourly()])];
    await pass(3 * HOUR);
    const outcomes = [...one.firings, ...other.firings].map(({ outcome }) => outcome).sort();
    expect(outcomes).toEqual(["elsewhere", "elsewhere", "elsewhere", "started", "started", "started"]);
    expect([(await journal.runs()).length, paidService.jobs.size]).toEqual([3, 3]);
    await one.end();
    await other.end();
  });

  test.each([
    ["skip", []],
    ["last", [["01-01T05:00", "started"]]],
    ["all", ["01-01T02:00", "01-01T03:00", "01-01T04:00", "01-01T05:00"].map((at) => [at, "started"])],
  ] as const)("with missed: %s, after hours in which no process was there", async (missed, expected) => {
    const { begin, pass, clock } = world();
    const before = await begin([hourly({ missed })]);
    await pass(HOUR);
    await before.end();
    await clock.advance(4 * HOUR);
    const after = await begin([hourly({ missed })]);
    await pass(HOUR / 4);
    expect(after.told().filter(([, outcome]) => outcome === "started")).toEqual(expected);
    await after.end();
  });

  test("that never ran has missed nothing", async () => {
    const { begin, pass } = world();
    const process = await begin([hourly({ missed: "all" })]);
    await pass(HOUR / 3);
    expect(process.firings).toEqual([]);
    await process.end();
  });

  test("goes by the clock of its zone, also on the night on which that changes", async () => {
    // Berlin: 02:00 becomes 03:00 on 31 March 2030.
    const { begin, pass } = world(Date.UTC(2030, 2, 30, 0, 30));
    const process = await begin([hourly({ cron: "0 6 * * *", timeZone: "Europe/Berlin" })]);
    await pass(48 * HOUR);
    expect(process.told()).toEqual([
      ["03-30T05:00", "started"],
      ["03-31T04:00", "started"],
    ]);
    await process.end();
  });

  test("tells why a run could not be started, and goes on", async () => {
    const { begin, pass } = world();
    const input = ({ at }: { readonly at: Date }) => (at.getUTCHours() === 1 ? {} : { day: "fine" });
    const process = await begin([hourly({ input })]);
    await pass(2 * HOUR);
    expect(process.firings).toMatchObject([
      { outcome: "failed", error: { code: "PLAN_PROBLEMS" } },
      { outcome: "started" },
    ]);
    await process.end();
  });

  test.each([
    [{ cron: "every day" }, /cron: schedule news: "every day" in UTC/],
    [{ timeZone: "Mars/Base" }, /in Mars\/Base/],
    [{ name: "my news" }, /is no run id/],
    [{ missed: "none" as never }, /is none of skip, last and all/],
  ])("that cannot work is refused, %#", async (more, message) => {
    const { begin } = world();
    const { end } = await begin([hourly(more)]);
    await expect(end()).rejects.toThrow(message);
  });
});
