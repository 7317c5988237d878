import { existsSync } from "node:fs";
import { resolve } from "node:path";
import {
  diffPlans,
  type Pipeline,
  type PlanDiff,
  type Quote,
  type QuoteOptions,
  type Showrunner,
} from "../../internal.ts";
import { CliError } from "../cli-error.ts";
import { loadPipeline } from "../load/pipeline-file.ts";
import { visible } from "../text/escape.ts";
import { diffLines } from "./diff-lines.ts";
import { totalText } from "./price-table.ts";
import { problemList } from "./warning-lines.ts";

/** How a plan differs from another, and what the steps cost that would run. */
export interface PlanComparison {
  /** Run id or file that it was compared with. */
  readonly against: string;
  readonly diff: PlanDiff;
  /** Steps that would run, in plan order, and why where that is known. */
  readonly stale: readonly { readonly path: string; readonly why: string | null }[];
  /** Their price, micro-dollars; `max` is null when one has neither a price nor a maximum. */
  readonly totalMicros: Quote["totalMicros"];
  /** Of the stale steps. */
  readonly prices: Quote["prices"];
}

/** The plan, its pipeline and its input. */
export interface Compared {
  readonly pipeline: Pipeline;
  readonly input: unknown;
  readonly quote: Quote;
  readonly options: QuoteOptions;
  readonly cwd: string;
}

/** Compares with a run, or with what another file makes of the same input. */
export async function compareWith(show: Showrunner, against: string, plan: Compared): Promise<PlanComparison> {
  if (isFile(against, plan.cwd)) return compareFiles(show, against, plan);
  const { diff, stale, totalMicros, prices } = await show.compare(plan.pipeline, plan.input, {
    ...plan.options,
    against,
  });
  return { against, diff, stale: stale.map(({ path, why }) => ({ path, why })), totalMicros, prices };
}

/** The differences, a line each, and what they would cost. */
export function comparisonLines({ against, diff, stale, ...price }: PlanComparison): readonly string[] {
  const lines = diffLines(diff);
  if (lines.length === 0 && stale.length === 0) return [`Against ${visible(against)}: no difference.`];
  const fresh = diff.unchanged.filter((path) => !stale.some((one) => one.path === path));
  const listed = new Set([...diff.changed.map(({ path }) => path), ...diff.added]);
  const others = stale.flatMap(({ path, why }) => (why === null || listed.has(path) ? [] : [`  ${visible(why)}`]));
  return [
    `Against ${visible(against)}:`,
    ...lines.map((line) => `  ${line}`),
    ...others.slice(0, 20),
    ...(others.length > 20 ? [`  … and ${others.length - 20} more`] : []),
    `${fresh.length} unchanged; ${stale.length} to run, for ${totalText(price)}`,
  ];
}

async function compareFiles(show: Showrunner, file: string, { quote, ...plan }: Compared): Promise<PlanComparison> {
  const { pipeline } = await loadPipeline(file, plan.cwd);
  const before = await show.plan(pipeline, plan.input);
  if (!before.ok) {
    const message = `${visible(file)} cannot plan this input:\n${problemList(before.problems)}`;
    const next = "compare with a file that takes the same input, or with a run";
    throw new CliError("PIPELINE_FILE_INVALID", message, { next });
  }
  const diff = diffPlans(before.plan, quote.plan!);
  const prices = quote.prices.filter(({ step }) => diff.stale.includes(step));
  const most = prices.map(({ mostMicros }) => mostMicros);
  return {
    against: file,
    diff,
    stale: diff.stale.map((path) => ({ path, why: null })),
    prices,
    totalMicros: {
      min: prices.reduce((sum, { costMicros }) => sum + (costMicros ?? 0), 0),
      max: most.reduce<number | null>((sum, one) => (sum === null || one === null ? null : sum + one), 0),
    },
  };
}

function isFile(against: string, cwd: string): boolean {
  return /\.[mc]?[tj]s(#[^/]*)?$/.test(against) || existsSync(resolve(cwd, against));
}
