import fc from "fast-check";
import { expect, test } from "vitest";
import type { StepMethods } from "../../../src/core/define/index.ts";
import type { Handle, Pipeline } from "../../../src/index.ts";
import { apiError, models, openFakeShow, pipelineOf, unanswered } from "../../support/engine.ts";

/** How the only submit of a job ends. */
const FATES = ["made", "refused", "retired", "moderated", "no capacity", "refunded", "charged", "lost"] as const;
type Fate = (typeof FATES)[number];

interface Job {
  readonly is: "job";
  readonly fate: Fate;
  /** How it ends with a milder prompt; null: it is not asked for one. */
  readonly again: Fate | null;
  readonly micros: number;
}
interface Choice {
  readonly is: "choice";
  readonly afterModeration: boolean;
  readonly options: readonly Chain[];
}
/** Each takes in what the one before made. */
type Chain = readonly (Job | Choice)[];

/** Made by hand: what of a tree is bought, in order, and how it ends. Knows nothing of plans, steps and conditions. */
function told(choice: Choice, bought: string[], name = "x"): { readonly end: End; readonly failed: readonly Fate[] } {
  const failed: Fate[] = [];
  for (const [at, option] of choice.options.entries()) {
    const one = chained(option, bought, `${name}.${at}`);
    failed.push(...one.failed);
    if (one.end !== "out") return { end: one.end, failed };
    if (one.failed.includes("moderated") && !choice.afterModeration) return { end: "stopped", failed };
  }
  return { end: "out", failed };
}
type End = "made" | "out" | "stopped" | "open";

function chained(
  chain: Chain,
  bought: string[],
  name: string,
): { readonly end: End; readonly failed: readonly Fate[] } {
  const failed: Fate[] = [];
  for (const [at, part] of chain.entries()) {
    const own = `${name}-${at}`;
    if (part.is === "job") {
      let { fate } = part;
      let what = own;
      if (fate === "moderated" && part.again !== null) {
        bought.push(`${own}?`);
        failed.push(fate);
        [fate, what] = [part.again, `${own}~`];
      }
      if (fate === "made" || fate === "charged") bought.push(what);
      if (fate === "made") continue;
      if (fate === "lost") return { end: "open", failed };
      return { end: fate === "charged" ? "stopped" : "out", failed: [...failed, fate] };
    }
    const inner = told(part, bought, own);
    failed.push(...inner.failed);
    if (inner.end !== "made") return { end: inner.end, failed };
  }
  return { end: "made", failed };
}

const job = fc.record<Job>({
  is: fc.constant("job"),
  // What makes a later option matter is drawn more often.
  fate: fc.oneof(fc.constantFrom(...FATES), fc.constantFrom<Fate>("refused", "refunded")),
  again: fc.option(fc.constantFrom(...FATES), { freq: 1 }),
  micros: fc.integer({ min: 1, max: 9 }).map((tenths) => tenths * 100_000),
});

function choices(depth: number): fc.Arbitrary<Choice> {
  const part: fc.Arbitrary<Job | Choice> =
    depth === 0 ? job : fc.oneof({ weight: 3, arbitrary: job }, choices(depth - 1));
  return fc.record<Choice>({
    is: fc.constant("choice"),
    afterModeration: fc.boolean(),
    options: fc.array(fc.array(part, { minLength: 1, maxLength: 2 }), { minLength: 1, maxLength: 3 }),
  });
}

const REWRITE = { model: "chat-1", maxCost: "0.02" };
/** Steps of a job that may be rewritten, by what a plain reading calls them. */
const SUFFIXES: Readonly<Record<string, string>> = { first: "", prompt: "?", again: "~" };

function nameOf(path: string): string {
  const names = path.split("/");
  const suffix = SUFFIXES[names.at(-1)!];
  return suffix === undefined ? names.at(-1)! : `${names.at(-3)}${suffix}`;
}

type Picture = Handle<"image", "single">;

