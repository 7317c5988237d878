import { expect, test } from "vitest";
import { avoidedCost } from "../../src/run/avoided-cost.ts";
import { FakeRun } from "./support/fake-run.ts";
import { job, planOf, ref } from "./support/plans.ts";

const frames = ["f1", "f2", "f3"];
const steps = [
  ...frames.map((path) => job(path)),
  job("gate"),
  job("film", Object.fromEntries(["gate", ...frames].map((path) => [path, ref(path)]))),
  job("a"),
  job("b"),
  job("album", { list: [ref("a"), ref("b")] }, { onFailure: { quorum: 1 } }),
  job("loose"),
];
const prices: Readonly<Record<string, number>> = { gate: 1, film: 50 };

test("a step avoids the cost of what only leads to its dependents, less its own", () => {
  const plan = planOf(steps, { film: ref("film"), album: ref("album") });
  const run = new FakeRun({ plan });
  for (const { path } of steps) {
    run.take([{ type: "job.quoted", step: path, attempt: 1, costMicros: prices[path] ?? 10, basis: "quoted" }]);
  }
  const spared = avoidedCost(run.state, plan);
  const of = (path: string) => spared(steps.find((step) => step.path === path)!);
  // The film and three frames, for the price of a look.
  expect(of("gate")).toBe(50 + 30);
  expect(of("f1")).toBe(50 + 20 + 1);
  // An album does with one picture, and nothing waits for what is loose.
  expect([of("a"), of("loose"), of("film")]).toEqual([0, 0, 0]);
});
