import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { models } from "../../recipes/models.ts";
import { pipeline } from "../../src/index.ts";
import { builtInCatalog } from "../support/built-in-catalog.ts";
import { FakePaidService } from "../support/fake-paid-service.ts";
import { during, openFakeShow } from "../support/fake-showrunner.ts";

const many = pipeline("many", {
  input: z.object({ count: z.number() }),
  build: ({ input, job }) => ({
    all: Array.from({ length: input.count }, (_, i) => job(`p${i}`, models.image, { prompt: `${i}` })),
  }),
});

/** a is shown to a person before b films it; `keep` says whether a is copied. */
const gated = (keep: boolean) =>
  pipeline("gated", {
    input: z.object({}),
    build({ job, approve }) {
      const a = job("a", models.image, { prompt: "a" }, { keep });
      const ok = approve("look", a);
      const free = job("free", models.image, { prompt: "free", images: [a] });
      const b = job("b", models.image, { prompt: "b", images: [ok] });
      const c = job("c", models.image, { prompt: "c", images: [b] });
      return { b, c, free };
    },
  });

/** A client whose key may send so many requests a minute. */
function limitedTo(requests: number): FakePaidService {
  const paidService = new FakePaidService({ catalog: builtInCatalog() });
  const client = Object.assign(paidService.client(), { pace: () => ({ sent: 0, limit: { requests, perMs: 60_000 } }) });
  return Object.assign(paidService, { client: () => client });
}

describe("a quote says how many requests a run sends", () => {
  test("by each way of following jobs, and how long that takes under the key's limit", async () => {
    const { show } = await openFakeShow({ paidService: limitedTo(60) });
    const { requests } = await show.quote(many, { count: 600 });
    expect(requests?.perMinute).toBe(60);
    const { poll, stream, webhook } = requests!.byStrategy;
    expect(poll.requests).toBeGreaterThan(stream.requests);
    expect(stream.requests).toBe(2400);
    expect(webhook.requests).toBe(1800);
    expect(stream.makespanMs).toBe(40 * 60_000);
    expect(webhook.makespanMs).toBe(30 * 60_000);
  });

  test("and does not count those of reused steps", async () => {
    const world = await openFakeShow();
    const outDir = join(world.outDir, "one");
    await during(world.clock, (await during(world.clock, world.show.run(many, { count: 3 }, { outDir }))).result());
    const { requests } = await world.show.quote(many, { count: 4 }, { reuse: true });
    expect(requests?.perMinute).toBeNull();
    expect(requests?.byStrategy.stream.requests).toBe(4);
  });

  test("or nothing, when the plan has problems", async () => {
    const { show } = await openFakeShow();
    const quote = await show.quote(many, { count: "x" } as never);
    expect(quote).toMatchObject({ ok: false, requests: null, risks: [] });
  });
});

describe("a quote warns of assets that may expire", () => {
  test("when what uses them waits for a person, and says whether a copy heals that", async () => {
    const { show } = await openFakeShow();
    const lost = (await show.quote(gated(false), {})).risks;
    // c uses what is made after the decision, free what is made before but does not wait for it.
    expect(lost.map(({ step, uses, heals }) => ({ step, uses, heals }))).toEqual([
      { step: "b", uses: "a", heals: false },
    ]);
    expect(lost[0]?.why).toContain("b waits for the decision look");
    expect((await show.quote(gated(true), {})).risks).toMatchObject([{ step: "b", uses: "a", heals: true }]);
  });

  test("when the run takes longer than the service keeps them", async () => {
    const world = await openFakeShow({
      sleep: () => new Promise((resolve) => void world.clock.setTimer(20 * 3_600_000, resolve)),
    });
    const { show, clock } = world;
    const outDir = join(world.outDir, "one");
    const first = await during(clock, show.run(many, { count: 1 }, { outDir }));
    const done = first.result();
    let over = false;
    done.then(() => (over = true));
    while (!over) {
      await new Promise((resolve) => setImmediate(resolve));
      if (clock.pendingTimers > 0) await clock.advance(3_600_000);
    }
    const slow = pipeline("slow", {
      input: z.object({}),
      build({ job }) {
        const a = job("a", models.image, { prompt: "a" });
        let last = a;
        for (let i = 0; i < 4; i++) last = job(`x${i}`, models.image, { prompt: `${i}`, images: [last] });
        return { b: job("b", models.image, { prompt: "b", images: [a, last] }) };
      },
    });
    const { risks } = await show.quote(slow, {});
    expect(risks.map(({ step, uses }) => ({ step, uses }))).toEqual([{ step: "b", uses: "a" }]);
    expect(risks[0]?.why).toContain("about 80 h after a is produced");
  });

  test("an expansion that is still to be planned counts at its most steps, and its users wait for them", async () => {
    const { show } = await openFakeShow();
    const grown = pipeline("grown", {
      input: z.object({}),
      build({ task, expand, job }) {
        const list = task("list", {}, () => [1, 2]);
        const shots = expand(
          "shots",
          list,
          (items, b) => items.map((n) => b.job(`s${n}`, models.image, { prompt: "x" })),
          {
            ...{ maxSteps: 36, maxCost: "5", yields: "image" },
          },
        );
        return { cut: job("cut", models.image, { prompt: "cut", images: shots }) };
      },
    });
    const { requests, problems } = await show.quote(grown, {}, { concurrency: 4 });
    expect(problems).toEqual([]);
    expect(requests!.expansions).toEqual([{ step: "shots", maxSteps: 36 }]);
    const { makespanMs, makespanAtMostMs, requests: least, requestsAtMost } = requests!.byStrategy.webhook;
    // Nine rounds of four jobs of ten seconds before the cut.
    expect(makespanAtMostMs - makespanMs).toBe(90_000);
    expect(requestsAtMost - least).toBe(36 * 3);
  });

  test("and of nothing in a short run without decisions", async () => {
    const { show } = await openFakeShow();
    expect((await show.quote(many, { count: 3 })).risks).toEqual([]);
  });
});
