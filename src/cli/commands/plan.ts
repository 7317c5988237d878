import type { Problem } from "../../index.ts";
import { type Context, type ServiceFlags, sayWhere, withShowrunner } from "../context.ts";
import { ExitCode } from "../exit-code.ts";
import { checkAmount } from "../input/amount.ts";
import { readInput } from "../input/read-input.ts";
import { loadPipeline } from "../load/pipeline-file.ts";
import { priceTable } from "../report/price-table.ts";
import { problemList } from "../report/problem-list.ts";
import { visible } from "../text/escape.ts";

export interface PlanFlags extends ServiceFlags {
  readonly input?: string;
  readonly i?: readonly string[];
  readonly maxUnquoted?: string;
  readonly json?: boolean;
}

/** `showrunner plan`: checks and prices; sends nothing that costs. */
export async function plan(context: Context, spec: string, flags: PlanFlags): Promise<ExitCode> {
  const { io, talk } = context;
  checkAmount("--max-unquoted", flags.maxUnquoted);
  const loaded = await loadPipeline(spec, io.cwd);
  const input = await readInput({ input: flags.input, assignments: flags.i }, io.cwd);
  return withShowrunner(flags, async (show) => {
    sayWhere(show, context);
    const quote = await show.quote(loaded.pipeline, input, {
      ...(flags.maxUnquoted !== undefined && { maxUnquoted: flags.maxUnquoted }),
    });
    if (!quote.ok) return reportProblems(quote.problems, context, flags);
    if (flags.json) talk.printJson(quote);
    else talk.print(priceTable(quote, io.stdout.columns));
    talk.say(`Next: showrunner run ${visible(spec)} …   (with the same input)`);
    return ExitCode.done;
  });
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
