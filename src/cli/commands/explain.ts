import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { Plan, Showrunner, StepExplanation } from "../../internal.ts";
import { CliError, ExitCode } from "../cli-error.ts";
import { type Context, type ServiceFlags, withShowrunner } from "../context.ts";
import { type InputFlags, inputSchema, readInput } from "../input/read-input.ts";
import { loadPipeline } from "../load/pipeline-file.ts";
import { problemList } from "../report/warning-lines.ts";
import { visible } from "../text/escape.ts";

export interface ExplainFlags extends ServiceFlags, InputFlags {
  readonly profile?: string;
}

const verdicts: Readonly<Record<StepExplanation["verdict"], string>> = {
  reused: "reused from an earlier run",
  executed: "executed",
  unknown: "not known yet",
};

/** `showrunner explain`: why a step of a run, or of a pipeline before its run, executes or reuses a result. */
export async function explain(context: Context, of: string, step: string, flags: ExplainFlags): Promise<ExitCode> {
  const { io, output } = context;
  return withShowrunner(flags, async (show) => {
    const isFile = /\.[mc]?[tj]s(#[^/]*)?$/.test(of) || existsSync(resolve(io.cwd, of));
    const found = await show.explain(isFile ? await planned(show, of, context, flags) : of, step);
    if (flags.json) output.printJson(found);
    else {
      output.print(`${visible(step)}: ${verdicts[found.verdict]}`);
      output.print(visible(found.why));
      if (found.from !== null)
        output.print(`From step ${visible(found.from.step)} of run ${visible(found.from.runId)}`);
    }
    return ExitCode.done;
  });
}

async function planned(show: Showrunner, file: string, { io }: Context, flags: ExplainFlags): Promise<Plan> {
  const { pipeline } = await loadPipeline(file, io.cwd);
  const input = await readInput(flags, io, { schema: await inputSchema(pipeline) });
  const executed = await show.plan(pipeline, input, { profile: flags.profile });
  if (executed.ok) return executed.plan;
  throw new CliError("INPUT_INVALID", `${visible(file)} cannot plan this input:\n${problemList(executed.problems)}`, {
    next: `showrunner plan ${visible(file)} …`,
  });
}
