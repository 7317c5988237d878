import fc from "fast-check";
import { expect, test } from "vitest";
import { ConnectionError } from "../../../src/core/api/index.ts";
import { during, type FakeShow, models, openFakeShow, pipelineOf, stepOf } from "../../support/engine.ts";

const hourMs = 3_600_000;
const lifeMs = 24 * hourMs;

/** Each picture is looked at before the next is made of it; the last is made of all of them. */
function album(keeps: readonly boolean[]) {
  return pipelineOf("album", ({ job, approve }) => {
    const [first, second] = keeps.map((keep) => ({ keep }));
    const a = job("a", models.image, { prompt: "a" }, first!);
    const b = job("b", models.image, { prompt: "b", images: [approve("look-a", a)] }, second!);
    return { c: job("c", models.image, { prompt: "c", images: [approve("look-b", b), a] }) };
  });
}

async function waitAndApprove({ show, clock, resume }: FakeShow, gate: string, hours: number) {
  clock.suspend(hours * hourMs);
  await show.approve("x", gate);
  return resume();
}

test("A run that waits for people over jumps of a clock uses all that can be had, asks for nothing whose time is over, and pays nothing twice [G17]", () =>
  fc.assert(
    fc.asyncProperty(
      fc.record({
        keeps: fc.tuple(fc.boolean(), fc.boolean()),
        waits: fc.tuple(fc.constantFrom(0, 20, 30, 80), fc.constantFrom(0, 20, 30, 80)),
        erasedAfterMs: fc.constantFrom(0, 72 * hourMs),
        isSaid: fc.boolean(),
      }),
      async ({ keeps, waits, erasedAfterMs, isSaid }) => {
        const world = await openFakeShow({ outputsLive: { forMs: lifeMs, erasedAfterMs, isSaid } });
        const { show, clock, paidService } = world;
        const startedAt = clock.now();
        const first = await world.run(album(keeps));
        const before = first.report.expiring.find(({ step }) => step === "a");
        expect(before).toMatchObject({ copied: keeps[0] });
        const warning = `The service keeps the only copy of output 0 of a until ${before!.expires_at}: decide before then.`;
        expect(first.pause?.message.includes(warning)).toBe(!keeps[0]);
        expect(Date.parse(before!.expires_at) - startedAt - lifeMs).toBeLessThan(60_000);

        const canBeHad = (keep: boolean, hours: number) => keep || hours * hourMs < lifeMs + erasedAfterMs;
        const second = await waitAndApprove(world, "look-a", waits[0]);
        const isMade = canBeHad(keeps[0], waits[0]);
        expect(second.pause?.reason ?? second.status).toBe(isMade ? "approval" : "failed");
        if (isMade) {
          const wasFetched = waits[0] * hourMs >= lifeMs;
          const third = await waitAndApprove(world, "look-b", waits[1]);
          const isA = wasFetched || canBeHad(keeps[0], waits[0] + waits[1]);
          const isWhole = isA && canBeHad(keeps[1], waits[1]);
          expect(third.status).toBe(isWhole ? "succeeded" : "failed");
          const { reason } = stepOf(third, "c");
          if (!isWhole) expect(reason).toContain("expired on the service and has no local copy");
          expect(paidService.jobs.size).toBe(isWhole ? 3 : 2);
        } else expect(paidService.jobs.size).toBe(1);
        expect(paidService.askedTooLate).toEqual([]);
        await show.close();
      },
    ),
    { numRuns: 25, seed: 20_261_128 },
  ));

test.each([true, false])(
  "A submit that could not be sent for more than a day goes with the file of what has expired since (kept: %s)",
  async (keep) => {
    let isAway = false;
    const world = await openFakeShow({
      outputsLive: { forMs: lifeMs, erasedAfterMs: 72 * hourMs, isSaid: true },
      client: ({ submit }) => ({
        submit: async (request, options) => {
          if (isAway) throw new ConnectionError("the network is down", { sent: false });
          return submit(request, options);
        },
      }),
    });
    const { show, clock, paidService } = world;
    const patient = { giveUpAfterMs: Number.POSITIVE_INFINITY };
    await world.run(album([keep, true]), {}, patient);
    await show.approve("x", "look-a");
    isAway = true;
    const result = (await during(clock, show.resume("x", patient))).result();
    await clock.advance(60_000);
    clock.suspend(30 * hourMs);
    isAway = false;
    expect((await during(clock, result)).pause?.reason).toBe("approval");
    expect(paidService.askedTooLate).toEqual([]);
    expect(JSON.parse([...paidService.jobs.values()][1]!.body).images[0].source).toBe("url");
    await show.close();
  },
);
