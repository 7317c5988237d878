import { toDocument } from "../../core/kit/document.ts";
import { formatDuration } from "../../core/kit/duration.ts";
import { formatBytes } from "../../core/kit/value-text.ts";
import { ExitCode } from "../cli-error.ts";
import { type Context, withJournal } from "../context.ts";
import { readDuration } from "../input/flag-values.ts";
import type { Flags } from "../program/flags.ts";
import { visible } from "../text/escape.ts";
import { repeatedCommand } from "../text/next-line.ts";
import { counted } from "../text/table.ts";

export async function gc(context: Context, flags: Flags["gc"]): Promise<ExitCode> {
  const { output } = context;
  const olderThanMs = readDuration("--older-than", flags.olderThan ?? "30d", "30d or 12h");
  return withJournal(flags, async (show) => {
    const report = await show.gc({ olderThanMs, dryRun: flags.dryRun === true });
    if (flags.json) output.printJson(toDocument(report));
    else for (const runId of report.runs) output.print(visible(runId));
    for (const { runId, reason } of report.skipped) {
      const [why, next] =
        reason === "holds"
          ? ["money is still reserved for it", `showrunner reconcile ${visible(runId)}`]
          : ["another process is driving it", `showrunner events ${visible(runId)} --follow`];
      output.say(`Kept ${visible(runId)}: ${why}`);
      output.next(next);
    }
    const { runs, media, reusable } = report;
    output.say(
      `${flags.dryRun ? "Would remove" : "Removed"} ${counted(runs.length, "run")} and ${counted(media.count, "media file")}, ${formatBytes(media.sizeBytes)}${lapsed(report.handles)}.`,
    );
    if (media.count > 0 && media.deletedAfterMs > 0)
      output.say(
        `The media are only marked for deletion in the bucket; run gc again after ${formatDuration(media.deletedAfterMs)} to delete them.`,
      );
    if (report.leftovers > 0)
      output.say(
        `${flags.dryRun ? "Would remove" : "Removed"} ${counted(report.leftovers, "temporary file")} from killed processes.`,
      );
    if (reusable > 0)
      output.say(
        `${flags.dryRun ? "Would also remove" : "Also removed"} ${counted(reusable, "result")} that only these runs offer for --reuse.`,
      );
    if (flags.dryRun && runs.length + media.count + report.leftovers > 0)
      output.next(withoutWord(context, "--dry-run"));
    return ExitCode.done;
  });
}

function withoutWord({ args }: Context, word: string): string {
  return repeatedCommand({ args: args.filter((one) => one !== word) });
}

function lapsed(handles: number): string {
  return handles === 0 ? "" : `, and ${counted(handles, "expired upload handle")}`;
}
