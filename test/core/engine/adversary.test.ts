import "./adversary/files-in-memory.ts";
import { beforeAll, describe, test } from "vitest";
import { changesUnsent, clockIsSet, decidesAnew, jobFails, passes, pricesMove, resumes } from "./adversary/commands.ts";
import type { HalfTruth } from "./adversary/half-truths.ts";
import { expectAllKept, expectKept } from "./adversary/kept.ts";
import { type SimPlan, simPlans } from "./adversary/plans.ts";
import type { WorldOptions } from "./adversary/sim-world.ts";
import type { Trouble } from "./adversary/troubles.ts";

let plans: readonly SimPlan[];
beforeAll(async () => {
  plans = await simPlans();
});

/** Many more, of other seeds, are those of the full check. */
const LIVES = 12;

test(`${LIVES} lives of runs, whatever happens in them: nothing is paid twice, lost or overspent, and what the screen says brings each run to its end`, () =>
  expectAllKept({ numRuns: LIVES, seed: 20_261_124 }));

/** Surroundings in which nothing else is wrong. */
function surroundings(pipeline: string, more: Partial<WorldOptions> = {}): WorldOptions {
  const limits = { budgetMicros: null, capMicros: null, floorMicros: null, balanceMicros: 1_000_000_000 };
  const plan = plans.find((one) => one.plan.pipeline === pipeline)!;
  return {
    plan,
    concurrency: 2,
    ...limits,
    billsLateMs: 0,
    slowMs: 0,
    skewMs: 0,
    clocksMs: [],
    slices: "never",
    flags: "nothing",
    ...more,
  };
}

const answer: Trouble & { readonly kind: "answer" } = {
  ...{ kind: "answer", effect: false, status: 200, body: "html", code: "UNKNOWN", retryable: false, retryAfter: null },
};

