import type { ReconcileReport, UnresolvedStep } from "../../core/engine/index.ts";
import { type DocumentName, toDocument } from "../../core/kit/document.ts";
import { dollars } from "../../core/kit/money.ts";
import type { Showrunner } from "../../index.ts";
import { ExitCode } from "../cli-error.ts";
import { type Context, withShowrunner } from "../context.ts";
import { type CommandOutput, isAgreed, isYes } from "../io.ts";
import { whileWorking } from "../live/watch.ts";
import type { ServiceFlags } from "../program/flags.ts";
import { visible } from "../text/escape.ts";
import { type Column, counted, shorten, table } from "../text/table.ts";
import { listText } from "./service.ts";

export async function reconcile(context: Context, runId: string | undefined, flags: ServiceFlags): Promise<ExitCode> {
  const { io, output } = context;
  return withShowrunner(flags, async (show) => {
    const comparing = "comparing with the service's job list";
    const report = await whileWorking(context, comparing, (progress) =>
      show.reconcile(runId, {
        onProgress: ({ reading, done, total }) => progress(`${comparing}: ${reading}, ${done} of ${total}`),
      }),
    );
    const found = findings(report, io.stdout.columns).filter(({ items }) => items.length > 0);
    output.printJson(toDocument(report));
    for (const { title, items, text, next } of found) {
      output.say(`${output.paint(["bold", "yellow"], title)} (${items.length})`);
      output.print(text());
      output.next(next);
    }
    const runs = report.runs.length === 1 ? `Run ${visible(report.runs[0]!)}` : `${report.runs.length} runs`;
    if (found.length === 0) output.say(`${runs} compared: journal, ledger and service agree.`);
    return found.length === 0 ? ExitCode.done : ExitCode.unfinished;
  });
}

interface Finding {
  readonly title: string;
  readonly items: readonly object[];
  readonly next: string;
  text(): string;
}

function findings(report: ReconcileReport, width?: number): readonly Finding[] {
  const listed = <Row extends object>(items: readonly Row[], fields: readonly DocumentName<keyof Row & string>[]) => {
    return { items, text: () => listText(items, fields, width) };
  };
  const own = ["run", "step", "job_id"] as const;
  return [
    {
      title:
        "Jobs that use the same models and were created within ten minutes of these runs, but were not started by any run in this journal",
      ...listed(report.orphans, ["job_id", "model", "status", "cost", "created_at", "nearby_runs"]),
      next: "showrunner jobs get <job-id>   (shows the job, which may belong to a run in another journal; if it belongs to an unresolved step, run: showrunner adopt <run-id> <step>)",
    },
    {
      title: "Paid outputs that have not been downloaded yet but are still available on the service",
      ...listed(report.unclaimed, [...own, "index", "asset_id"]),
      next: "showrunner resume <run-id>, or for a finished run: showrunner jobs get <job-id>",
    },
    {
      title: "Failed jobs that were not refunded",
      ...listed(report.missingRefunds, [...own, "cost"]),
      next: "showrunner api /jobs/<job-id>/logs   (shows what happened; send this to the service's support team)",
    },
    {
      title: "Jobs whose costs on the service and in the journal differ",
      ...listed(report.otherCosts, [...own, "journal", "service"]),
      next: "showrunner jobs get <job-id>",
    },
    {
      title: "Jobs charged above the quote or the allowed maximum",
      ...listed(report.overcharges, [...own, "expected", "charged"]),
      next: "contact the service's support team; Showrunner now reserves the charged amount for each later job that uses one of these models",
    },
    {
      title: "Runs whose ledger and events differ",
      ...listed(report.ledgers, ["run", "events", "ledger"]),
      next: "showrunner events <run-id>",
    },
    {
      title: "Jobs that the service does not list",
      ...listed(report.unseen, own),
      next: "showrunner doctor   (check that this is the account that paid for the run)",
    },
    {
      title: "Unanswered chats (each may have cost up to the unconfirmed amount)",
      ...listed(report.abandonedChats, ["run", "step", "model", "sent_at", "unconfirmed"]),
      next: "look in the lists above for jobs with the same model; any job you find there was charged",
    },
  ];
}

