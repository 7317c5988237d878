import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { shareReached } from "../../../src/core/run/money.ts";
import type { RunOptions } from "../../../src/index.ts";
import { during, type FakeShow, models, openFakeShow, pipelineOf } from "../../support/engine.ts";
import { jsonOf, startReceiver } from "../../support/receiver.ts";

/** Five pictures at $0.10, each made of the one before. */
const chain = pipelineOf("chain", ({ job }) => {
  let last = job("p1", models.image, { prompt: "a lamp" });
  for (const n of [2, 3, 4, 5]) last = job(`p${n}`, models.image, { prompt: "a lamp", images: [last] });
  return { last };
});

async function open(options: Parameters<typeof openFakeShow>[0] = {}) {
  const receiver = await startReceiver();
  const world = await openFakeShow({ notify: receiver.url, ...options });
  const told = () =>
    receiver.received
      .map(jsonOf)
      .filter(({ event }) => event === "run.spending")
      .map(({ message, reason, run }) => ({ message, reason, run }));
  return { ...world, told, [Symbol.asyncDispose]: () => receiver[Symbol.asyncDispose]() };
}

async function ran({ outDir, run }: FakeShow, id: string, options: RunOptions = {}) {
  return run(chain, {}, { id, outDir: `${outDir}/${id}`, ...options });
}

describe("somebody is told what is spent", () => {
  test("of a run's budget at 50, 80 and 100 %, once each; of a raised one anew", async () => {
    await using world = await open();
    const { clock, show, told } = world;
    await ran(world, "a", { budget: "0.5" });
    const run = await during(clock, show.resume("a", { rerun: ["p*"], budget: "1.5" }));
    await during(clock, run.result());
    await during(clock, show.close());
    const line = (percent: number, of: string, micros: string) => ({
      message: `${percent}% of the budget of ${of} USD is spent or reserved: ${micros} USD`,
      reason: "budget",
      run: "a",
    });
    // In any order: none waits for another.
    const said = told();
    expect(said).toHaveLength(4);
    expect(new Set(said)).toEqual(
      new Set([
        ...[line(50, "0.50", "0.30"), line(80, "0.50", "0.40"), line(100, "0.50", "0.50")],
        line(50, "1.50", "0.80"),
      ]),
    );
  });

  test("of a cap that several runs share, each share by one of them", async () => {
    await using world = await open({ caps: ["1.00"] });
    await Promise.all(["a", "b"].map((id) => ran(world, id)));
    await during(world.clock, world.show.close());
    const cap = "% of the spending cap of 1.00 USD across all runs in this journal is spent or reserved:";
    const said = world.told().map(({ message }) => message);
    expect(said.toSorted()).toEqual([`100${cap} 1.00 USD`, `50${cap} 0.50 USD`, `80${cap} 0.80 USD`]);
  });

  test("nobody, where nobody is to be notified: the journal says nothing of it", async () => {
    await using world = await open({ notify: false });
    await ran(world, "a", { budget: "0.5" });
    const events = await world.journal.read("a");
    expect(events.filter(({ event }) => event.type === "spending.reached")).toEqual([]);
  });

  test("by the highest share that is passed at once, and by each at most once as long as the sum grows", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1_000 }), fc.array(fc.nat(300)), (limitMicros, holds) => {
        let committedMicros = 0;
        const said: number[] = [];
        for (const held of holds) {
          const before = committedMicros;
          committedMicros += held;
          const share = shareReached({ limitMicros, committedMicros }, before);
          if (share !== null) said.push(share);
        }
        const passed = [50, 80, 100].filter((share) => committedMicros * 100 >= limitMicros * share);
        expect(said).toEqual([...new Set(said)].toSorted((a, b) => a - b));
        expect(said.at(-1)).toBe(passed.at(-1));
      }),
    );
  });
});