describe("What the search has found stays mended:", () => {
  test("a machine that sleeps for days between two sends of a submit sends nothing more under the old key [G4]", () =>
    expectKept(surroundings("single"), [
      resumes({
        pauseIn: 8,
        troubles: [{ on: "submit", times: 9, trouble: { kind: "half an answer", effect: true } }],
      }),
      passes(1_500),
      resumes(),
    ]));

  test("a submit sent after a long sleep is found by reconciling the jobs", () =>
    expectKept(surroundings("fan"), [
      resumes({
        ...{ dieIn: 20, pauseIn: 0 },
        troubles: [{ on: "submit", times: 2, trouble: { kind: "unreachable" } }],
      }),
      passes(3_000),
      resumes(),
    ]));

  test("a run that ended without an output fetches it on resume, as long as the service keeps it [G12]", () =>
    expectKept(surroundings("single"), [
      resumes({
        troubles: [
          { on: "media", times: 9, trouble: { ...answer, status: 421 } },
          { on: "job", skip: 2, times: 9, trouble: { ...answer, status: 410, body: "envelope", code: "GONE" } },
        ],
      }),
    ]));

  test("a bill whose read was broken off by a refused key is not read again and again, and the run stays paused", () =>
    expectKept(surroundings("filmed", { concurrency: 1, billsLateMs: 90_000 }), [
      resumes({ dieIn: 24 }),
      resumes({ dieIn: 29, troubles: [{ on: "job", skip: 2, times: 2, trouble: { kind: "late", ms: 5_000 } }] }),
      resumes({ secret: "wrong" }),
    ]));

  test("a run that lost the answer of a rewriting makes that again, although moderation refuses the first prompt still", () =>
    expectKept(surroundings("rewritten", { flags: "refused" }), [
      resumes({ troubles: [{ on: "chat", times: 2, trouble: { kind: "reset", effect: true } }] }),
      resumes(),
    ]));

  test("a run that ended without a bill asks for it on resume, of a failed job too", async () => {
    await expectKept(surroundings("single", { billsLateMs: 900_000 }), [resumes()]);
    await expectKept(surroundings("single", { billsLateMs: 900_000 }), [
      jobFails(0, { code: "INTERNAL", retryable: true }),
      resumes(),
    ]);
  });

  test.each(["html", "other json", "empty"] as const)(
    "a success that carries no media (%s) is not kept as an output [G12]",
    (body) =>
      expectKept(surroundings("fan"), [
        resumes({ troubles: [{ on: "media", times: 2, trouble: { ...answer, body } }] }),
      ]),
  );

  test.each(["an error that is an outage", "an error that is a lost connection"] as const)(
    "%s, as a package calls it, ends no work however long it lasts",
    (says) =>
      expectKept(surroundings("filmed"), [
        resumes({ troubles: [{ on: "operation", times: 40, trouble: { kind: "lie", says } }] }),
      ]),
  );

  const halfTruth = (says: HalfTruth): Trouble => ({ kind: "half truth", says });

  test.each([
    ["chain", "job", "one output is missing"],
    ["chain", "job", "all outputs are the first"],
    ["fan", "job", "the bill is negative"],
    ["fan", "submit", "the answer is about another job"],
    ["fan", "submit", "the job runs another model"],
    ["fan", "job", "the job was made long before"],
    ["fan", "job", "the job has another prompt"],
    ["fan", "media", "half the file, no length"],
  ] as const)(
    "in a run of %s, %s answers with half a truth (%s) take no job from another, and lose none",
    (name, on, says) =>
      expectKept(surroundings(name), [
        resumes({
          dieIn: 40,
          troubles: [
            { on: "submit", times: 2, trouble: { kind: "reset", effect: true } },
            { on: "media", times: 2, trouble: { ...answer, status: 301 } },
            { on, skip: 1, times: 6, trouble: halfTruth(says) },
          ],
        }),
        resumes({ budgetMicros: 1_000_000 }),
      ]),
  );

  const noFile = { on: "media", times: 2, trouble: { ...answer, status: 428 } } as const;

  test.each(["completed without outputs", "one output is missing", "an output has no asset and no address"] as const)(
    "an expired output that one answer leaves out (%s) is fetched from the next [G12]",
    async (says) => {
      const leavesOut = resumes({ troubles: [{ on: "job", trouble: halfTruth(says) }] });
      await expectKept(surroundings("single"), [resumes({ troubles: [noFile] }), passes(3_000), leavesOut]);
      // A new process learns only from the first answer that the service's clock is a day behind.
      const skewed = surroundings("chain", { skewMs: -25 * 3_600_000 });
      await expectKept(skewed, [resumes({ troubles: [noFile] }), decidesAnew("approve"), leavesOut]);
    },
  );

  test("an upload that lapsed by the service's clock is renewed when a rerun is priced", () =>
    expectKept(surroundings("sent", { skewMs: 25 * 3_600_000 }), [
      jobFails(0, { code: "INTERNAL", retryable: false }),
      resumes(),
      passes(120),
    ]));

  test("a choice without remaining candidates ends, and the screen names the rerun", () =>
    expectKept(surroundings("takes"), [
      resumes({ troubles: [{ on: "media", times: 99, trouble: { kind: "reset", effect: false } }] }),
      passes(3_000),
      resumes(),
    ]));

  const fiveSeconds: Trouble = { kind: "late", ms: 5_000 };

  test.each([
    ["back while a submit waits for its answer", -90, {}, [{ on: "any", times: 9, trouble: fiveSeconds }]],
    [
      "ahead by a day between two submits, and is read anew before the next",
      1_500,
      { clocksMs: [26 * 3_600_000, 0], skewMs: -1_500_000, slices: "always" },
      [{ on: "submit", skip: 2, times: 9, trouble: halfTruth("the job's id is no id") }],
    ],
  ] as const)("a clock that is set %s sends nothing more under an old key", (_, minutes, world, troubles) =>
    expectKept(surroundings(minutes < 0 ? "single" : "fan", world), [
      resumes({ pauseIn: minutes < 0 ? 7 : 8, troubles }),
      clockIsSet(minutes),
      passes(1_500),
      resumes({ troubles }),
    ]),
  );

  test("a job that is named wrongly after the clock was set is among those that a person may adopt", () =>
    expectKept(surroundings("takes", { skewMs: -1_500_000 }), [
      resumes({ pauseIn: 9, troubles: [{ on: "submit", times: 6, trouble: halfTruth("the job's id is no id") }] }),
      clockIsSet(-90),
      resumes({ troubles: [{ on: "submit", times: 6, trouble: halfTruth("the answer is about another job") }] }),
    ]));

  test.each(["never", "always"] as const)(
    "a request that was never sent is not made once its step was changed (in slices: %s)",
    (slices) => expectKept(surroundings("chain", { slices }), [changesUnsent(0, "a changed look"), resumes()]),
  );

  test("a changed step that is no longer needed is skipped, and did not fail", () =>
    expectKept(surroundings("patient", { concurrency: 1, slices: "always", slowMs: 900_000 }), [
      changesUnsent(2, "a changed look"),
      resumes(),
    ]));

  test("a run in slices that lacked funds sends what it lacked them for once it is resumed", () =>
    expectKept(
      surroundings("fan", {
        ...{
          concurrency: 1,
          balanceMicros: 150_000,
          clocksMs: [0, 300_000],
          slices: "always",
          skewMs: -25 * 3_600_000,
        },
      }),
      [
        resumes({ pauseIn: 16, troubles: [{ on: "submit", skip: 1, trouble: { kind: "silence", effect: true } }] }),
        clockIsSet(1_500),
        pricesMove(10),
        resumes({ dieIn: 20, pauseIn: 16 }),
        resumes(),
      ],
    ));

  test("a failed job is made again at today's price", () =>
    expectKept(surroundings("single"), [
      jobFails(0, { code: "INTERNAL", retryable: true }),
      resumes({ dieIn: 12 }),
      pricesMove(10),
      passes(30),
      resumes(),
    ]));

  test("a clock that is set ahead by days lets no output expire that the service still keeps", () =>
    expectKept(surroundings("single", { clocksMs: [0, 300_000], slices: "mixed" }), [
      resumes({
        pauseIn: 17,
        troubles: [
          { on: "media", trouble: halfTruth("half the file, no length") },
          { on: "job", skip: 1, trouble: { ...answer, status: 502 } },
        ],
      }),
      clockIsSet(3_000),
      resumes({ pauseIn: 25, troubles: [{ on: "media", trouble: { ...answer, status: 431, body: "other json" } }] }),
    ]));
});
