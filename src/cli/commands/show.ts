import { type Context, type ServiceFlags, withShowrunner } from "../context.ts";
import { ExitCode } from "../exit-code.ts";
import { expiryLines } from "../report/expiry-lines.ts";
import { overchargeLines } from "../report/overcharge-lines.ts";
import { stepTable } from "../report/step-table.ts";
import { visible } from "../text/escape.ts";
import { commandLine } from "../text/next-line.ts";

/** `showrunner show`: one run with its steps, jobs, costs and files. */
export async function show(
  context: Context,
  runId: string,
  flags: ServiceFlags & { readonly json?: boolean },
): Promise<ExitCode> {
  const { io, output } = context;
  return withShowrunner(flags, async (runner) => {
    const report = await runner.show(runId);
    if (flags.json) {
      output.printJson(report);
      return ExitCode.done;
    }
    const quoted = report.quote === null ? "" : `, quoted $${report.quote}`;
    const budget = report.budget === null ? "" : `, budget $${report.budget}`;
    const held = Number(report.held) > 0 ? `, $${report.held} reserved` : "";
    const unconfirmed =
      Number(report.unconfirmed) > 0 ? `, $${report.unconfirmed} for chats that were never answered` : "";
    output.print(
      `${visible(report.id)}  ${visible(report.pipeline)}  ${report.status}  cost $${report.cost}${held}${unconfirmed}${quoted}${budget}`,
    );
    for (const line of overchargeLines(report)) output.print(line);
    for (const line of expiryLines(report, Date.now())) output.print(line);
    output.print("");
    output.print(stepTable(report, io.stdout.columns));
    if (report.next !== null) output.next(commandLine(report.next));
    return ExitCode.done;
  });
}
