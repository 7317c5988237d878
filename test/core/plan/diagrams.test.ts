import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { criticalPath, diffPlans, expectedSpanMs, planMermaid } from "../../../src/core/plan/index.ts";
import type { JobStep } from "../../../src/core/plan/kinds/job.ts";
import { fingerprint } from "../../../src/core/plan/plain-json.ts";
import type { Plan, PlanStep } from "../../../src/core/plan/plan.ts";
import { listSchedule, planGraph } from "../../bench/list-schedule.ts";

const step = (path: string, needs: readonly string[] = [], more: Partial<JobStep> = {}): JobStep => {
  const refs = needs.map((needed) => ({ $ref: { step: needed, as: "asset", output: 0, kind: "image" } }));
  const asks = { model: "image-1", input: { prompt: "x", images: refs }, ...more };
  return {
    kind: "job",
    path,
    needs: [...needs].sort(),
    yields: "image",
    outputs: 1,
    policy: { attempts: 1, maxCostMicros: null, keep: true },
    ...asks,
    fingerprint: fingerprint({ model: asks.model, input: asks.input }),
  };
};
const upload: PlanStep = {
  kind: "upload",
  path: "sample",
  needs: [],
  yields: "audio",
  fingerprint: "f1_u",
  file: { path: "/a.wav", sha256: "a", sizeBytes: 1, contentType: "audio/wav" },
};
const planOf = (...steps: readonly PlanStep[]): Plan => ({ version: 1, pipeline: "p", steps, returns: {} });
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

const reference = { $ref: { step: "a", as: "asset", output: 0, kind: "image" } } as const;
const base = (path: string, needs: readonly string[] = []) => ({ path, needs, fingerprint: `f1_${path}` });
const policy = { attempts: 1, maxCostMicros: null, keep: true };

/** One step of every kind. */
const everyKind: readonly PlanStep[] = [
  upload,
  step("a"),
  { kind: "chat", ...base("story"), model: "chat-1", input: {}, schema: null, repairs: 2, yields: "value", policy },
  {
    ...{ kind: "task", ...base("cut", ["a"]), input: { image: reference }, version: "1", yields: "video", policy },
    files: [{ name: "film", kind: "video" }],
  },
  { kind: "approve", ...base("ok", ["a"]), shows: [reference], choose: false, message: null, yields: "image" },
  { kind: "approve", ...base("which", ["a"]), shows: [reference], choose: true, message: null, yields: "image" },
  { kind: "pick", ...base("best", ["a"]), among: [reference], by: "score", version: "1", yields: "image" },
  {
    ...{ kind: "expand", ...base("shots", ["story"]), maxSteps: 7, version: "1", yields: "video", maxCostMicros: 1 },
    on: { $ref: { step: "story", as: "value", output: 0 } },
  },
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
    const chat = everyKind.find(({ kind }) => kind === "chat")!;
    const task = everyKind.find(({ kind }) => kind === "task")!;
    const ten = () => 10;
    const three = (one: PlanStep) => planOf(...["x", "y", "z"].map((path) => ({ ...one, path, needs: [] })));
    expect(expectedSpanMs(three(chat), ten, free)).toBe(10);
    expect(expectedSpanMs(three(chat), ten, { ...free, total: 1 })).toBe(30);
    expect(expectedSpanMs(three(chat), ten, { ...free, perModality: { chat: 2 } })).toBe(15);
    expect(expectedSpanMs(three(chat), ten, { ...free, perModel: { "chat-1": 1 } })).toBe(30);
    expect(expectedSpanMs(three(task), ten, { ...free, total: 1 })).toBe(10);
    expect(expectedSpanMs(three(task), ten, { ...free, perModality: { task: 1 } })).toBe(30);
  });
});

describe("a diff of plans", () => {
  test("of a plan and itself is empty", () => {
    fc.assert(
      fc.property(anyPlan, (plan) => {
        const { unchanged, ...rest } = diffPlans(plan, plan);
        expect(unchanged).toEqual(plan.steps.map(({ path }) => path));
        expect(Object.values(rest).every((list) => list.length === 0)).toBe(true);
      }),
    );
  });

  test("names the fields that changed, and every step that must be rerun", () => {
    const before = planOf(step("voice"), step("face"), step("video", ["face"]), step("cut", ["video", "voice"]));
    const face = step("face", [], { input: { prompt: "y", images: [], size: [1] } });
    const after = planOf(step("voice"), face, step("video", ["face"]), step("cut", ["video", "voice"]), step("new"));
    expect(diffPlans(before, after)).toEqual({
      unchanged: ["voice", "video", "cut"],
      changed: [
        {
          path: "face",
          fields: [
            { field: "input.prompt", before: "x", after: "y" },
            { field: "input.size", before: undefined, after: [1] },
          ],
        },
      ],
      added: ["new"],
      removed: [],
      renamed: [],
      stale: ["face", "video", "cut", "new"],
    });
  });

  test("knows a step that only has another name, and takes a reference for one value", () => {
    const before = planOf(step("a", [], { model: "m-1" }), step("b"), step("c", ["b"]));
    const after = planOf(step("first", [], { model: "m-1" }), step("b"), step("c", ["first"]));
    const { renamed, changed, added, removed, stale } = diffPlans(before, after);
    expect({ renamed, added, removed, stale }).toEqual({
      renamed: [{ from: "a", to: "first" }],
      added: [],
      removed: [],
      stale: ["c"],
    });
    expect(changed.map(({ fields }) => fields.map(({ field }) => field))).toEqual([["input.images[0]"]]);
  });
});

describe("diagrams", () => {
  const plan = planOf(upload, step("voice", ["sample"], { yields: "voice" }), step("video", ["voice"]));

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
      '  s1["a<br/>image-1"]',
      '  s2>"story<br/>chat-1"]',
      '  s3("cut<br/>task: film")',
      '  s4{{"ok<br/>a person approves"}}',
      '  s5{{"which<br/>a person chooses"}}',
      '  s6{"best<br/>the highest score"}',
      '  s7[["shots<br/>up to 7 steps"]]',
    ]);
  });
});
