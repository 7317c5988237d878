import { describe, expect, test } from "vitest";
import { models } from "../../../recipes/models.ts";
import type { Builder, Handle, StepMethods } from "../../../src/core/define/index.ts";
import { traitsOf } from "../../../src/core/plan/index.ts";
import type { ApproveStep } from "../../../src/core/plan/kinds/approve.ts";
import type { JobStep } from "../../../src/core/plan/kinds/job.ts";
import type { PickStep } from "../../../src/core/plan/kinds/pick.ts";
import {
  givesWay,
  hasNext,
  isSecondChoice,
  optionBefore,
  optionsAround,
  optionsIn,
} from "../../../src/core/plan/second-choice.ts";
import { planned } from "./support/planned.ts";

type Option = (b: StepMethods) => Handle<"image", "single">;

const good: Option = (b) => b.job("good", models.image, { prompt: "x" });
/** A model that the catalog does not have. */
const gone =
  (model: string): Option =>
  (b) =>
    b.job("gone", model as never, { prompt: "x" } as never) as never;
const wrong: Option = (b) => b.job("wrong", models.image, { prompt: 3 } as never);

const tried = (options: readonly Option[], after: (b: Builder<unknown>, face: Handle) => unknown = () => {}) =>
  planned((b) => {
    const face = b.firstOf("face", options as never) as Handle;
    after(b, face);
    return { face };
  });
const pathsOf = ({ plan }: ReturnType<typeof planned>) => plan!.steps.map(({ path }) => path);
const choiceOf = (of: ReturnType<typeof planned>) => of.step("face/pick") as PickStep;

describe("options of which one cannot be made", () => {
  test("are planned without it, and the plan says why", () => {
    const without = tried([gone("no-such-model"), good]);
    expect(without.problems).toEqual([]);
    expect(pathsOf(without)).toEqual(["face/2/good", "face/pick"]);
    const { among, second, needs } = choiceOf(without);
    expect(among.map(({ $ref }) => $ref.step)).toEqual(["face/2/good"]);
    expect(needs).toEqual(["face/2/good"]);
    expect(second).toMatchObject({
      options: ["face/2"],
      out: [{ option: "face/1", reason: expect.stringContaining("no-such-model") }],
    });
    expect(traitsOf(choiceOf(without)).note).toBe("face/2; face/1 is ruled out");
    // The option that remains waits for no step of the option that is gone.
    expect((without.step("face/2/good") as JobStep).needs).toEqual([]);
  });

  test("keep their order where one in the middle is out", () => {
    const without = tried([good, gone("no-such-model"), good]);
    expect(pathsOf(without)).toEqual(["face/1/good", "face/3/good", "face/pick"]);
    expect(choiceOf(without).second?.options).toEqual(["face/1", "face/3"]);
    expect(traitsOf(choiceOf(without)).note).toBe("face/1, else face/3; face/2 is ruled out");
    expect((without.step("face/3/good") as JobStep).needs).toEqual(["face/1/good"]);
  });

  test("are a problem where it is the last, and those before it that are out are problems then", () => {
    expect(tried([good, gone("no-such-model")]).told).toEqual(["unknown-model face/2/gone model"]);
    expect(tried([gone("no-such-a"), good, gone("no-such-b")]).told.toSorted()).toEqual([
      "unknown-model face/1/gone model",
      "unknown-model face/3/gone model",
    ]);
  });

  test("are a problem where its input is wrong: that can be corrected", () => {
    const { told } = tried([wrong, good]);
    expect(told).toEqual(["type face/1/wrong input.prompt"]);
  });

  test("do not hide a model that is gone beside them", () => {
    const beside = tried([good, good], (b) => b.job("beside", "no-such-model" as never, { prompt: "x" } as never));
    expect(beside.told).toEqual(["unknown-model beside model"]);
  });
});

describe("a plan's options", () => {
  const nested: Option = (b) =>
    b.firstOf("inner", [
      (c) => c.job("a", models.image, { prompt: "x" }),
      (c) => c.job("b", models.image, { prompt: "x" }),
    ]);
  const of = tried([nested, good, good]);
  const plan = of.plan!;

  test("are found by their path, with their steps and their place", () => {
    const found = [...optionsIn(plan).values()].map(({ path, at, steps, choice }) => ({
      path,
      at,
      steps: steps.map((step) => step.path),
      choice: choice.path,
    }));
    expect(found).toEqual([
      { path: "face/1/inner/1", at: 0, steps: ["face/1/inner/1/a"], choice: "face/1/inner/pick" },
      { path: "face/1/inner/2", at: 1, steps: ["face/1/inner/2/b"], choice: "face/1/inner/pick" },
      {
        path: "face/1",
        at: 0,
        steps: ["face/1/inner/1/a", "face/1/inner/2/b", "face/1/inner/pick"],
        choice: "face/pick",
      },
      { path: "face/2", at: 1, steps: ["face/2/good"], choice: "face/pick" },
      { path: "face/3", at: 2, steps: ["face/3/good"], choice: "face/pick" },
    ]);
    expect(optionsIn(plan)).toBe(optionsIn(plan));
  });

  test("around a step are named innermost first; around any other step there is none", () => {
    const around = (path: string) => optionsAround(plan, path).map((option) => option.path);
    expect(around("face/1/inner/2/b")).toEqual(["face/1/inner/2", "face/1"]);
    expect(around("face/pick")).toEqual([]);
    const plain = planned((b) => ({ x: good(b) })).plan!;
    expect(optionsAround(plain, "good")).toEqual([]);
    expect(plain.steps.some(isSecondChoice)).toBe(false);
  });

  test("know the option before them, and whether another follows", () => {
    const all = optionsIn(plan);
    const first = all.get("face/1")!;
    const last = all.get("face/3")!;
    expect(optionBefore(plan, first)).toBe(null);
    expect(optionBefore(plan, last)?.path).toBe("face/2");
    expect([hasNext(first), hasNext(last)]).toEqual([true, false]);
    expect([givesWay(first), givesWay(last)]).toEqual([true, false]);
  });
});

describe("parts that a person compares", () => {
  test("are planned side by side, and the decision names them", () => {
    const of = planned(({ compare }) => ({
      face: compare("face", { fast: good, fine: good }, { message: "Which one?" }),
    }));
    const pick = of.step("face/pick") as ApproveStep;
    expect(pick).toMatchObject({ parts: ["face/fast", "face/fine"], message: "Which one?", choose: true });
    const { note, decision } = traitsOf(pick);
    expect(note).toBe("a person compares");
    expect(decision).toEqual({
      path: "face/pick",
      shows: pick.shows,
      choose: true,
      message: "Which one?",
      parts: ["face/fast", "face/fine"],
    });
    expect((of.step("face/fine/good") as JobStep).needs).toEqual([]);
  });

  test("are none in an ordinary decision", () => {
    const of = planned(({ job, approve }) => {
      const still = job("still", models.image, { prompt: "x" });
      return { still: approve("ok", still) };
    });
    const step = of.step("ok") as ApproveStep;
    expect(step).not.toHaveProperty("parts");
    expect(traitsOf(step).note).toBe("a person approves");
    expect(traitsOf(step).decision).not.toHaveProperty("parts");
  });
});
