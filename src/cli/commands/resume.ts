import { type Context, type ServiceFlags, sayWhere, withShowrunner } from "../context.ts";
import type { ExitCode } from "../exit-code.ts";
import { checkAmount } from "../input/amount.ts";
import { readDuration } from "../input/duration.ts";
import { visible } from "../text/escape.ts";
import { followRun } from "./follow.ts";

export interface ResumeFlags extends ServiceFlags {
  readonly budget?: string;
  readonly maxUnquoted?: string;
  readonly waitForFunds?: string;
  readonly json?: boolean;
}

/** `showrunner resume`: goes on where the journal ends; paid jobs are collected, never made again. */
export async function resume(context: Context, runId: string, flags: ResumeFlags): Promise<ExitCode> {
  checkAmount("--budget", flags.budget);
  checkAmount("--max-unquoted", flags.maxUnquoted);
  const { waitForFunds } = flags;
  const waitForFundsMs =
    waitForFunds === undefined ? null : readDuration("--wait-for-funds", waitForFunds, "30m, 2h or 90s");
  return withShowrunner(flags, async (show) => {
    sayWhere(show, context);
    const known = (await show.runs()).find((row) => row.runId === runId);
    const handle = await show.resume(runId, {
      ...(flags.budget !== undefined && { budget: flags.budget }),
      ...(flags.maxUnquoted !== undefined && { maxUnquoted: flags.maxUnquoted }),
      ...(waitForFundsMs !== null && { waitForFundsMs }),
    });
    context.talk.say(`Run ${visible(handle.id)}`);
    return followRun(handle, context, { json: flags.json, afterSeq: known?.lastSeq ?? 0 });
  });
}
