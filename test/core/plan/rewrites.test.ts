import { describe, expect, test } from "vitest";
import { models } from "../../../recipes/models.ts";
import { text } from "../../../src/core/define/index.ts";
import { givesWay, hasNext, optionsIn } from "../../../src/core/plan/second-choice.ts";
import { planned } from "./support/planned.ts";

describe("a step whose prompt is rewritten after moderation", () => {
  const rewritten = (input: object) =>
    planned((b) => ({
      still: b.job(
        "still",
        models.image,
        input as never,
        {
          onModerated: "rewrite",
          rewrite: { model: "chat-1", maxCost: "0.01" },
        } as never,
      ),
    }));

  test("does not give way to its rewritten form when it is late", () => {
    const { plan } = rewritten({ prompt: "x" });
    const [first] = optionsIn(plan!).values();
    expect([hasNext(first!), givesWay(first!)]).toEqual([true, false]);
    expect(first!.choice.second.rewrites).toBe(true);
  });

  test("has one problem, though both forms of it have it, at the step that the author wrote", () => {
    expect(rewritten({ prompt: "x", aspect_ratio: "7:5" }).told).toEqual([expect.stringMatching(/ still input\./)]);
    const twice = planned((b) => {
      const a = b.job("a", models.image, { prompt: text`${"x"}`, aspect_ratio: "7:5" } as never);
      const c = b.job("c", models.image, { prompt: "x", aspect_ratio: "7:5" } as never);
      return { a, c };
    });
    expect(twice.told.map((one) => one.split(" ")[1])).toEqual(["a", "c"]);
  });
});
