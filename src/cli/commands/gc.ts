import { toDocument } from "../../core/kit/document.ts";
import { formatDuration } from "../../core/kit/duration.ts";
import { dollars } from "../../core/kit/money.ts";
import { formatBytes } from "../../core/kit/value-text.ts";
import { type Context, sayWhere, withJournal, withShowrunner } from "../context.ts";
import type { Flags, ServiceFlags } from "../program/flags.ts";
import { visible } from "../text/escape.ts";
import { repeatedCommand } from "../text/next-line.ts";
import { counted } from "../text/table.ts";

export async function balance(context: Context, flags: ServiceFlags): Promise<void> {
  const { output } = context;
  return withShowrunner(flags, async (show) => {
    sayWhere(show, context);
    const [{ balanceMicros, currency }, journal] = await Promise.all([show.balance(), show.spending()]);
    output.result(toDocument({ balanceMicros, currency, journal }), `${dollars(balanceMicros)} ${currency}`);
    if (output.isJson) return;
    const { spentMicros, heldMicros, capMicros, floorMicros } = journal;
    const cap = capMicros === null ? "" : ` (cap: ${dollars(capMicros)})`;
    const floor = floorMicros === null ? "" : `; ${dollars(floorMicros)} must stay in the wallet`;
    output.say(`Runs in this journal: ${dollars(spentMicros)} spent, ${dollars(heldMicros)} reserved${cap}${floor}`);
    for (const one of journal.caps) {
      const whose = one.tag === null ? "All runs" : `Runs with ${visible(one.tag)}`;
      const until = one.endsAt === null ? "" : ` until ${new Date(one.endsAt).toISOString()}`;
      const so = `${dollars(one.spentMicros)} spent, ${dollars(one.heldMicros)} reserved (cap: ${dollars(one.capMicros)})`;
      output.say(`${whose}${until}: ${so}`);
    }
    for (const { tag, capMicros, per } of journal.capsPerValue) {
      output.say(
        `Runs with ${visible(tag)}: cap of ${dollars(capMicros)}${per === null ? "" : " a day"} for each value of the tag`,
      );
    }
  });
}

export async function gc(context: Context, flags: Flags["gc"]): Promise<void> {
  const { output } = context;
  return withJournal(flags, async (show) => {
    const report = await show.gc({ olderThanMs: flags.olderThan, dryRun: flags.dryRun === true });
    output.printJson(toDocument(report));
    for (const runId of report.runs) output.print(visible(runId));
    for (const { runId, reason } of report.skipped) {
      const [why, next] =
        reason === "holds"
          ? ["money is still reserved for it", `showrunner reconcile ${visible(runId)}`]
          : ["another process is driving it", `showrunner events ${visible(runId)} --follow`];
      output.say(`Kept ${visible(runId)}: ${why}`);
      output.next(next);
    }
    const { runs, media, reusable, handles } = report;
    const removed = flags.dryRun ? "Would remove" : "Removed";
    const lapsed = handles === 0 ? "" : `, and ${counted(handles, "expired upload handle")}`;
    output.say(
      `${removed} ${counted(runs.length, "run")} and ${counted(media.count, "media file")}, ${formatBytes(media.sizeBytes)}${lapsed}.`,
    );
    if (media.count > 0 && media.deletedAfterMs > 0)
      output.say(
        `So far, the media is only marked for deletion in the bucket; run gc again after ${formatDuration(media.deletedAfterMs)} to delete it.`,
      );
    if (report.leftovers > 0)
      output.say(`${removed} ${counted(report.leftovers, "temporary file")} left by killed processes.`);
    if (reusable > 0)
      output.say(
        `${flags.dryRun ? "Would also remove" : "Also removed"} ${counted(reusable, "result")} that only these runs had and that --reuse could have used.`,
      );
    if (flags.dryRun && runs.length + media.count + report.leftovers > 0)
      output.next(repeatedCommand({ args: context.args.filter((one) => one !== "--dry-run") }));
  });
}