/** The tree as a pipeline; jobs by their prompts. */
function planned(tree: Choice, jobs: Map<string, Job>): Pipeline {
  const addChoice = (b: StepMethods, choice: Choice, name: string, before: Picture | null): Picture => {
    const settings = choice.afterModeration ? { onModerated: "next" as const } : {};
    const options = choice.options.map((option, at) => (inner: StepMethods) => {
      return addChain(inner, option, `${name}.${at}`, before);
    });
    return b.firstOf(name, options, settings);
  };
  const addChain = (b: StepMethods, chain: Chain, name: string, outer: Picture | null): Picture => {
    let last = outer;
    for (const [at, part] of chain.entries()) {
      const own = `${name}-${at}`;
      if (part.is === "job") {
        const input = { prompt: own, ...(last !== null && { images: [last] }) };
        jobs.set(own, part);
        if (part.again === null) {
          last = b.job(own, models.image, input);
          continue;
        }
        jobs.set(`${own}~`, { ...part, fate: part.again });
        last = b.job(own, models.image, input, { onModerated: "rewrite", rewrite: REWRITE });
      } else last = addChoice(b, part, own, last);
    }
    return last!;
  };
  return pipelineOf("tree", (b) => ({ picture: addChoice(b, tree, "x", null) }));
}

const promptOf = (input: unknown) => (input as { readonly prompt: string }).prompt;

test("whatever the options and their endings, what is bought is what a plain reading says, and never dearer than quoted", async () => {
  await fc.assert(
    fc.asyncProperty(choices(2), async (tree) => {
      const jobs = new Map<string, Job>();
      const of = planned(tree, jobs);
      const world = await openFakeShow({
        // A stand-in for a prompt that does not exist yet may be that of the dearest.
        priceMicros: (_, input) => jobs.get(promptOf(input))?.micros ?? 900_000,
        chatMicros: 20_000,
        says: ({ messages }) => `${(messages.at(-1) as { readonly content: string }).content}~`,
        refuses(model, input) {
          switch (jobs.get(promptOf(input))!.fate) {
            case "refused":
              return apiError(400, "INVALID_ARGUMENT");
            case "retired":
              return apiError(410, "GONE");
            case "moderated":
              return apiError(422, "MODERATION_FAILED");
            case "lost":
              return unanswered(model);
            default:
              return null;
          }
        },
        fails(_, body) {
          const { fate } = jobs.get(promptOf(JSON.parse(body)))!;
          if (fate === "refunded" || fate === "charged") return { code: "INTERNAL", retryable: false };
          return fate === "no capacity" ? { code: "UNAVAILABLE", retryable: false } : null;
        },
        shows: ({ error, prompt }) => {
          const { fate, micros } = jobs.get(prompt!)!;
          return error !== null && fate === "charged" ? { costMicros: micros } : {};
        },
      });
      const quote = await world.show.quote(of, {});
      expect(quote.problems).toEqual([]);
      const { report } = await world.run(of, {}, { giveUpAfterMs: 3_000 }, 1_000);
      const bought: string[] = [];
      const { end } = told(tree, bought);
      const charged = report.steps.filter(({ attempts }) => attempts.some(({ cost }) => Number(cost) > 0));
      expect(charged.map(({ path }) => nameOf(path)).toSorted()).toEqual(bought.toSorted());
      expect(report.status).toBe(end === "open" ? "paused" : end === "made" ? "succeeded" : "failed");
      const chargedMicros = bought.reduce((sum, name) => sum + (jobs.get(name)?.micros ?? 20_000), 0);
      expect(chargedMicros).toBeLessThanOrEqual(quote.totalMicros.max!);
      expect(quote.totalMicros.min).toBeLessThanOrEqual(quote.totalMicros.max!);
      const asked = [...world.paidService.chats.values()].map(({ request }) => JSON.stringify(request.messages));
      expect(new Set(asked).size).toBe(asked.length);
      await world.show.close();
    }),
    { numRuns: Number(process.env.SHOWRUNNER_TEST_RUNS ?? 12) },
  );
});
