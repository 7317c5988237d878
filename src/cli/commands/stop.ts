import { ExitCode } from "../cli-error.ts";
import { type Context, type ServiceFlags, withJournal } from "../context.ts";
import { visible } from "../text/escape.ts";

/** `showrunner stop`: asks a run, in whichever process it lives, to make no further job. */
export async function stop(context: Context, runId: string, flags: ServiceFlags): Promise<ExitCode> {
  return withJournal(flags, async (show) => {
    await show.stop(runId);
    const row = (await show.runs()).find((one) => one.runId === runId);
    context.output.say(
      row?.status === "paused"
        ? `Run ${visible(runId)} is not running: it submits nothing until somebody decides what it waits for, or resumes it.`
        : `Asked run ${visible(runId)} to stop: it submits nothing more. Jobs already paid for go on at the service.`,
    );
    context.output.next(`showrunner resume ${visible(runId)}`);
    return ExitCode.done;
  });
}
