import type { UnresolvedStep } from "../../core/engine/index.ts";
import { toDocument } from "../../core/kit/document.ts";
import { dollars } from "../../core/kit/money.ts";
import type { Showrunner } from "../../index.ts";
import { ExitCode } from "../cli-error.ts";
import { type Context, withShowrunner } from "../context.ts";
import { type CommandOutput, isAgreed, isYes } from "../io.ts";
import type { Flags } from "../program/flags.ts";
import { visible } from "../text/escape.ts";
import { counted, shorten, table } from "../text/table.ts";

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

function candidateText({ candidates, certain }: UnresolvedStep, width?: number): string {
  const shown = candidates.slice(0, MOST_LISTED);
  const rows = shown.map((candidate, index) => ({
    ...candidate,
    n: index + 1,
    isCertain: candidate.jobId === certain,
  }));
  const text = table(rows, columns, width);
  const more = candidates.length - shown.length;
  return more === 0 ? text : `${text}\nand ${more} more: --json lists them all`;
}

type Candidate = UnresolvedStep["candidates"][number];

interface Row extends Candidate {
  readonly n: number;
  readonly isCertain: boolean;
}

const columns = [
  { title: "", value: ({ n, isCertain }: Row) => `${n}${isCertain ? "*" : ""}` },
  { title: "job", value: ({ jobId }: Row) => visible(jobId) },
  { title: "match", value: ({ match }: Row) => match },
  { title: "prompt", value: ({ prompt }: Row) => shorten(visible(prompt ?? "–"), PROMPT_LENGTH), flexible: true },
  { title: "status", value: ({ status }: Row) => visible(String(status)) },
  { title: "cost", value: ({ costMicros }: Row) => (costMicros === null ? "–" : dollars(costMicros)), align: "money" },
  { title: "created", value: ({ createdAt }: Row) => visible(createdAt ?? "–"), flexible: true },
] as const;

function emptyLines({ holdMicros, provider }: UnresolvedStep): readonly string[] {
  if (provider !== null) {
    return [
      `Showrunner cannot see what ${visible(provider)} generated: check your account there. It may have charged up to ${dollars(holdMicros, Math.ceil)}.`,
    ];
  }
  return [
    "The service lists no unclaimed job for this model from around that time.",
    `This does not prove that no job exists: jobs created with another key may be hidden. If you answer "none", you may lose a job that cost ${dollars(holdMicros)}.`,
  ];
}

function sayOpen(one: UnresolvedStep, { io, output }: Context, { json }: Pick<Flags["adopt"], "json"> = {}): void {
  output.say(questionLine(one, output));
  if (one.candidates.length === 0) for (const line of emptyLines(one)) output.say(line);
  else if (!json) output.print(candidateText(one, io.stdout.columns));
}

export async function adopt(
  context: Context,
  runId: string,
  step: string | undefined,
  jobId: string | undefined,
  flags: Flags["adopt"],
): Promise<ExitCode> {
  return withShowrunner(flags, async (show) => {
    if (step !== undefined && jobId !== undefined) return decide(show, context, { runId, step, jobId }, flags);
    if (step !== undefined) return listOne(show, context, { runId, step }, flags);
    const open = await show.unresolved(runId);
    if (open.length === 0) return nothing(context, runId, flags);
    if (flags.json || context.io.ask === null) return listAll(context, { runId, open }, flags);
    return walk(show, context, { runId, open });
  });
}

interface Open {
  readonly runId: string;
  readonly open: readonly UnresolvedStep[];
}

function nothing({ output }: Context, runId: string, flags: Flags["adopt"]): ExitCode {
  if (flags.json) output.printJson([]);
  output.say(`Run ${visible(runId)} has no unresolved steps.`);
  output.next(`showrunner show ${visible(runId)}`);
  return ExitCode.done;
}

async function listOne(
  show: Showrunner,
  context: Context,
  { runId, step }: { readonly runId: string; readonly step: string },
  flags: Flags["adopt"],
): Promise<ExitCode> {
  const { output } = context;
  const one = (await show.unresolved(runId)).find((open) => open.step === step);
  // If the step is not unresolved, the engine throws with the reason.
  const candidates = one?.candidates ?? (await show.candidates(runId, step));
  if (flags.json) output.printJson(toDocument(candidates));
  if (one === undefined) return ExitCode.unfinished;
  sayOpen(one, context, flags);
  const command = `showrunner adopt ${visible(runId)} ${visible(step)}`;
  if (one.provider !== null) {
    output.next(
      `${command} <file>   (the file that the provider generated)`,
      `${command} none   (the step fails and its reservation is released)`,
    );
  } else if (candidates.length === 0) {
    output.next(`showrunner reconcile ${visible(runId)}   (searches the whole duration of the run)`);
    output.say(`To give up the job anyway: ${command} none   (the step fails and its reservation is released)`);
  } else {
    const best = one.certain ?? (candidates.length === 1 ? candidates[0]!.jobId : "<job-id>");
    output.next(
      `${command} ${visible(best)}   (or "none" if no job matches)`,
      "showrunner jobs get <job-id>   (shows one of the jobs)",
    );
  }
  return ExitCode.unfinished;
}

function listAll(context: Context, { runId, open }: Open, flags: Flags["adopt"]): ExitCode {
  const { output } = context;
  if (flags.json) output.printJson(toDocument(open));
  for (const one of open) sayOpen(one, context, flags);
  const [undecided] = open.filter(({ decided }) => decided === null);
  output.next(
    undecided === undefined
      ? `showrunner resume ${visible(runId)}`
      : `showrunner adopt ${visible(runId)} ${visible(undecided.step)} ${undecided.provider === null ? (undecided.certain ?? "<job-id>") : "<file|none>"}`,
  );
  return ExitCode.unfinished;
}

async function walk(show: Showrunner, context: Context, { runId, open }: Open): Promise<ExitCode> {
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

/** Returns a job's id, null if there is no job, or undefined to skip the step. */
async function answered({ io, output }: Context, one: UnresolvedStep): Promise<string | null | undefined> {
  const best = one.candidates.findIndex(({ jobId }) => jobId === one.certain) + 1;
  const offer = one.candidates.length === 0 ? "none, or" : `number, none, or${best === 0 ? "" : ` y for ${best},`}`;
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
  { runId, step, jobId }: { readonly runId: string; readonly step: string; readonly jobId: string },
  flags: Flags["adopt"],
): Promise<ExitCode> {
  const adopted = jobId === "none" ? null : jobId;
  await show.adopt(runId, step, adopted);
  if (flags.json) output.printJson({ id: runId, step, job_id: adopted });
  const what = adopted === null ? "no job" : visible(adopted);
  output.say(`Recorded for ${visible(step)}: ${what}. This takes effect when the run is resumed.`);
  output.next(`showrunner resume ${visible(runId)}`);
  return ExitCode.done;
}
