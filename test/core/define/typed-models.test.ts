import { expect, test } from "vitest";
import { z } from "zod";
import { catalogOf } from "../../../src/core/catalog/index.ts";
import { type Builder, draft, model, pipeline, swap, typedModels } from "../../../src/core/define/index.ts";
import { makePlan } from "../../../src/core/plan/index.ts";

const models = typedModels({
  aurora: model<{ prompt: string }, "image">("aurora-1", { yields: "image" }),
  basaltFast: model<{ prompt: string }, "image">("basalt-fast", { yields: "image" }),
});
/** As Node runs them: no type says that a name is not there. */
const loose = models as unknown as Record<string, typeof models.aurora>;

function problems(build: (builder: Builder<unknown>) => object) {
  const { draft: drafted } = draft(pipeline("p", { input: z.object({}), build: build as never }), {});
  const made = makePlan(drafted!, { catalog: catalogOf([]), files: new Map() });
  return made.ok ? [] : made.problems.map(({ step, field, message }) => `${step} ${field}: ${message}`);
}

test("a name that models.ts does not have is a problem of its step, with names that it has", () => {
  expect(
    problems(({ job, takes }) => ({
      still: job("still", loose.image!, { prompt: "x" }),
      other: job("other", loose.basalt!, { prompt: "x" }),
      three: takes("three", loose.image!, { prompt: "x" }, { count: 3, choose: "first" }),
    })),
  ).toEqual([
    "still model: models.ts has no model `image` (it has, for example, aurora, basaltFast). To update the file, run `showrunner models pull`",
    "other model: models.ts has no model `basalt` (did you mean basaltFast?). To update the file, run `showrunner models pull`",
    "three model: models.ts has no model `image` (it has, for example, aurora, basaltFast). To update the file, run `showrunner models pull`",
  ]);
});

test.each([undefined, null, {}, 7])("%j in place of a model is told as such", (none) => {
  const told = problems(({ job }) => ({ still: job("still", none as never, { prompt: "x" } as never) }));
  expect(told).toEqual([
    expect.stringMatching(/^still model: (undefined|the value given) is not a model; .*showrunner models pull/),
  ]);
});

test("what is there stays as it is, and looking at the models finds no others", async () => {
  expect(Object.keys(models)).toEqual(["aurora", "basaltFast"]);
  expect([models.aurora.id, "image" in models, String(models)]).toEqual(["aurora-1", false, "[object Object]"]);
  expect(await models).toBe(models);
  expect(JSON.parse(JSON.stringify(models)).aurora.id).toBe("aurora-1");
  expect(swap(loose.image!, models.aurora)).toEqual({ image: "aurora-1" });
});
