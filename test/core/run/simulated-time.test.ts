import fc from "fast-check";
import { expect, test } from "vitest";
import type { JobStep } from "../../../src/core/plan/kinds/job.ts";
import type { JobLimits } from "../../../src/core/plan/slots.ts";
import { listSchedule, planGraph } from "../../bench/list-schedule.ts";
import { FakeRun, PRICE } from "./support/fake-run.ts";
import { job, planOf } from "./support/plans.ts";
import { runs } from "./support/runs.ts";

const anyCase = fc
  .record({
    steps: fc.array(fc.tuple(fc.array(fc.nat(), { maxLength: 3 }), fc.nat(2), fc.integer({ min: 1, max: 9 })), {
      minLength: 1,
      maxLength: 25,
    }),
    total: fc.integer({ min: 1, max: 5 }),
    perModel: fc.record({ m0: fc.integer({ min: 1, max: 3 }), m1: fc.integer({ min: 1, max: 3 }) }),
  })
  .map(({ steps, total, perModel }) => {
    const jobs = steps.map(([before, model], index): JobStep => {
      const after = index === 0 ? [] : before.map((one) => `s${one % index}`);
      return { ...job(`s${index}`, {}, { after, keep: false }), model: `m${model}` };
    });
    const limits: JobLimits = { total, perModel, perModality: {} };
    return { plan: planOf(jobs), limits, durations: steps.map(([, , seconds]) => seconds * 1000) };
  });

/** When decisions submit each job, where each takes its time and all else happens at once. */
function submitsOf(
  isPriced: boolean,
  { plan, limits, durations }: typeof anyCase extends fc.Arbitrary<infer T> ? T : never,
) {
  const run = new FakeRun({ plan });
  run.state.planned = { ...run.state.planned, limits };
  const priced = plan.steps.map(
    ({ path }) => ({ type: "job.quoted", step: path, attempt: 1, costMicros: PRICE, basis: "quoted" }) as const,
  );
  if (isPriced) run.take(priced);
  const from = run.now;
  const endsAt = new Map<string, number>();
  for (let at = from; ; at = Math.min(...endsAt.values())) {
    // Those that end together are answered before anything is decided.
    const answer = (isDue: (id: string) => boolean): boolean => {
      const position = [...run.active.keys()].findIndex(isDue);
      if (position >= 0) {
        run.now = at - 10;
        run.answer(position);
      }
      return position >= 0;
    };
    const isEnding = (id: string) => endsAt.get(id) === at;
    while (answer(isEnding));
    for (const [id, end] of endsAt) if (end === at) endsAt.delete(id);
    do run.decide();
    while (answer((id) => !id.startsWith("follow:")));
    for (const [id, command] of run.active) {
      if (command.type !== "follow" || endsAt.has(id)) continue;
      endsAt.set(id, at + durations[Number(command.step.slice(1))]!);
    }
    if (endsAt.size === 0) break;
  }
  return run.events.flatMap(({ at, event }) =>
    event.type === "job.submit.intended" ? [[event.step, at - from] as const] : [],
  );
}

test("decisions start the same steps at the same times as a schedule in simulated time", () => {
  fc.assert(
    fc.property(anyCase, fc.boolean(), ({ plan, limits, durations }, isPriced) => {
      const started: (readonly [string, number])[] = [];
      const onStart = (step: number, at: number) => void started.push([plan.steps[step]!.path, at]);
      listSchedule(planGraph(plan, limits), durations, (a, b) => a - b, { onStart });
      expect(new Map(submitsOf(isPriced, { plan, limits, durations }))).toEqual(new Map(started));
    }),
    runs(2_000),
  );
});
