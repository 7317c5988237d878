import type { ReconcileReport } from "../../core/engine/index.ts";
import { toDocument } from "../../core/kit/document.ts";
import { ExitCode } from "../cli-error.ts";
import { type Context, withShowrunner } from "../context.ts";
import { throttle } from "../live/redraw.ts";
import type { ServiceFlags } from "../program/flags.ts";
import { type Columns, columns, listText } from "../service/present.ts";
import { visible } from "../text/escape.ts";

interface Finding extends Columns {
  readonly title: string;
  readonly next: string;
}

export async function reconcile(context: Context, runId: string | undefined, flags: ServiceFlags): Promise<ExitCode> {
  const { io, output } = context;
  return withShowrunner(flags, async (show) => {
    const throttled = throttle();
    output.say("Comparing with the service's job list …");
    const report = await show.reconcile(runId, {
      onProgress: ({ reading, done, total }) => throttled(() => output.say(`  ${reading}: ${done} of ${total}`)),
    });
    const found = findings(report).filter(({ items }) => items.length > 0);
    if (flags.json) output.printJson(toDocument(report));
    for (const finding of found) {
      const { title, items, next } = finding;
      output.say(`${output.paint(["bold", "yellow"], title)} (${items.length})`);
      if (!flags.json) output.print(listText(finding, io.stdout.columns));
      output.next(next);
    }
    const runs = report.runs.length === 1 ? `Run ${visible(report.runs[0]!)}` : `${report.runs.length} runs`;
    if (found.length === 0) output.say(`${runs} compared: journal, ledger and service agree.`);
    return found.length === 0 ? ExitCode.done : ExitCode.unfinished;
  });
}

function findings(report: ReconcileReport): readonly Finding[] {
  const own = ["run", "step", "job_id"] as const;
  return [
    {
      title:
        "Jobs that no run in this journal started, although they use the same models and were created within ten minutes of these runs",
      ...columns(report.orphans, ["job_id", "model", "status", "cost", "created_at", "nearby_runs"]),
      next: "showrunner jobs get <job-id>   (another journal may have started it; if a step is unresolved: showrunner adopt <run-id> <step>)",
    },
    {
      title: "Paid outputs that have not been downloaded yet but are still available on the service",
      ...columns(report.unclaimed, [...own, "index", "asset_id"]),
      next: "showrunner resume <run-id>, or for a finished run: showrunner jobs get <job-id>",
    },
    {
      title: "Failed jobs that were not refunded",
      ...columns(report.missingRefunds, [...own, "cost"]),
      next: "showrunner api /jobs/<job-id>/logs   (shows what happened; then contact the service's support team)",
    },
    {
      title: "Jobs whose cost on the service differs from the journal",
      ...columns(report.otherCosts, [...own, "journal", "service"]),
      next: "showrunner jobs get <job-id>",
    },
    {
      title: "Jobs charged above the quote or the allowed maximum",
      ...columns(report.overcharges, [...own, "expected", "charged"]),
      next: "contact the service's support team; from now on, the actual cost is reserved for jobs of these models",
    },
    {
      title: "Runs whose ledger and events differ",
      ...columns(report.ledgers, ["run", "events", "ledger"]),
      next: "showrunner events <run-id>",
    },
    {
      title: "Jobs that the service does not list",
      ...columns(report.unseen, own),
      next: "showrunner doctor   (check that this is the account that paid for the run)",
    },
    {
      title: "Unanswered chats, each of which may have been charged up to this amount",
      ...columns(report.abandonedChats, ["run", "step", "model", "sent_at", "unconfirmed"]),
      next: "check the jobs of the same model in the lists above: each of them was charged",
    },
  ];
}
