import fc from "fast-check";
import { expect, test } from "vitest";
import type { StepMethods } from "../../../src/core/define/index.ts";
import { loadRun } from "../../../src/core/journal/run-repository.ts";
import { traitsOf } from "../../../src/core/plan/index.ts";
import { comparedParts } from "../../../src/core/view/compared.ts";
import { apiError, models, openFakeShow, pipelineOf, stepOf } from "../../support/engine.ts";

type Fate = "made" | "refused" | "moderated" | "refunded" | "charged";
const part = fc.record({
  fate: fc.constantFrom<Fate>("made", "made", "refused", "moderated", "refunded", "charged"),
  micros: fc.integer({ min: 1, max: 9 }).map((tenths) => tenths * 100_000),
});

const promptOf = (input: unknown) => (input as { readonly prompt: string }).prompt;

test("whatever becomes of the parts, those that were made are offered, and the chosen one is the result", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(part, { minLength: 2, maxLength: 5 }), fc.nat(), async (parts, pick) => {
      const at = (prompt: string) => parts[Number(prompt)]!;
      const of = pipelineOf("look", ({ compare }) => {
        const built = parts.map((_, index) => {
          const build = (b: StepMethods) => b.job("made", models.image, { prompt: String(index) });
          return [`part-${index}`, build] as const;
        });
        return { look: compare("look", Object.fromEntries(built)) };
      });
      const world = await openFakeShow({
        priceMicros: (_, input) => at(promptOf(input)).micros,
        refuses(_, input) {
          const { fate } = at(promptOf(input));
          if (fate === "moderated") return apiError(422, "MODERATION_FAILED");
          return fate === "refused" ? apiError(400, "INVALID_ARGUMENT") : null;
        },
        fails(_, body) {
          const { fate } = at(promptOf(JSON.parse(body)));
          return fate === "refunded" || fate === "charged" ? { code: "INTERNAL", retryable: false } : null;
        },
        shows: ({ error, prompt }) => {
          const { fate, micros } = at(prompt!);
          return error !== null && fate === "charged" ? { costMicros: micros } : {};
        },
      });
      const quote = await world.show.quote(of, {});
      expect(quote.problems).toEqual([]);
      const first = await world.run(of, {}, {}, 1_000);
      const made = parts.flatMap(({ fate }, index) => (fate === "made" ? [index] : []));
      const chargedMicros = parts.reduce((sum, { fate, micros }) => {
        return fate === "made" || fate === "charged" ? sum + micros : sum;
      }, 0);
      const state = await loadRun(world.journal, "x");
      expect(state.spentMicros).toBe(chargedMicros);
      expect(chargedMicros).toBeLessThanOrEqual(quote.totalMicros.max!);
      if (made.length === 0) {
        expect(first.status).toBe("failed");
      } else {
        expect(first.pause?.reason).toBe("approval");
        expect(await world.show.waiting()).toMatchObject([{ step: "look/pick", takes: made.length }]);
        const decision = traitsOf(state.planned.plan.steps.find(({ path }) => path === "look/pick")!).decision!;
        const compared = comparedParts(state, decision)!;
        expect(compared.map(({ name }) => name)).toEqual(parts.map((_, index) => `part-${index}`));
        expect(compared.flatMap(({ offered }) => offered)).toEqual(made.map((_, position) => position));
        for (const [index, one] of compared.entries()) {
          const { fate, micros } = parts[index]!;
          expect(one.missing === null).toBe(fate === "made");
          if (fate === "made") expect(one).toMatchObject({ models: [models.image.id], costMicros: micros });
        }
        const position = pick % made.length;
        await world.show.approve("x", "look/pick", { pick: position });
        const end = await world.resume({}, 1_000);
        expect(end.status).toBe("succeeded");
        expect(stepOf(end, "look/pick").chosen).toEqual({ step: `look/part-${made[position]}/made`, index: 0 });
      }
      await world.show.close();
    }),
    { numRuns: Number(process.env.SHOWRUNNER_TEST_RUNS ?? 12) },
  );
});

test("what is no comparison is said with the field", async () => {
  const { show } = await openFakeShow();
  const of = pipelineOf("look", ({ compare }) => ({
    look: compare("look", { a: (b) => b.job("a", models.image, { prompt: "x" }) }),
  }));
  const { problems } = await show.quote(of, {});
  expect(problems[0]).toMatchObject({ code: "bad-option", step: "look", field: "parts" });
});
