import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { QuoteOptions } from "../../core/engine/index.ts";
import { diffPlans, type FieldChange, type PlanDiff } from "../../core/plan/index.ts";
import type { Pipeline, Quote, Showrunner } from "../../index.ts";
import { CliError } from "../cli-error.ts";
import { loadPipeline } from "../load/pipeline-file.ts";
import { visible } from "../text/escape.ts";
import { firstLines } from "../text/table.ts";
import { totalText } from "./price-table.ts";
import { problemList } from "./warning-lines.ts";

export interface PlanComparison {
  readonly against: string;
  readonly diff: PlanDiff;
  readonly stale: readonly { readonly path: string; readonly why: string | null }[];
  readonly totalMicros: Quote["totalMicros"];
  readonly prices: Quote["prices"];
}

export interface Compared {
  readonly pipeline: Pipeline;
  readonly input: unknown;
  readonly quote: Quote;
  readonly options: QuoteOptions;
  readonly cwd: string;
}

export async function compareWith(show: Showrunner, against: string, plan: Compared): Promise<PlanComparison> {
  if (isFile(against, plan.cwd)) return compareFiles(show, against, plan);
  const { diff, stale, totalMicros, prices } = await show.compare(plan.pipeline, plan.input, {
    ...plan.options,
    against,
  });
  return { against, diff, stale: stale.map(({ path, why }) => ({ path, why })), totalMicros, prices };
}

export function comparisonLines({ against, diff, stale, ...price }: PlanComparison): readonly string[] {
  const lines = diffLines(diff);
  if (lines.length === 0 && stale.length === 0) return [`No differences from ${visible(against)}.`];
  const fresh = diff.unchanged.filter((path) => !stale.some((one) => one.path === path));
  const listed = new Set([...diff.changed.map(({ path }) => path), ...diff.added]);
  const others = stale.flatMap(({ path, why }) => (why === null || listed.has(path) ? [] : [why]));
  return [
    `Differences from ${visible(against)}:`,
    ...[...lines, ...firstLines(others, MOST_STEPS, visible)].map((line) => `  ${line}`),
    `${fresh.length} unchanged; ${stale.length} to run, for ${totalText(price)}`,
  ];
}

async function compareFiles(show: Showrunner, file: string, { quote, ...plan }: Compared): Promise<PlanComparison> {
  const { pipeline } = await loadPipeline(file, plan.cwd);
  const before = await show.plan(pipeline, plan.input);
  if (!before.ok) {
    const message = `${visible(file)} cannot be planned with this input:\n${problemList(before.problems)}`;
    const next = "compare with a pipeline file that takes the same input, or with a run";
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

const GAP = "…";

export function changeWindow(before: string, after: string, width: number): readonly [string, string] {
  const [a, b] = [[...before], [...after]];
  let same = 0;
  while (same < Math.min(a.length, b.length) && a[same] === b[same]) same += 1;
  // A third of the width shows the text before the difference.
  const from = Math.max(a.length, b.length) <= width ? 0 : Math.max(0, same - Math.floor(width / 3));
  return [cut(a, from, width), cut(b, from, width)];
}

function cut(text: readonly string[], from: number, width: number): string {
  const start = Math.max(0, Math.min(from, text.length - width + GAP.length));
  const head = start > 0 ? GAP : "";
  const space = width - head.length;
  const rest = text.slice(start);
  return rest.length <= space ? head + rest.join("") : `${head}${rest.slice(0, space - GAP.length).join("")}${GAP}`;
}

const MOST_STEPS = 20;
const MOST_FIELDS = 6;
const LONGEST = 60;

/** Lists the differences between two plans: `+` is new, `-` removed, `~` changed and `>` renamed. */
export function diffLines(diff: PlanDiff): readonly string[] {
  const changed = diff.changed.flatMap(({ path, fields }) => [
    `~ ${visible(path)}`,
    ...fieldLines(fields).map((line) => `    ${line}`),
  ]);
  return [
    ...firstLines(diff.added, MOST_STEPS, (path) => `+ ${visible(path)}`),
    ...firstLines(diff.removed, MOST_STEPS, (path) => `- ${visible(path)}`),
    ...firstLines(diff.renamed, MOST_STEPS, ({ from, to }) => `> ${visible(from)} is now ${visible(to)}`),
    ...changed.slice(0, MOST_STEPS * 4),
    ...(changed.length > MOST_STEPS * 4 ? [`… ${diff.changed.length} changed steps in total`] : []),
  ];
}

export function fieldLines(fields: readonly FieldChange[]): readonly string[] {
  const change = ({ field, before, after }: FieldChange) =>
    `${visible(field)}: ${changeWindow(value(before), value(after), LONGEST).join(" → ")}`;
  return firstLines(fields, MOST_FIELDS, change, "more fields");
}

function value(json: unknown): string {
  return json === undefined ? "nothing" : visible(JSON.stringify(json));
}