const PROMPT_LENGTH = 120;
const MOST_LISTED = 20;

function questionLine(one: UnresolvedStep, output: CommandOutput): string {
  const { step, model, prompt, holdMicros, sentFrom, sentTo, decided, provider } = one;
  const requested = prompt === null ? "" : ` for ${shorten(visible(JSON.stringify(prompt)), PROMPT_LENGTH)}`;
  const when =
    provider === null ? `sent between ${sentFrom} and ${sentTo} by the service's clock` : `sent at ${sentFrom}`;
  const what = decided?.isFile === true ? "a file made by the provider" : visible(decided?.jobId ?? "none");
  const said = decided === null ? "" : ` Already decided: ${what}.`;
  return `${output.paint(["bold", "yellow"], visible(step))}: requested ${visible(model)}${requested}, ${dollars(holdMicros)} reserved, ${when}.${said}`;
}

type Candidate = UnresolvedStep["candidates"][number];

function candidateText({ candidates, certain }: UnresolvedStep, width?: number): string {
  const shown = candidates.slice(0, MOST_LISTED);
  const columns: readonly Column<Candidate>[] = [
    { title: "", value: (one) => `${shown.indexOf(one) + 1}${one.jobId === certain ? "*" : ""}` },
    { title: "job", value: ({ jobId }) => visible(jobId) },
    { title: "match", value: ({ match }) => match },
    { title: "prompt", value: ({ prompt }) => shorten(visible(prompt ?? "–"), PROMPT_LENGTH), flexible: true },
    { title: "status", value: ({ status }) => visible(String(status)) },
    { title: "cost", value: ({ costMicros }) => (costMicros === null ? "–" : dollars(costMicros)), align: "money" },
    { title: "created", value: ({ createdAt }) => visible(createdAt ?? "–"), flexible: true },
  ];
  const text = table(shown, columns, width);
  const more = candidates.length - shown.length;
  return more === 0 ? text : `${text}\nand ${more} more: --json lists them all`;
}

function emptyLines({ holdMicros, provider }: UnresolvedStep): readonly string[] {
  if (provider !== null) {
    return [
      `Showrunner cannot see what ${visible(provider)} generated: check your account there. The provider may have charged up to ${dollars(holdMicros, Math.ceil)}.`,
    ];
  }
  return [
    "The service lists no unclaimed job for this model from around that time.",
    `This does not prove that no job exists: jobs created with another key may be hidden. If you answer "none", you may lose a job that cost ${dollars(holdMicros)}.`,
  ];
}

function sayOpen(one: UnresolvedStep, { io, output }: Context): void {
  output.say(questionLine(one, output));
  if (one.candidates.length === 0) for (const line of emptyLines(one)) output.say(line);
  else output.print(candidateText(one, io.stdout.columns));
}

export async function adopt(
  context: Context,
  runId: string,
  step: string | undefined,
  jobId: string | undefined,
  flags: ServiceFlags,
): Promise<ExitCode> {
  const { io, output } = context;
  return withShowrunner(flags, async (show) => {
    if (step !== undefined && jobId !== undefined) return decide(show, context, runId, step, jobId);
    if (step !== undefined) return listOne(show, context, runId, step);
    const open = await show.unresolved(runId);
    if (open.length > 0 && !output.isJson && io.ask !== null) return walk(show, context, runId, open);
    output.printJson(toDocument(open));
    if (open.length > 0) return listAll(context, runId, open);
    output.say(`Run ${visible(runId)} has no unresolved steps.`);
    output.next(`showrunner show ${visible(runId)}`);
    return ExitCode.done;
  });
}

