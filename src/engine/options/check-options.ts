import { parseUsd } from "../../money.ts";
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
  const models = new Set(steps.flatMap((step) => ("model" in step ? [step.model] : [])));
  const mayGrow = expansionsIn(steps).size > 0;
  for (const name of Object.keys(limits.perModel)) {
    if (models.has(name)) continue;
    const near = didYouMean(name, ["total", ...MODALITIES, ...models]);
    // What an expansion will ask for is not known yet.
    if (mayGrow && near === null) continue;
    const known = `limits are named total, ${[...MODALITIES].join(", ")}, or a model of the plan`;
    throw new InvalidOptionError(
      "concurrency",
      `${name} limits nothing here; ${near ?? `${known}: ${[...models].join(", ")}`}`,
    );
  }
}

const RUN_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;

export function checkRunId(id: string): void {
  if (RUN_ID.test(id)) return;
  const message = `${JSON.stringify(id)} is no run id; use up to 100 letters, digits, ".", "_" and "-".`;
  const near = id
    .replace(/[^A-Za-z0-9._-]+/g, "-")
    .replace(/^[^A-Za-z0-9]+|-+$/g, "")
    .slice(0, 100);
  throw new InvalidOptionError("id", message, near === "" ? null : `use another id, such as ${near}`);
}

/** Micro-dollars of a decimal; null when there is none. */
export function usdOption(option: string, text: string | undefined): number | null {
  if (text === undefined) return null;
  const micros = parseUsd(text);
  if (micros === null) {
    throw new InvalidOptionError(
      option,
      `${JSON.stringify(text)} is no amount of dollars; write it like "5" or "0.25".`,
    );
  }
  return micros;
}

/** Limits of jobs at once, from a number or from limits by name. */
export function limitsOf(concurrency: RunOptions["concurrency"]): JobLimits {
  const given = typeof concurrency === "number" ? { total: concurrency } : (concurrency ?? {});
  const perModel: Record<string, number> = {};
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
