import { describe, expect, test } from "vitest";
import type { RunState } from "../../../src/core/journal/state.ts";
import type { Condition, PlanStep } from "../../../src/core/plan/plan.ts";
import { gateOf, readiness, toleratesFailure, whyNever } from "../../../src/core/run/readiness.ts";
import { output } from "./support/attempts.ts";
import { jobs, runningState, type Steps, stepsOf } from "./support/decided.ts";
import { job, ref } from "./support/plans.ts";
import { expansion, gate, pick, task, upload, valueRef } from "./support/steps.ts";

const made = (count: number, bad = 0) => ({
  status: bad === 0 ? "succeeded" : "partial",
  outputs: [
    ...Array.from({ length: count }, (_, index) => output(index)),
    ...Array.from({ length: bad }, (_, index) => output(count + index, { status: "FAILED" })),
  ],
});
const open = { status: "running" };
const failed = { status: "failed" };
const skipped = { status: "skipped", skippedByCondition: true };
const value = (of: unknown) => ({ status: "succeeded", value: of });

const losses = { losses: 1 };

/** Of a step after others; one of those has been lost, unless said. */
function ready(step: PlanStep, others: Steps, more: Partial<RunState> = losses, reader?: "local") {
  const state = runningState([...others, [step]], more);
  const answer = readiness(state, step, "input" in step ? step.input : null, reader);
  return answer.ready === "never" ? answer.reason : answer.ready;
}

describe("a condition", () => {
  const when = (condition: Condition) => ({ ...job("x"), needs: ["v"], when: condition }) as PlanStep;
  const of = (condition: object, at?: readonly string[]) =>
    when({ ref: valueRef("v", at).$ref, ...condition } as Condition);
  const v = (own: unknown) => [[task("v"), value(own)]] as const;

  test.each([
    [{ equals: "a" }, "a", true],
    [{ equals: "a" }, "b", false],
    [{ equals: { b: [1] } }, { b: [1] }, true],
    [{ equals: null }, null, true],
    [{ is: "truthy" }, "a", true],
    [{ is: "truthy" }, "", false],
    [{ is: "truthy" }, 0, false],
    [{ is: "truthy" }, null, false],
    [{ is: "truthy" }, [], false],
    [{ is: "truthy" }, [0], true],
    [{ is: "truthy" }, {}, true],
    [{ is: "falsy" }, "", true],
    [{ is: "falsy" }, [], true],
    [{ is: "falsy" }, ["a"], false],
    [{ is: "falsy" }, 1, false],
  ])("%j of %j: %s", (condition, own, holds) => {
    expect(ready(of(condition), v(own)) === "yes").toBe(holds);
  });

  test("that does not hold says what it would have wanted, and skips by the condition", () => {
    expect(ready(of({ equals: "a" }, ["deep", "x"]), v(1))).toBe('not needed: v.deep.x is not "a"');
    expect(ready(of({ is: "truthy" }), v(0))).toBe("not needed: v is empty");
    expect(ready(of({ is: "falsy" }), v(1))).toBe("not needed: v is not empty");
    expect(gateOf(runningState([...v(0), [of({ is: "truthy" })]]), of({ is: "truthy" }))).toMatchObject({
      skippedByCondition: true,
    });
  });

  test("waits for its step, and leaves it to say why it did not come", () => {
    expect(ready(of({ is: "truthy" }), [[task("v"), open]])).toBe("no");
    expect(ready(of({ is: "truthy" }), [[task("v"), failed]])).toBe("needs v, which failed");
    expect(ready(of({ is: "truthy" }), [[task("v"), { status: "cancelled" }]])).toBe("needs v, which was cancelled");
  });

  test("that nobody answered stops also what can do without some of its inputs", () => {
    const condition = { ref: valueRef("v").$ref, is: "truthy" } as const;
    const tolerant = [job("q", {}, { onFailure: { quorum: 1 } }), pick("p", [ref("a")])];
    for (const step of tolerant) {
      const asking = { ...step, needs: ["a", "v"], when: condition } as PlanStep;
      const once = (v: object) => ready(asking, stepsOf([job("a"), made(1)], [task("v"), v]));
      expect(once(failed)).toBe("needs v, which failed");
      expect(once(skipped)).toBe("needs v, which was skipped");
      expect(once(value(true))).toBe("yes");
    }
  });

  test("on a failure holds once the step has failed, and never where it did not", () => {
    const rescue = when({ failed: "v" });
    expect(ready(rescue, [[task("v"), failed]])).toBe("yes");
    expect(ready(rescue, [[task("v"), value(1)]])).toBe("not needed: v did not fail");
    expect(ready(rescue, [[task("v"), skipped]])).toBe("not needed: v did not fail");
    expect(ready(rescue, [[task("v"), open]])).toBe("no");
  });
});