async function listOne(show: Showrunner, context: Context, runId: string, step: string): Promise<ExitCode> {
  const { output } = context;
  const one = (await show.unresolved(runId)).find((open) => open.step === step);
  // If the step is not unresolved, the engine throws with the reason.
  const candidates = one?.candidates ?? (await show.candidates(runId, step));
  output.printJson(toDocument(candidates));
  if (one === undefined) return ExitCode.unfinished;
  sayOpen(one, context);
  const command = `showrunner adopt ${visible(runId)} ${visible(step)}`;
  if (one.provider !== null) {
    output.next(
      `${command} <file>   (the file that the provider generated)`,
      `${command} none   (the step fails and its reservation is released)`,
    );
  } else if (candidates.length === 0) {
    output.next(`showrunner reconcile ${visible(runId)}   (searches all jobs created during the run)`);
    output.say(`To give up on the job anyway: ${command} none   (the step fails and its reservation is released)`);
  } else {
    const best = one.certain ?? (candidates.length === 1 ? candidates[0]!.jobId : "<job-id>");
    output.next(
      `${command} ${visible(best)}   (or "none" if no job matches)`,
      "showrunner jobs get <job-id>   (shows one of the jobs)",
    );
  }
  return ExitCode.unfinished;
}

function listAll(context: Context, runId: string, open: readonly UnresolvedStep[]): ExitCode {
  const { output } = context;
  for (const one of open) sayOpen(one, context);
  const [undecided] = open.filter(({ decided }) => decided === null);
  output.next(
    undecided === undefined
      ? `showrunner resume ${visible(runId)}`
      : `showrunner adopt ${visible(runId)} ${visible(undecided.step)} ${undecided.provider === null ? (undecided.certain ?? "<job-id>") : "<file|none>"}`,
  );
  return ExitCode.unfinished;
}

async function walk(
  show: Showrunner,
  context: Context,
  runId: string,
  open: readonly UnresolvedStep[],
): Promise<ExitCode> {
  const { output } = context;
  let left = 0;
  for (const one of open.filter(({ decided }) => decided === null)) {
    output.say("");
    sayOpen(one, context);
    const jobId = await answered(context, one);
    if (jobId === undefined) left++;
    else await show.adopt(runId, one.step, jobId);
  }
  output.say(left === 0 ? "Every step is resolved." : `${counted(left, "step")} left unresolved.`);
  output.next(`showrunner ${left === 0 ? "resume" : "adopt"} ${visible(runId)}`);
  return left === 0 ? ExitCode.done : ExitCode.unfinished;
}

/**
 * Asks the user which job a step created. Returns the job's id, null if there is no job, or undefined to skip the step.
 */
async function answered({ io, output }: Context, one: UnresolvedStep): Promise<string | null | undefined> {
  const best = one.candidates.findIndex(({ jobId }) => jobId === one.certain) + 1;
  const offer = one.candidates.length === 0 ? "none, or" : `number, none,${best === 0 ? "" : ` y for ${best},`} or`;
  for (;;) {
    const question =
      one.provider === null
        ? `Which job did ${visible(one.step)} create? [${offer} Enter to skip] `
        : `Which file did ${visible(one.provider)} generate for ${visible(one.step)}? [file path, none, or Enter to skip] `;
    const said = (await io.ask!(question)).trim();
    if (said === "") return undefined;
    if (one.provider !== null && said !== "none") return said;
    if (best > 0 && isYes(said)) return one.certain;
    const chosen = /^\d{1,6}$/.test(said) ? one.candidates[Number(said) - 1] : undefined;
    if (chosen !== undefined) return chosen.jobId;
    if (said !== "none") output.say('Type the number of a job or "none", or press Enter to skip.');
    else if (await isAgreed(io, LOSS)) return null;
  }
}

const LOSS = "The step will fail. If it did create a job, that job is paid for and lost. Continue?";

async function decide(
  show: Showrunner,
  { output }: Context,
  runId: string,
  step: string,
  jobId: string,
): Promise<ExitCode> {
  const adopted = jobId === "none" ? null : jobId;
  await show.adopt(runId, step, adopted);
  output.printJson({ id: runId, step, job_id: adopted });
  const what = adopted === null ? "no job" : visible(adopted);
  output.say(`Recorded for ${visible(step)}: ${what}. This takes effect when the run is resumed.`);
  output.next(`showrunner resume ${visible(runId)}`);
  return ExitCode.done;
}
