import { expansionsIn, type JobLimits } from "../../plan/index.ts";
import type { Plan } from "../../plan/plan.ts";
import { didYouMean } from "../../plan/suggest.ts";
import { InvalidOptionError } from "../errors.ts";
import type { RunOptions } from "./options.ts";

const DEFAULT_LIMIT = 8;
/** What a limit may name beside `total` and model ids; `task` are local functions. */
const MODALITIES = new Set(["image", "video", "audio", "chat", "task"]);
/** Throws for a limit that no job of the plan could meet, which is a name misspelt. */
export function checkLimits(limits: JobLimits, { steps }: Plan): void {
  const named = Object.keys(limits.perModel);
  if (named.length === 0) return;
  const models = new Set(
    steps.flatMap((step) => {
      return [...("model" in step ? [step.model] : []), ...("provider" in step ? [step.provider] : [])];
    }),
  );
  const mayGrow = expansionsIn(steps).size > 0;
  for (const name of named) {
    if (models.has(name)) continue;
    const suggestion = didYouMean(name, ["total", ...MODALITIES, ...models]);
    // What an expansion will ask for is not known yet.
    if (mayGrow && suggestion === null) continue;
    const known = `limits are named total, ${[...MODALITIES].join(", ")}, or a model or provider of the plan`;
    throw new InvalidOptionError(
      "concurrency",
      `${name} limits nothing here; ${suggestion ?? `${known}: ${[...models].join(", ")}`}`,
    );
  }
}

/** Limits of jobs at once, from a number or from limits by name. */
export function limitsOf(concurrency: RunOptions["concurrency"]): JobLimits {
  const given = typeof concurrency === "number" ? { total: concurrency } : (concurrency ?? {});
  const perModel: Record<string, number> = Object.create(null);
  const perModality: Record<string, number> = {};
  for (const [name, limit] of Object.entries(given)) {
    if (limit === undefined) continue;
    if (!Number.isSafeInteger(limit) || limit < 1) {
      throw new InvalidOptionError(`concurrency.${name}`, `${limit} is no number of jobs; use a whole number from 1.`);
    }
    if (MODALITIES.has(name)) perModality[name] = limit;
    else if (name !== "total") perModel[name] = limit;
  }
  return { total: given.total ?? DEFAULT_LIMIT, perModel, perModality };
}
