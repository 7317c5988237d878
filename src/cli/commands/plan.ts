import { writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { DiagramOptions, Plan, Problem, Quote, Showrunner } from "../../index.ts";
import { CliError } from "../cli-error.ts";
import { type Context, type ServiceFlags, sayWhere, withShowrunner } from "../context.ts";
import { ExitCode } from "../exit-code.ts";
import { checkAmount } from "../input/amount.ts";
import { parseConcurrency } from "../input/concurrency.ts";
import { quoteOptions } from "../input/quote-options.ts";
import { parseRateLimit } from "../input/rate-limit.ts";
import { readInput } from "../input/read-input.ts";
import { loadPipeline } from "../load/pipeline-file.ts";
import { type Comparison, compareWith, comparisonLines } from "../report/comparison.ts";
import { diagramOptions } from "../report/diagram.ts";
import { forecastOf } from "../report/forecast.ts";
import { forecastLines, type PlanForecast } from "../report/forecast-lines.ts";
import { priceTable } from "../report/price-table.ts";
import { problemList } from "../report/problem-list.ts";
import { visible } from "../text/escape.ts";

export interface PlanFlags extends ServiceFlags {
  readonly input?: string;
  readonly i?: readonly string[];
  readonly maxUnquoted?: string;
  readonly profile?: string;
  readonly reuse?: boolean;
  readonly concurrency?: string;
  /** The key's limit, requests/seconds. */
  readonly rateLimit?: string;
  /** A run, or another pipeline file, to compare with. */
  readonly against?: string;
  readonly json?: boolean;
  readonly mermaid?: boolean;
  /** File to draw the plan into. */
  readonly svg?: string;
}

/** What is said of a plan beside its prices. */
interface Findings {
  readonly forecast: PlanForecast;
  readonly against: Comparison | null;
}

/** `showrunner plan`: checks, prices and foretells; sends nothing that costs. */
export async function plan(context: Context, spec: string, flags: PlanFlags): Promise<ExitCode> {
  const { io } = context;
  checkAmount("--max-unquoted", flags.maxUnquoted);
  if (flags.json && flags.mermaid) {
    const next = "ask for one of them; --svg FILE goes with either";
    throw new CliError("USAGE", "--json and --mermaid both want stdout", { next });
  }
  const limits = {
    concurrency: flags.concurrency === undefined ? null : parseConcurrency(flags.concurrency),
    rateLimit: flags.rateLimit === undefined ? null : parseRateLimit(flags.rateLimit),
  };
  const loaded = await loadPipeline(spec, io.cwd);
  const input = await readInput({ input: flags.input, assignments: flags.i }, io.cwd);
  return withShowrunner(flags, async (show) => {
    sayWhere(show, context);
    const quote = await show.quote(loaded.pipeline, input, quoteOptions(flags));
    if (!quote.ok || quote.plan === null) return reportProblems(quote.problems, context, flags);
    const against =
      flags.against === undefined ? null : await compareWith(show, flags.against, quote, { cwd: io.cwd, input });
    const forecast = await forecastOf(show, quote.plan, limits);
    return sayPlan({ show, quote, plan: quote.plan, spec }, { forecast, against }, context, flags);
  });
}

interface Priced {
  readonly show: Showrunner;
  readonly quote: Quote;
  readonly plan: Plan;
  readonly spec: string;
}

async function sayPlan(
  { quote, plan: drawn, spec }: Priced,
  { forecast, against }: Findings,
  context: Context,
  flags: PlanFlags,
): Promise<ExitCode> {
  const { io, talk } = context;
  const drawing = diagramOptions(quote);
  if (flags.svg !== undefined) await writeSvg(drawn, drawing, flags.svg, context);
  if (flags.json) talk.printJson({ ...quote, forecast, ...(against !== null && { against }) });
  else if (flags.mermaid) talk.print(await mermaid(drawn, drawing));
  else {
    talk.print([priceTable(quote, io.stdout.columns), ...forecastLines(forecast)].join("\n"));
    if (against !== null) talk.print(["", ...comparisonLines(against)].join("\n"));
  }
  talk.say(`Next: showrunner run ${visible(spec)} …   (with the same input)`);
  return ExitCode.done;
}

async function mermaid(drawn: Plan, drawing: DiagramOptions): Promise<string> {
  const { planMermaid } = await import("../../index.ts");
  return planMermaid(drawn, drawing).trimEnd();
}

async function writeSvg(drawn: Plan, drawing: DiagramOptions, file: string, { io, talk }: Context): Promise<void> {
  const { planSvg } = await import("../../index.ts");
  const path = resolve(io.cwd, file);
  try {
    await writeFile(path, planSvg(drawn, drawing));
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new CliError("USAGE", `The picture could not be written: ${visible(why)}`, {
      next: "name a file in a folder that exists: --svg plan.svg",
      cause,
    });
  }
  talk.say(`Drawn into ${visible(path)}`);
}

/** Lists all problems of a plan at once: on stderr for a person, on stdout with `--json`. */
export function reportProblems(
  problems: readonly Problem[],
  { talk }: Context,
  flags: { readonly json?: boolean },
): ExitCode {
  if (flags.json) talk.printJson({ ok: false, problems });
  const count = problems.length === 1 ? "1 problem" : `${problems.length} problems`;
  talk.say(`${talk.paint(["bold", "red"], count)} in the plan; nothing was submitted:`);
  talk.say(problemList(problems));
  talk.say("Next: correct them and try again; `showrunner plan` checks without spending");
  return ExitCode.refused;
}