describe("a step that needs others", () => {
  const film = job("film", { images: [ref("a", "all")], other: ref("b") });

  test("is ready with its input resolved", () => {
    const state = runningState([[job("a"), made(2)], [job("b"), made(1)], [film]]);
    const asset = (index: number) => ({ source: "asset", asset_id: `x${index}` });
    expect(readiness(state, film, film.input)).toEqual({
      ready: "yes",
      input: { prompt: "film", images: [asset(0), asset(1)], other: asset(0) },
    });
  });

  test("waits for all of them, and will never be where one is lost, open ones or not", () => {
    expect(ready(film, jobs({ a: made(2), b: open }))).toBe("no");
    expect(ready(film, jobs({ a: open, b: failed }))).toBe("needs b, which failed");
    expect(ready(film, jobs({ a: open, b: skipped }))).toBe("needs b, which was skipped");
    expect(ready(film, jobs({ a: made(1, 1), b: open }))).toBe("needs all outputs of a, but 1 of 2 failed");
    expect(ready(film, jobs({ a: made(1, 1), b: made(1) }))).toBe("needs all outputs of a, but 1 of 2 failed");
    // As long as nothing was lost, nobody looks.
    expect(ready(film, jobs({ a: open, b: failed }), { losses: 0 })).toBe("no");
  });

  test("of a value that is not there will never be ready, although others are open and nothing was lost", () => {
    const reads = job("reads", { text: valueRef("v", ["x"]), image: ref("a") });
    const others = stepsOf([task("v"), value({ y: 1 })], [job("a"), open]);
    expect(ready(reads, others, { losses: 0 })).toBe("needs the value of v at x, which does not exist");
    expect(ready(reads, stepsOf([task("v"), open], [job("a"), open]))).toBe("no");
    const shown = job("reads", { text: { $ref: { step: "ok", as: "value", output: 0, at: ["x"] } }, image: ref("a") });
    const ok: Steps = [
      [task("v"), value({ y: 1 })],
      [gate("ok", [valueRef("v")]), { status: "succeeded", approval: { approved: true } }],
      [job("a"), open],
    ];
    expect(ready(shown, ok, { losses: 0 })).toBe("needs the value of ok at x, which does not exist");
  });

  test("of a local function needs the files here", () => {
    const cut = task("cut", { image: ref("a") });
    const away = { status: "succeeded", outputs: [output(0, { copy: null, phase: "available" })] };
    expect(ready(cut, [[job("a"), away]], losses, "local")).toBe("no");
    expect(ready(cut, [[job("a"), made(1)]], losses, "local")).toBe("yes");
    expect(ready(cut, [[job("a"), away]])).toBe("yes");
  });
});

