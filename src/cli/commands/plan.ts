import { likelyAddress } from "../../core/kit/deployments.ts";
import { toDocument } from "../../core/kit/document.ts";
import { writeDurably } from "../../core/kit/files.ts";
import { dollars, openSteps } from "../../core/kit/money.ts";
import { type DiagramOptions, planMermaid, traitsOf } from "../../core/plan/index.ts";
import type { Plan, Problem, Quote, Showrunner } from "../../index.ts";
import { ExitCode, usageError } from "../cli-error.ts";
import { type Context, sayWhere, withShowrunner } from "../context.ts";
import { writtenFile } from "../input/named-file.ts";
import { inputSchema, readInput } from "../input/read-input.ts";
import { checkTableFlags, quoteOptions, withProfileService } from "../input/run-options.ts";
import { loadPipeline } from "../load/pipeline-file.ts";
import type { Flags } from "../program/flags.ts";
import { compareWith, comparisonLines, type PlanComparison } from "../report/comparison.ts";
import { forecastLines, offerLines, priceTable } from "../report/price-table.ts";
import { problemList } from "../report/warning-lines.ts";
import { visible, visibleError } from "../text/escape.ts";
import { runInstead } from "../text/next-line.ts";
import { counted } from "../text/table.ts";

function diagramOptions(quote: Quote): DiagramOptions {
  const prices = new Map(quote.prices.map((price) => [price.step, price]));
  return {
    highlighted: quote.criticalPath,
    note: (step) => {
      const price = prices.get(step.path);
      const what = traitsOf(step).note;
      return price === undefined ? what : `${what}, ${amount(price)}`;
    },
  };
}

function amount({ basis, costMicros, maxCostMicros }: Quote["prices"][number]): string {
  if (basis === "free") return "free";
  if (costMicros !== null) return dollars(costMicros);
  return maxCostMicros === null ? "no price yet" : `at most ${dollars(maxCostMicros, Math.ceil)}`;
}

export async function plan(context: Context, spec: string, given: Flags["plan"]): Promise<ExitCode> {
  const { io } = context;
  checkTableFlags(given);
  if (given.json && given.mermaid) {
    const next = "omit one of them; --svg FILE works with either";
    throw usageError("--json and --mermaid both write to stdout", next);
  }
  const loaded = await loadPipeline(spec, io.cwd);
  const flags = withProfileService(given, loaded.pipeline);
  if (flags.each !== undefined) {
    if (flags.mermaid || flags.svg !== undefined || flags.against !== undefined) {
      const next = "omit --each, or omit --mermaid, --svg and --against";
      throw usageError("--each prices many plans, but --mermaid, --svg and --against need a single plan", next);
    }
    return (await import("./run-each.ts")).planRows(context, loaded, flags);
  }
  const input = await readInput(flags, io, await inputSchema(loaded.pipeline));
  const planned = async (show: Showrunner) => {
    sayWhere(show, context);
    const options = quoteOptions(flags);
    const quote = await show.quote(loaded.pipeline, input, options);
    if (!quote.ok || quote.plan === null) return reportProblems(quote.problems, context, flags.baseUrl);
    const compared = { pipeline: loaded.pipeline, input, quote, options, cwd: io.cwd };
    const against = flags.against === undefined ? null : await compareWith(show, flags.against, compared);
    await sayPlan(quote, quote.plan, against, context, flags);
    const { missingKey } = show.service;
    if (missingKey !== null) context.output.say(`No prices: ${visible(missingKey.message)}`);
    context.output.next(missingKey?.next ?? runInstead(context, ...(quote.id === null ? [] : ["--quote", quote.id])));
    return ExitCode.done;
  };
  return withShowrunner(flags, planned, { keyOptional: true });
}

async function sayPlan(
  quote: Quote,
  drawn: Plan,
  against: PlanComparison | null,
  context: Context,
  flags: Flags["plan"],
): Promise<void> {
  const { io, output } = context;
  const drawing = diagramOptions(quote);
  if (flags.svg !== undefined) await writeSvg(drawn, drawing, flags.svg, context);
  output.printJson(quoteDocument(quote, drawn, against));
  if (flags.mermaid) return output.print(planMermaid(drawn, drawing).trimEnd());
  output.print([priceTable(quote, io.stdout.columns), ...forecastLines(quote), ...offerLines(quote)].join("\n"));
  if (against !== null) output.print(["", ...comparisonLines(against)].join("\n"));
}

/**
 * Formats a quote with the field names of a handler's `QuoteDocument`, and adds details that only the operator may see.
 */
function quoteDocument(quote: Quote, { pipeline, steps }: Plan, against: PlanComparison | null): unknown {
  const { plan: _, totalMicros, expectedMicros, ...rest } = quote;
  const total = { ...totalMicros, expected: expectedMicros };
  const open = { openSteps: openSteps(quote.prices), stepCount: steps.length };
  return toDocument({ ...rest, totalMicros: total, ...open, pipeline, steps, ...(against !== null && { against }) });
}

async function writeSvg(drawn: Plan, drawing: DiagramOptions, file: string, { io, output }: Context): Promise<void> {
  const { planSvg } = await import("../../studio/dashboard/index.ts");
  const path = await writtenFile(io.cwd, { flag: "--svg", path: file, kind: "svg" });
  try {
    await writeDurably(path, planSvg(drawn, drawing));
  } catch (cause) {
    throw usageError(
      `The SVG file could not be written: ${visibleError(cause)}`,
      "use a file in an existing folder: --svg plan.svg",
      cause,
    );
  }
  output.say(`Wrote ${visible(path)}`);
}

export function reportProblems(
  problems: readonly Problem[],
  { args, output, io }: Context,
  given: string | undefined,
): ExitCode {
  const count = counted(problems.length, "problem");
  const baseUrl = given ?? io.env.SHOWRUNNER_BASE_URL;
  const likely = baseUrl ? likelyAddress(baseUrl) : null;
  const check = args[0] === "plan" ? "" : "; `showrunner plan` checks without spending";
  const isNoModel = problems.every(({ code }) => code === "unknown-model");
  const next =
    isNoModel && likely !== null
      ? `check whether the base URL should be ${visible(likely)}`
      : `correct ${problems.length === 1 ? "it" : "them"} and try again${check}`;
  const message = "in the plan; nothing was submitted";
  const refusal = { ok: false, code: "PLAN_PROBLEMS", message: `${count} ${message}`, next };
  output.refuse({ ...refusal, problems: toDocument(problems) });
  output.say(`${output.paint(["bold", "red"], count)} ${message}:`);
  output.say(problemList(problems));
  output.next(next);
  return ExitCode.refused;
}
