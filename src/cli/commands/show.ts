import { type Context, type ServiceFlags, withShowrunner } from "../context.ts";
import { ExitCode } from "../exit-code.ts";
import { stepTable } from "../report/step-table.ts";
import { visible } from "../text/escape.ts";

/** `showrunner show`: one run with its steps, jobs, costs and files. */
export async function show(
  context: Context,
  runId: string,
  flags: ServiceFlags & { readonly json?: boolean },
): Promise<ExitCode> {
  const { io, talk } = context;
  return withShowrunner(flags, async (runner) => {
    const report = await runner.show(runId);
    if (flags.json) {
      talk.printJson(report);
      return ExitCode.done;
    }
    const quoted = report.quote === null ? "" : `, quoted $${report.quote}`;
    const budget = report.budget === null ? "" : `, budget $${report.budget}`;
    talk.print(
      `${visible(report.id)}  ${visible(report.pipeline)}  ${report.status}  cost $${report.cost}${quoted}${budget}`,
    );
    talk.print("");
    talk.print(stepTable(report, io.stdout.columns));
    return ExitCode.done;
  });
}
