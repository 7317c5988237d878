import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { retireHolder } from "../../../src/core/journal/host.ts";
import { CrashInjector } from "../../../src/testing/crash-injector.ts";
import { during, type FakeShow, isFull, models, openFakeShow, pipelineOf } from "../../support/engine.ts";

const gates = ["g1", "g2", "g3"] as const;

/** A picture, and three decisions, each with a picture after it. */
const gated = pipelineOf("gated", ({ job, approve }) => {
  let last = job("start", models.image, { prompt: "start" });
  for (const gate of gates) {
    last = job(`after-${gate}`, models.image, { prompt: gate, images: [approve(gate, last)] });
  }
  return { last };
});

async function retryOrPause(): Promise<FakeShow> {
  const world = await openFakeShow();
  expect((await world.run(gated)).pause?.reason).toBe("approval");
  return world;
}

/** What a worker does: whatever is due. */
async function work(world: FakeShow): Promise<boolean> {
  if ((await world.show.due()).length === 0) return false;
  await world.resume({ unattended: true });
  return true;
}

const approveNext = (world: FakeShow, passed: number) => world.show.approve("x", gates[passed]!);

describe("A stop is meant once", () => {
  test("in whatever order stops, approvals, resumes and a worker come, only a stop after the last word holds a run [G39]", async () => {
    const word = fc.constantFrom("stop", "approve", "resume", "worker");
    await fc.assert(
      fc.asyncProperty(fc.array(word, { maxLength: 12 }), async (words) => {
        const world = await retryOrPause();
        // What the run passed, what it will pass when it goes on, and whether a stop came after that.
        let passed = 0;
        let decided = false;
        let stopped = false;
        const moveOn = () => {
          if (decided) passed++;
          decided = false;
          stopped = false;
        };
        for (const said of words) {
          if (passed === gates.length) break;
          if (said === "stop") {
            await world.show.stop("x");
            stopped = true;
          }
          if (said === "approve") {
            await approveNext(world, passed);
            decided = true;
            stopped = false;
          }
          if (said === "worker") {
            expect(await work(world)).toBe(decided && !stopped);
            if (decided && !stopped) moveOn();
          }
          if (said === "resume") {
            await world.resume();
            moveOn();
            expect(await world.journal.inbox("x")).toEqual([]);
          }
          expect(world.paidService.jobs.size, words.join(" ")).toBe(passed + 1);
          const { status, pause } = await world.show.show("x");
          expect(pause?.reason ?? status).toBe(passed === gates.length ? "succeeded" : "approval");
        }
        // Whatever was said, it can be brought to its end.
        while (passed < gates.length) {
          if (!decided) await approveNext(world, passed);
          decided = true;
          await world.resume();
          moveOn();
        }
        expect((await world.show.show("x")).status).toBe("succeeded");
      }),
      // The first: neither an approval that a worker takes up nor a resume is undone by a stop before it.
      {
        numRuns: isFull ? 60 : 6,
        examples: [[["stop", "worker", "approve", "worker", "stop", "approve", "resume"]]],
      },
    );
  }, 60_000);

  test("one that is sent after a resume was requested stops the run, and names itself", async () => {
    const world = await retryOrPause();
    await approveNext(world, 0);
    const { show, clock } = world;
    const handle = await show.resume("x");
    await show.stop("x");
    expect((await during(clock, handle.result())).pause?.reason).toBe("stopped");
    const stops = (await world.journal.read("x")).flatMap(({ event }) =>
      event.type === "run.paused" && event.reason === "stopped" ? [event.request] : [],
    );
    expect(stops).toEqual([{ id: expect.any(Number), at: expect.any(Number) }]);
    // Nobody but a person goes on with it: a worker leaves it.
    expect(await work(world)).toBe(false);
    expect((await world.resume()).pause?.reason).toBe("approval");
  });

  test("one that a killed driver left is honoured by a worker, and outdated by a person's resume [G39]", async () => {
    for (const unattended of [true, false]) {
      const world = await retryOrPause();
      await approveNext(world, 0);
      const crashInjector = new CrashInjector(3);
      const dying = await openFakeShow({ paidService: world.paidService, journal: crashInjector.store(world.journal) });
      await dying.show.resume("x");
      await during(dying.clock, crashInjector.died);
      expect((await world.journal.run("x"))?.status).toBe("running");
      await world.show.stop("x");
      const next = await openFakeShow({
        paidService: world.paidService,
        mediaDir: world.mediaDir,
        journal: new CrashInjector(Number.POSITIVE_INFINITY).store(world.journal),
      });
      expect(await next.show.due()).toEqual([]);
      retireHolder((await world.journal.run("x"))!.lease!.holder);
      expect((await next.show.due()).map(({ runId }) => runId)).toEqual(["x"]);
      const result = await next.resume({ unattended });
      expect(result.pause?.reason).toBe(unattended ? "stopped" : "approval");
    }
  });
});