describe("a step that does with some of many", () => {
  const join = (quorum: number, input: object = { images: [ref("a", "all"), ref("b")] }) =>
    job("join", input as never, { onFailure: { quorum } });
  const [a, b] = [job("a", {}, { outputs: 3 }), job("b")];
  const ab = (one: object, two: object) => stepsOf([a, one], [b, two]);

  test("waits as long as enough may come, and never starts once they cannot", () => {
    expect(ready(join(3), ab(made(2, 1), made(1)))).toBe("yes");
    expect(ready(join(4), ab(made(2, 1), open))).toBe(
      "needs 4 results but has 3: needs all outputs of a, but 1 of 3 failed",
    );
    expect(ready(join(3), ab(made(2, 1), open))).toBe("no");
    expect(ready(join(4), ab(open, made(1)))).toBe("no");
    expect(ready(join(4), ab(open, failed))).toBe(
      "needs 4 results but has 3: needs output 0 of b, which does not exist",
    );
    expect(ready(join(2), ab(failed, made(1)))).toBe(
      "needs 2 results but has 1: needs the outputs of a, which does not exist",
    );
  });

  test("needs what stands outside of its lists, and every piece of a text", () => {
    const input = { images: [ref("a", "all")], face: ref("b") };
    expect(ready(join(1, input), ab(made(2), failed))).toBe("needs output 0 of b, which does not exist");
    const text = { images: [ref("a", "all")], text: { $text: ["x", valueRef("v")] } };
    expect(ready(join(1, text), stepsOf([a, made(2)], [task("v"), failed]))).toBe(
      "needs the value of v, which does not exist",
    );
    const listed = { images: [{ at: ref("b") }, null, "x"], more: ref("a", "all") };
    expect(ready(join(2, listed), ab(made(2), failed))).toBe("needs output 0 of b, which does not exist");
  });

  test("counts the steps that it waits for where it lists nothing, and was skipped by a condition where all were", () => {
    const step = { ...join(2, {}), needs: ["a", "b", "c"] } as PlanStep;
    const others = (one: object, two: object) => stepsOf([a, one], [b, two], [job("c"), made(1)]);
    expect(ready(step, others(failed, made(1)))).toBe("yes");
    expect(ready(step, others(failed, { status: "cancelled" }))).toBe(
      "needs 2 results but has 1: a failed; b was cancelled",
    );
    const why = (one: object, two: object) => {
      const answer =
        gateOf(runningState([...others(one, two), [step]], losses), step) ??
        whyNever(runningState([...others(one, two), [step]], losses), step);
      return answer?.ready === "never" && answer.skippedByCondition;
    };
    expect([why(skipped, skipped), why(skipped, failed), why(failed, failed)]).toEqual([true, false, false]);
  });

  test("counts the items of a value's list", () => {
    const list = (own: unknown) => ready(join(2, { all: valueRef("v", undefined, "all") }), [[task("v"), value(own)]]);
    expect([list(["a", "b"]), list("one")]).toEqual(["yes", "needs 2 results but has 1: "]);
    expect(ready(join(2, { all: valueRef("v", undefined, "all") }), stepsOf([task("v"), open], [a, failed]))).toBe(
      "no",
    );
  });

  test.each([
    ["an approval passes on all that it shows", gate("via", [ref("a", "all"), ref("b")]), ref("via", "all"), 4],
    ["one of them where one is asked for", gate("via", [ref("a", "all"), ref("b")]), ref("via", 3), 1],
    ["a choice passes on one", gate("via", [ref("a", "all"), ref("b")], true), ref("via", "all"), 1],
    ["so does a pick", pick("via", [ref("a", "all"), ref("b")]), ref("via", "chosen"), 1],
    ["a job as many as it makes", job("via", {}, { outputs: 2 }), ref("via", "all"), 2],
    ["one output of it is one", job("via", {}, { outputs: 2 }), ref("via", 1), 1],
  ])("waits for no more than can come: %s", (_what, via, listed, most) => {
    const others = stepsOf([a, open], [b, open], [via, open], [job("lost"), failed]);
    const step = (quorum: number) => join(quorum, { images: [listed, ref("lost")] });
    expect(ready(step(most), others)).toBe("no");
    expect(ready(step(most + 1), others)).toMatch(new RegExp(`^needs ${most + 1} results but has ${most}: `));
  });

  test("waits for an expansion as long as its steps may yield enough", () => {
    const grow = expansion("grow", valueRef("v"));
    const grown = (one: object, two: object): Steps => [
      [grow, { ...open, expanded: [ref("grow/1", "all"), ref("grow/2")] }],
      [job("grow/1", {}, { outputs: 2 }), one],
      [job("grow/2"), two],
    ];
    const all = (quorum: number) => join(quorum, { images: [ref("grow", "all")] });
    expect(ready(all(3), stepsOf([grow, open], [a, failed]))).toBe("no");
    expect(ready(all(3), grown(open, open))).toBe("no");
    expect(ready(all(3), grown(open, failed))).toBe(
      "needs 3 results but has 2: needs all outputs of grow, but the one from grow/2 was not produced",
    );
    expect(ready(all(2), grown(made(1, 1), open))).toBe("no");
    const one = (output: number) => join(1, { images: [ref("grow", output)] });
    expect(ready(one(2), grown(open, open))).toBe("no");
    expect(ready(one(2), grown(open, failed))).toBe("needs 1 results but has 0: needs output 2 of grow, which failed");
    const plain = job("plain", { images: ref("grow", "all") });
    expect(ready(plain, grown(open, failed))).toBe(
      "needs all outputs of grow, but the one from grow/2 was not produced",
    );
    expect(ready(plain, grown(open, open))).toBe("no");
  });
});

test("steps that may do without some of their inputs are choices and those with a quorum", () => {
  const quorum = job("q", {}, { onFailure: { quorum: 1 } });
  expect(
    [quorum, gate("g", [], true), pick("p", []), gate("h", []), job("j"), upload("u")].map(toleratesFailure),
  ).toEqual([...[true, true, true, false, false, false]]);
});

test("why a step never starts is known before its turn; null while it may start", () => {
  const state = runningState(jobs({ a: failed, b: open, v: made(1) }), losses);
  const of = (step: PlanStep) => whyNever(state, step)?.reason ?? null;
  expect([
    of(job("x", { i: ref("a") })),
    of(job("x", { i: ref("b") })),
    of(job("x", { i: ref("v", 3) })),
    of(job("x")),
  ]).toEqual([...["needs a, which failed", null, "needs output 3 of v, which failed", null]]);
});
