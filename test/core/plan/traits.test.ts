import { describe, expect, test } from "vitest";
import { type PlanStep, traitsOf } from "../../../src/core/plan/plan.ts";
import { job, ref } from "../run/support/plans.ts";
import { chat, expansion, gate, generate, pick, task, upload, valueRef } from "../run/support/steps.ts";

const of = (step: PlanStep) => traitsOf(step);
const everyKind: readonly PlanStep[] = [
  ...[
    job("job"),
    upload("upload"),
    chat("chat", {}, 2),
    task("task"),
    gate("approve", [ref("job")]),
    pick("pick", [ref("job")]),
  ],
  expansion("expand", valueRef("chat")),
];
/** One trait of every kind: jobs, uploads, chats, functions, approvals, picks, expansions. */
const each = (name: keyof ReturnType<typeof of>) => everyKind.map((step) => of(step)[name]);

describe("what is asked of steps of every kind", () => {
  test("who pays and who is asked: jobs by quote, chats by use, expansions by their steps", () => {
    expect(everyKind.map((step) => of(step).pricing.by)).toEqual([
      ...["quote", "nothing", "usage", "nothing", "nothing", "nothing", "inner steps"],
    ]);
    expect(of(everyKind[2]!).pricing).toEqual({
      by: "usage",
      maxCostMicros: 50,
      why: "chats are billed per token",
    });
    expect(of(everyKind[6]!).pricing).toMatchObject({
      maxCostMicros: null,
      why: "its steps are not known until the value that it expands is available",
    });
  });

  test("how long they usually take, and which limit they fall under", () => {
    expect(each("typicalMs")).toEqual([10_000, 500, 5_000, 2_000, 0, 0, 0]);
    expect(each("modality")).toEqual(["image", null, "chat", "task", null, null, null]);
    const made = (yields: string) => of({ ...job("j"), yields } as PlanStep);
    expect(
      ["image", "audio", "voice", "video"].map((yields) => [made(yields).modality, made(yields).typicalMs]),
    ).toEqual([
      ...[
        ["image", 10_000],
        ["audio", 8_000],
        ["audio", 8_000],
        ["video", 90_000],
      ],
    ]);
  });

  test("which run code of one's own, and read files", () => {
    expect(each("needsCode")).toEqual([false, false, false, true, false, false, true]);
    expect(each("readsFiles")).toEqual([false, false, false, true, false, false, false]);
    const scored = of(pick("best", [ref("a")], "score"));
    expect([scored.needsCode, scored.readsFiles]).toEqual([true, true]);
  });

  test("which stand for others, choose, wait for people, or lead to steps", () => {
    expect(everyKind.map((step) => of(step).standsFor)).toEqual([[], [], [], [], [ref("job")], [ref("job")], []]);
    expect(each("isChoice")).toEqual([false, false, false, false, false, true, false]);
    expect(of(gate("g", [], true)).isChoice).toBe(true);
    expect(each("decision")).toEqual([
      ...Array(4).fill(null),
      { path: "approve", shows: [ref("job")], choose: false, message: null },
      null,
      null,
    ]);
    expect(each("expansion")).toEqual([...Array(6).fill(null), everyKind[6]]);
    expect(each("submits")).toEqual([everyKind[0], ...Array(6).fill(null)]);
    expect(each("provider")).toEqual(Array(7).fill(null));
    expect(of(generate("g", "keyed")).provider).toEqual({ name: "mock", promise: "keyed" });
    expect(each("file")).toEqual([null, (everyKind[1] as { file?: object }).file, ...Array(5).fill(null)]);
    expect(each("keeps")).toEqual(Array(7).fill(true));
    expect(of(job("j", {}, { keep: false })).keeps).toBe(false);
  });

  test("what they use, and what they request", () => {
    const uses = { step: "job", as: "asset", output: 0, kind: "image" };
    expect(each("uses")).toEqual([[], [], [], [], [uses], [uses], [valueRef("chat").$ref]]);
    expect(of(job("j", { a: ref("job") })).uses).toEqual([uses]);
    expect(of(task("t", { a: ref("job") })).uses).toEqual([uses]);
    expect(each("requested")).toEqual([
      { model: "m", input: { prompt: "job" } },
      { file: "0".repeat(64), kind: "image" },
      { model: "talk", input: { messages: [] }, schema: null },
      { input: {}, version: "1", files: [] },
      { shows: [ref("job")], choose: false },
      { among: [ref("job")], by: "first", version: null },
      { on: valueRef("chat"), version: "1" },
    ]);
  });

  test("which results are worth reusing: those that cost money or time", () => {
    const identities = everyKind.map((step) => of(step).reuse?.("film", step as never) ?? null);
    expect(identities).toEqual([
      { kind: "job", model: "m" },
      null,
      { kind: "chat", model: "talk", schema: null },
      { kind: "task", function: "film/task", version: "1", files: [] },
      null,
      null,
      null,
    ]);
  });

  test("what people call them", () => {
    expect(each("noun")).toEqual(["job", "uploaded file", "chat", "local task", "decision", "choice", "expansion"]);
    expect(each("icon")).toEqual(["media", "file", "value", "value", "decision", "decision", "group"]);
    expect(each("note")).toEqual([
      "m",
      "image file",
      "talk",
      "task",
      "a person approves",
      "the first result",
      "up to 5 steps",
    ]);
    const files = [
      { name: "cut", kind: "video" },
      { name: "mix", kind: "audio" },
    ] as const;
    expect(of({ ...task("t"), files }).note).toBe("task: cut, mix");
    expect([of(gate("g", [], true)).note, of(pick("p", [], "score")).note]).toEqual([
      "a person chooses",
      "the highest score",
    ]);
    expect(each("subject")).toEqual([null, "f", null, null, null, null, null]);
    expect(of(gate("g", [], true, "which?")).subject).toBe("which?");
    const own = upload("u");
    expect(of({ ...own, file: { ...own.file, path: "C:\\films\\a.png" } }).subject).toBe("a.png");
    expect(each("brackets")).toEqual([
      ["[", "]"],
      ["[/", "/]"],
      [">", "]"],
      ["(", ")"],
      ["{{", "}}"],
      ["{", "}"],
      ["[[", "]]"],
    ]);
    expect(of({ ...job("j"), yields: "voice" } as PlanStep).brackets).toEqual(["([", "])"]);
  });
});
