import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { criticalPath, expectedSpanMs, planMermaid } from "../../../src/core/plan/index.ts";
import type { JobStep } from "../../../src/core/plan/kinds/job.ts";
import type { PlanStep } from "../../../src/core/plan/plan.ts";
import { listSchedule, planGraph } from "../../bench/list-schedule.ts";
import { job, planOf as planOfList, ref } from "../run/support/plans.ts";
import { chat, expansion, gate, pick, task, upload, valueRef } from "../run/support/steps.ts";

const step = (path: string, needs: readonly string[] = [], more: Partial<JobStep> = {}): JobStep => ({
  ...job(path, { images: needs.map((needed) => ref(needed)) }),
  ...more,
});
const sample: PlanStep = { ...upload("sample"), yields: "audio" };
const planOf = (...steps: readonly PlanStep[]) => planOfList(steps);
const free = { total: 1000, perModel: {}, perModality: {} };

/** Any plan: each step needs some of those before it. */
const anyPlan = fc.array(fc.array(fc.nat(), { maxLength: 3 }), { minLength: 1, maxLength: 40 }).map((uses) =>
  planOf(
    ...uses.map((before, index) => {
      const needs = index === 0 ? [] : [...new Set(before.map((one) => `s${one % index}`))];
      return step(`s${index}`, needs, { model: `m-${index % 3}` });
    }),
  ),
);

/** One step of every kind. */
const everyKind: readonly PlanStep[] = [
  sample,
  job("a"),
  chat("story"),
  { ...task("cut", ref("a")), files: [{ name: "film", kind: "video" }] },
  gate("ok", [ref("a")]),
  gate("which", [ref("a")], true),
  pick("best", [ref("a")], "score"),
  expansion("shots", valueRef("story")),
];

describe("the expected span", () => {
  const ms = (one: PlanStep) => 10 + (one.path.length % 3) * 7;

  test("is the critical path without limits, the sum with one slot, and never longer than a schedule takes", () => {
    fc.assert(
      fc.property(anyPlan, fc.integer({ min: 1, max: 5 }), (plan, total) => {
        const sum = plan.steps.reduce((all, one) => all + ms(one), 0);
        expect(expectedSpanMs(plan, ms, free)).toBe(criticalPath(plan, ms).lengthMs);
        expect(expectedSpanMs(plan, ms, { ...free, total: 1 })).toBe(sum);
        const limits = { ...free, total };
        const scheduled = listSchedule(planGraph(plan, limits), plan.steps.map(ms), (a, b) => a - b).ms;
        expect(expectedSpanMs(plan, ms, limits)).toBeLessThanOrEqual(scheduled);
        expect(expectedSpanMs(plan, ms, limits)).toBeGreaterThanOrEqual(scheduled / 2);
      }),
    );
  });

  test("obeys limits of models and modalities", () => {
    const plan = planOf(
      step("a", [], { model: "m-1" }),
      step("b", [], { model: "m-1" }),
      step("c", [], { model: "m-2" }),
    );
    const ten = () => 10;
    expect(expectedSpanMs(plan, ten, free)).toBe(10);
    expect(expectedSpanMs(plan, ten, { ...free, perModel: { "m-1": 1 } })).toBe(20);
    expect(expectedSpanMs(plan, ten, { ...free, perModality: { image: 1 } })).toBe(30);
  });
});

describe("the expected span of chats and tasks", () => {
  test("counts chats with the jobs, and local functions apart", () => {
    const ten = () => 10;
    const three = (step: (path: string) => PlanStep) => planOf(...["x", "y", "z"].map((path) => step(path)));
    expect(expectedSpanMs(three(chat), ten, free)).toBe(10);
    expect(expectedSpanMs(three(chat), ten, { ...free, total: 1 })).toBe(30);
    expect(expectedSpanMs(three(chat), ten, { ...free, perModality: { chat: 2 } })).toBe(15);
    expect(expectedSpanMs(three(chat), ten, { ...free, perModel: { talk: 1 } })).toBe(30);
    expect(expectedSpanMs(three(task), ten, { ...free, total: 1 })).toBe(10);
    expect(expectedSpanMs(three(task), ten, { ...free, perModality: { task: 1 } })).toBe(30);
  });
});

describe("diagrams", () => {
  const plan = planOf(sample, step("voice", ["sample"], { yields: "voice" }), step("video", ["voice"]));

  test("as Mermaid have every step and edge, and mark the critical path", () => {
    expect(planMermaid(plan, { highlighted: ["voice", "video"], note: ({ path }) => `$1 "${path}"` })).toBe(
      [
        "flowchart LR",
        '  s0[/"sample<br/>$1 #34;sample#34;"/]',
        '  s1(["voice<br/>$1 #34;voice#34;"])',
        '  s2["video<br/>$1 #34;video#34;"]',
        "  s0 --> s1",
        "  s1 --> s2",
        "  classDef critical stroke-width:3px",
        "  class s1,s2 critical",
        "",
      ].join("\n"),
    );
  });

  test("draw every kind of step in its own shape, with what it does", () => {
    const mermaid = planMermaid(planOf(...everyKind));
    expect(mermaid.split("\n").slice(1, 9)).toEqual([
      '  s0[/"sample<br/>audio file"/]',
      '  s1["a<br/>m"]',
      '  s2>"story<br/>talk"]',
      '  s3("cut<br/>task: film")',
      '  s4{{"ok<br/>a person approves"}}',
      '  s5{{"which<br/>a person chooses"}}',
      '  s6{"best<br/>the highest score"}',
      '  s7[["shots<br/>up to 5 steps"]]',
    ]);
  });
});
