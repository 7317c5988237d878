import type { Showrunner } from "../../index.ts";
import { type Context, type ServiceFlags, withShowrunner } from "../context.ts";
import { ExitCode } from "../exit-code.ts";
import { listText, wireForm } from "../service/present.ts";
import { visible } from "../text/escape.ts";

export interface AdoptFlags extends ServiceFlags {
  readonly json?: boolean;
}

interface Target {
  readonly runId: string;
  readonly step: string;
}

/** `showrunner adopt`: says which job an unresolved step made; without a job, lists those that it may have made. */
export async function adopt(
  context: Context,
  target: Target,
  jobId: string | undefined,
  flags: AdoptFlags,
): Promise<ExitCode> {
  return withShowrunner(flags, (show) =>
    jobId === undefined ? list(show, context, target, flags) : decide(show, context, target, jobId, flags),
  );
}

async function list(
  show: Showrunner,
  { io, talk }: Context,
  { runId, step }: Target,
  flags: AdoptFlags,
): Promise<ExitCode> {
  const found = await show.candidates(runId, step);
  if (flags.json) talk.printJson(wireForm(found));
  else if (found.length > 0)
    talk.print(listText(found, ["job_id", "model", "status", "cost", "created_at"], io.stdout.columns));
  const words = `showrunner adopt ${visible(runId)} ${visible(step)}`;
  if (found.length === 0) {
    talk.say("No job of its model was made around then that no run knows.");
    talk.next(`${words} none   (gives it up: the step fails and its hold is released)`);
  } else {
    talk.say(`Look at one with: showrunner jobs get <job-id>`);
    talk.next(
      `${words} ${found.length === 1 ? visible(found[0]!.jobId) : "<job-id>"}   (or none, if it is none of them)`,
    );
  }
  return ExitCode.unfinished;
}

async function decide(
  show: Showrunner,
  { talk }: Context,
  { runId, step }: Target,
  jobId: string,
  flags: AdoptFlags,
): Promise<ExitCode> {
  const adopted = jobId === "none" ? null : jobId;
  await show.adopt(runId, step, adopted);
  if (flags.json) talk.printJson({ id: runId, step, job_id: adopted });
  const what = adopted === null ? "its submit made no job" : `it made ${visible(adopted)}`;
  talk.say(`Noted for ${visible(step)}: ${what}. This takes effect when the run goes on.`);
  talk.next(`showrunner resume ${visible(runId)}`);
  return ExitCode.done;
}
