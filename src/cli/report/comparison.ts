import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { diffPlans, type Plan, type PlanDiff, type Quote, type Showrunner } from "../../index.ts";
import { CliError } from "../cli-error.ts";
import { planOf } from "../input/journaled.ts";
import { loadPipeline } from "../load/pipeline-file.ts";
import { visible } from "../text/escape.ts";
import { diffLines } from "./diff-lines.ts";
import { totalText } from "./price-table.ts";
import { problemList } from "./problem-list.ts";

/** How a plan differs from another, and what the part that would be made again costs. */
export interface Comparison extends PlanDiff {
  /** Run id or file that it was compared with. */
  readonly against: string;
  /** Price of the stale steps, micro-dollars; `max` is null when one has neither a price nor a maximum. */
  readonly staleMicros: { readonly min: number; readonly max: number | null };
}

/** Compares with the plan of a run, or with what another file makes of the same input. */
export async function compareWith(
  show: Showrunner,
  against: string,
  quote: Quote,
  about: { readonly cwd: string; readonly input: unknown },
): Promise<Comparison> {
  const before = isFile(against, about.cwd) ? await planOfFile(show, against, about) : await planOf(show, against);
  const diff = diffPlans(before, quote.plan!);
  const stale = new Set(diff.stale);
  let [min, max]: [number, number | null] = [0, 0];
  for (const { step, costMicros, maxCostMicros } of quote.prices.filter((price) => stale.has(price.step))) {
    const most = costMicros ?? maxCostMicros;
    min += costMicros ?? 0;
    max = max === null || most === null ? null : max + most;
    stale.delete(step);
  }
  return { against, ...diff, staleMicros: { min, max } };
}

/** The differences, a line each, and what they would cost. */
export function comparisonLines(comparison: Comparison): readonly string[] {
  const { against, stale, unchanged, staleMicros } = comparison;
  const lines = diffLines(comparison);
  if (lines.length === 0) return [`Against ${visible(against)}: no difference.`];
  return [
    `Against ${visible(against)}:`,
    ...lines.map((line) => `  ${line}`),
    `${unchanged.length} unchanged; ${stale.length} to be made, for ${totalText(staleMicros)}`,
  ];
}

function isFile(against: string, cwd: string): boolean {
  return /\.[mc]?[tj]s(#[^/]*)?$/.test(against) || existsSync(resolve(cwd, against));
}

async function planOfFile(
  show: Showrunner,
  file: string,
  { cwd, input }: { readonly cwd: string; readonly input: unknown },
): Promise<Plan> {
  const { pipeline } = await loadPipeline(file, cwd);
  const made = await show.plan(pipeline, input);
  if (made.ok) return made.plan;
  throw new CliError(
    "PIPELINE_FILE_INVALID",
    `${visible(file)} makes no plan of this input:\n${problemList(made.problems)}`,
    {
      next: "compare with a file that takes the same input, or with a run",
    },
  );
}
