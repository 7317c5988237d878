import { describe, expect, test } from "vitest";
import { z } from "zod";
import { type Pipeline, pipeline } from "../../../src/index.ts";
import { models, openFakeShow } from "../../support/engine.ts";

const before = z.object({ words: z.string(), seed: z.string().transform(Number) });
const given = { words: "two", seed: "7" };

/** One picture of its words, and of a tone where the code has come to that. */
const picture = (input: z.ZodType, withTone = true): Pipeline =>
  pipeline("picture", {
    input,
    build({ input: given, job }) {
      const { words, tone } = given as { words: string; tone?: string };
      return { picture: job("picture", models.image, { prompt: withTone ? `${words} ${tone}` : words }) };
    },
  });

async function madeBefore() {
  const world = await openFakeShow();
  await world.run(picture(before, false), given);
  const resume = (changed: Pipeline, input?: { readonly tone: string }) =>
    world.resume({ pipeline: changed, acceptChanges: true, ...(input !== undefined && { input }) });
  return { ...world, resume };
}

describe("accepting changed code whose input is another", () => {
  test.each([
    ["a new required field", before.extend({ tone: z.string() }), "input.tone", "is missing"],
    ["a field of another type", before.extend({ words: z.number() }), "input.words", "must be a number, not text"],
    ["a stricter field", before.extend({ words: z.string().min(9) }), "input.words", "has 3 characters; at least 9 "],
  ])("is refused for %s, which it names with how to give it", async (_, changed, field, message) => {
    const { resume, paidService } = await madeBefore();
    const name = field.slice(6);
    await expect(resume(picture(changed))).rejects.toMatchObject({
      code: "PLAN_PROBLEMS",
      problems: [{ step: null, field, message: expect.stringMatching(`${message}.*set it with: -i ${name}=VALUE`) }],
    });
    expect(paidService.jobs.size).toBe(1);
  });

  test("goes on with the field given, with a default, and with what a transform made", async () => {
    const { resume, paidService } = await madeBefore();
    const toned = before.extend({ tone: z.string() });
    expect((await resume(picture(toned), { tone: "warm" })).status).toBe("succeeded");
    expect((await resume(picture(toned.extend({ mood: z.string().default("") })))).status).toBe("succeeded");
    expect(paidService.prompts).toEqual(["two", "two warm"]);
  });
});
