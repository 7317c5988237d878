import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { openSqliteJournal } from "../../../src/core/journal/sqlite.ts";
import type { JournalStore } from "../../../src/core/journal/store.ts";
import { createMemoryJournal, type OpenOptions, openShowrunner, pipeline, type RunResult } from "../../../src/index.ts";
import { during, FakePaidService, models, openFakeShow, pipelineOf } from "../../support/engine.ts";
import { overriding } from "../../support/overriding.ts";
import { isFull } from "../../support/sample.ts";
import { SimulatedClock } from "../../support/simulated-clock.ts";
import { newFolder } from "../../support/temporary-folder.ts";

const folder = newFolder();

const schedules = isFull ? 100 : 3;
const priceMicros = 70_000;
const affordable = 73;
const enough = "5.11";

/** So many independent pictures; nothing is downloaded, since only money is looked at. */
const pictures = pipeline("pictures", {
  input: z.object({ count: z.number() }),
  build({ input, job }) {
    for (let i = 0; i < input.count; i++) {
      job(`p${i}`, models.image, { prompt: `${i}` }, { maxCost: "0.07", keep: false });
    }
    return {};
  },
});

/** Numbers from 0 to 1, the same for the same seed. */
function chance(seed: number): () => number {
  let state = (seed * 7919 + 1) % 2_147_483_647;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

function seeds(count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => index + 1);
}

test(`200 steps at once under a budget for 73: exactly 73 are submitted, in ${schedules} random schedules [budgets] [G20]`, async () => {
  for (const seed of seeds(schedules)) {
    const next = chance(seed);
    const { paidService, clock, run, resume } = await openFakeShow({
      sleep: () => new Promise((resolve) => void clock.setTimer(Math.floor(next() * 5000), resolve)),
      priceMicros: () => null,
    });
    const concurrency = 1 + Math.floor(next() * 200);
    // A budget below the quote is refused at once; one that is lowered later bites in the middle of the run.
    const beforeAll = { id: "x", budget: "14", concurrency, signal: AbortSignal.abort() };
    await run(pictures, { count: 200 }, beforeAll);
    expect(paidService.submits).toBe(0);
    const result = await resume({ budget: enough });
    expect(result.pause?.reason, `seed ${seed}`).toBe("budget");
    expect(paidService.jobs.size, `seed ${seed}`).toBe(affordable);
    expect(paidService.chargedMicros, `seed ${seed}`).toBe(affordable * priceMicros);
    expect(result.report).toMatchObject({ cost: enough, held: "0.00" });
  }
}, 300_000);

describe("What does not fit while a dearer guess is reserved", () => {
  /** The chat may cost fifty cents and costs a tenth of one; two pictures of ten cents want room too. */
  const part = pipelineOf("part", ({ chat, job }) => {
    const words = chat("words", "chat-1", { prompt: "say something" }, { maxCost: "0.50" });
    job("drawn", models.image, { prompt: words }, { keep: false });
    job("beside", models.image, { prompt: "beside" }, { keep: false });
    return {};
  });
  const whole = pipelineOf("whole", ({ include }) => {
    include("part", part, {}, { maxCost: "0.55" });
    return {};
  });

  test.each([
    ["waits for the bill under a budget, rather than pause [G20]", "0.55", ["succeeded", undefined, 3]],
    ["pauses where no bill could be small enough", "0.15", ["paused", "budget", 0]],
  ])("%s", async (_, budget, expected) => {
    const { paidService, run, resume } = await openFakeShow({ says: () => "words" });
    await run(part, {}, { budget: "1", signal: AbortSignal.abort() });
    const { status, pause } = await resume({ budget });
    expect([status, pause?.reason, paidService.jobs.size + paidService.chats.size]).toEqual(expected);
  });

  test("waits likewise within a part of a pipeline, rather than fail", async () => {
    const { paidService, run } = await openFakeShow({ says: () => "words" });
    const done = await run(whole);
    expect([done.status, paidService.jobs.size]).toEqual(["succeeded", 2]);
  });

  test("waits likewise under a cap over all runs", async () => {
    const { paidService, run } = await openFakeShow({ says: () => "words", open: { spendingCap: "0.55" } });
    expect([(await run(part)).status, paidService.jobs.size]).toEqual(["succeeded", 2]);
  });
});

