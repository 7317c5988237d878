import type { ReconcileReport } from "../../index.ts";
import { type Context, type ServiceFlags, withShowrunner } from "../context.ts";
import { ExitCode } from "../exit-code.ts";
import { throttle } from "../live/throttle.ts";
import { listText, wireForm } from "../service/present.ts";
import { visible } from "../text/escape.ts";

interface Finding {
  readonly title: string;
  readonly items: readonly object[];
  readonly fields: readonly string[];
  readonly next: string;
}

/** `showrunner reconcile`: where journal, ledger and service differ. Lists; a person decides. */
export async function reconcile(
  context: Context,
  runId: string | undefined,
  flags: ServiceFlags & { readonly json?: boolean },
): Promise<ExitCode> {
  const { io, output } = context;
  return withShowrunner(flags, async (show) => {
    const throttled = throttle();
    output.say("Comparing with the service's job list …");
    const report = await show.reconcile(runId, {
      onProgress: ({ reading, done, total }) => throttled(() => output.say(`  ${reading}: ${done} of ${total}`)),
    });
    const found = findings(report).filter(({ items }) => items.length > 0);
    if (flags.json) output.printJson(wireForm(report));
    for (const { title, items, fields, next } of found) {
      output.say(`${output.paint(["bold", "yellow"], title)} (${items.length})`);
      if (!flags.json) output.print(listText(items, fields, io.stdout.columns));
      output.next(next);
    }
    const runs = report.runs.length === 1 ? `Run ${visible(report.runs[0]!)}` : `${report.runs.length} runs`;
    if (found.length === 0) output.say(`${runs} compared: journal, ledger and service agree.`);
    return found.length === 0 ? ExitCode.done : ExitCode.unfinished;
  });
}

function findings(report: ReconcileReport): readonly Finding[] {
  const own = ["run_id", "step", "job_id"];
  return [
    {
      title: "Jobs that no run knows, created while these ran",
      items: report.orphans,
      fields: ["job_id", "model", "status", "cost", "created_at", "nearby_runs"],
      next: "showrunner jobs get <job-id>   (if a step is unresolved: showrunner adopt <run-id> <step>)",
    },
    {
      title: "Paid outputs without a copy here, still at the service",
      items: report.unclaimed,
      fields: [...own, "index", "asset_id"],
      next: "showrunner resume <run-id>, or for a finished run: showrunner jobs get <job-id>",
    },
    {
      title: "Failed jobs that were not refunded",
      items: report.missingRefunds,
      fields: [...own, "cost"],
      next: "showrunner jobs logs <job-id>, then ask the service's support",
    },
    {
      title: "Jobs that cost another sum at the service",
      items: report.otherCosts,
      fields: [...own, "journal", "service"],
      next: "showrunner jobs get <job-id>",
    },
    {
      title: "Charged above the quote, or above what was allowed",
      items: report.overcharges,
      fields: [...own, "expected", "charged"],
      next: "ask the service's support; later jobs of these models are held at what they really cost",
    },
    {
      title: "Runs whose ledger and events differ",
      items: report.ledgers,
      fields: ["run_id", "events", "ledger"],
      next: "showrunner events <run-id>",
    },
    {
      title: "Jobs that the service does not show",
      items: report.unseen,
      fields: own,
      next: "showrunner doctor   (is it the account that the run was paid from?)",
    },
    {
      title: "Chats that were never answered, and may have been charged this much each",
      items: report.abandonedChats,
      fields: ["run_id", "step", "model", "sent_at", "unconfirmed"],
      next: "look for jobs of that model above; what is listed there was charged",
    },
  ];
}