describe("A submit that waits for headroom", () => {
  /** How often a run was loaded from the journal; its steps take up to ten seconds. */
  async function reads(count: number, limits: (count: number) => object, others: number) {
    const clock = new SimulatedClock();
    const next = chance(count);
    const paidService = new FakePaidService({
      balanceMicros: count * priceMicros + 100_000,
      priceMicros: () => null,
      sleep: () => new Promise((resolve) => void clock.setTimer(Math.floor(next() * 10_000), resolve)),
    });
    let whole = 0;
    const kept = createMemoryJournal({ now: () => clock.now() });
    const read: JournalStore["read"] = (runId, options) => {
      // A load reads the first event too where it has a snapshot.
      if (runId === "x" && options?.limit === undefined) whole++;
      return kept.read(runId, options);
    };
    const journal = overriding(kept, { read });
    const dear = (steps: number) =>
      pipelineOf("dear", ({ job }) => {
        for (let i = 0; i < steps; i++)
          job(`p${i}`, models.image, { prompt: `${i}` }, { maxCost: "0.10", keep: false });
        return {};
      });
    const unanswered = paidService.client((point) =>
      point.startsWith("submit") ? new Promise(() => {}) : Promise.resolve(),
    );
    const common = { journal, mediaDir: folder, clock };
    const other = await openShowrunner({ client: unanswered, ...common });
    const show = await openShowrunner({ client: paidService.client(), ...common, ...limits(count) });
    if (others > 0) {
      const stuck = await during(clock, other.run(dear(others), {}, { id: "other" }));
      for await (const update of stuck.events())
        if ("event" in update && update.event.type === "job.submit.intended") break;
    }
    const run = await during(clock, show.run(dear(count), {}, { id: "x", concurrency: 200 }));
    const { status, pause } = await during(clock, run.result());
    return { status, reason: pause?.reason ?? null, whole };
  }

  test("under a cap costs no reading of the whole journal, however many bills come in meanwhile", async () => {
    const cap = (count: number) => ({ spendingCap: (count * 0.07 + 0.1).toFixed(2) });
    const few = await reads(40, cap, 0);
    expect(few).toMatchObject({ status: "succeeded" });
    expect(await reads(160, cap, 0)).toEqual(few);
  });

  test("above a floor is never what costs nothing", async () => {
    const open = { walletFloor: "1" };
    const { paidService, run } = await openFakeShow({ priceMicros: () => 0, balanceMicros: 500_000, open });
    expect([(await run(pictures, { count: 2 })).status, paidService.jobs.size]).toEqual(["succeeded", 2]);
  });

  test("above a floor costs no more for more bills, while a charge of another run is on its way", async () => {
    const floor = () => ({ walletFloor: "0.01" });
    const few = await reads(20, floor, 1);
    expect(few).toMatchObject({ status: "paused", reason: "funds" });
    const many = await reads(80, floor, 1);
    // It is asked again once a second, not with each of the 60 further bills.
    expect(many.whole - few.whole).toBeLessThan(30);
  });
});

/** Four runs of 50 steps, each in a Showrunner of its own as in a process of its own, under one cap. */
async function fourRuns(
  paidService: FakePaidService,
  clock: SimulatedClock,
  journals: readonly JournalStore[],
  open: Partial<OpenOptions>,
) {
  const worlds = await Promise.all(journals.map((journal) => openFakeShow({ paidService, clock, journal, open })));
  return (ids: readonly string[], isResumed: boolean): Promise<readonly RunResult[]> => {
    const ended = ids.map(async (id, index) => {
      const { show } = worlds[index]!;
      const begun = isResumed ? show.resume(id) : show.run(pictures, { count: 50 }, { id, concurrency: 20 });
      return (await begun).result();
    });
    return during(clock, Promise.all(ended));
  };
}

function slowService(seed: number, clock: SimulatedClock): FakePaidService {
  const next = chance(seed);
  const sleep = () => new Promise<void>((resolve) => void clock.setTimer(Math.floor(next() * 5000), resolve));
  return new FakePaidService({ priceMicros: () => priceMicros, sleep });
}

/** The same journal, as one sees it whose commits take their time: answers arrive while one is under way. */
function slowCommits(journal: JournalStore, clock: SimulatedClock, next: () => number): JournalStore {
  const commit: JournalStore["commit"] = async (wanted) => {
    await new Promise<void>((resolve) => void clock.setTimer(Math.floor(next() * 400), resolve));
    return journal.commit(wanted);
  };
  return overriding(journal, { commit });
}

const ids = ["a", "b", "c", "d"];

describe("A spending cap for 73 jobs over four runs of 50", () => {
  test("lets exactly 73 through in random schedules, then the rest once it is raised [G23]", async () => {
    for (const seed of seeds(schedules)) {
      const clock = new SimulatedClock();
      const paidService = slowService(seed, clock);
      const journal = createMemoryJournal();
      const journals = ids.map((_, index) => slowCommits(journal, clock, chance(seed * 5 + index)));
      const capped = await fourRuns(paidService, clock, journals, { spendingCap: enough });
      const results = await capped(ids, false);
      expect(paidService.jobs.size, `seed ${seed}`).toBe(affordable);
      const paused = results.filter(({ pause }) => pause?.reason === "budget");
      expect(paused.length, `seed ${seed}`).toBeGreaterThanOrEqual(3);
      expect(paused[0]?.pause?.message).toContain("--spending-cap");
      for (const id of ids) expect((await journal.ledger(id)).heldMicros).toBe(0);
      if (seed > 3) continue;
      // Resumed under the same cap nothing is sent; under a higher one every run finishes.
      const stuck = paused.map(({ id }) => id);
      await capped(stuck, true);
      expect(paidService.jobs.size).toBe(affordable);
      const raised = await fourRuns(paidService, clock, journals, { spendingCap: "14" });
      expect((await raised(ids, true)).map(({ status }) => status)).toEqual(ids.map(() => "succeeded"));
      expect(paidService.chargedMicros).toBe(14_000_000);
    }
  }, 300_000);

  test("holds across connections to one file", async () => {
    const clock = new SimulatedClock();
    const paidService = slowService(1, clock);
    const path = join(folder, "cap.db");
    const journals = await Promise.all(ids.map(() => openSqliteJournal(path)));
    await (await fourRuns(paidService, clock, journals, { spendingCap: enough }))(ids, false);
    expect(paidService.jobs.size).toBe(affordable);
    await Promise.all(journals.map((journal) => journal.close()));
  }, 300_000);
});
