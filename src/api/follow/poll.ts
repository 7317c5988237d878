import { sleep } from "../clock.ts";
import type { HttpContext } from "../http/call.ts";
import { isTerminal } from "../job-status.ts";
import { readJob, readStatus } from "../jobs.ts";
import type { FollowEvent, FollowOptions } from "./follow-event.ts";
import { nextPollMs } from "./poll-plan.ts";
import { settled, settleOf } from "./settle.ts";

/** Looks at the job when it is likely to have news, until it is settled. */
export async function* pollJob(
  context: HttpContext,
  jobId: string,
  options: FollowOptions,
): AsyncGenerator<FollowEvent, void> {
  const startedAt = context.clock.now();
  const call = { signal: options.signal, priority: options.priority };
  let expectedAt = localInstant(context, options.estimatedCompletionAt);
  for (let looks = 0; ; looks++) {
    await sleep(context.clock, nextPollMs({ now: context.clock.now(), startedAt, looks, expectedAt }), options.signal);
    const due = expectedAt !== null && context.clock.now() >= expectedAt;
    if (due) {
      const event = settleOf(await readJob(context, jobId, call));
      if (event) return yield event;
    }
    const status = await readStatus(context, jobId, call);
    if (isTerminal(status.status)) return yield await settled(context, jobId, options);
    yield { type: "status", status };
    expectedAt = localInstant(context, status.estimatedCompletionAt);
  }
}

/** An instant of the service as this machine's clock would show it. */
function localInstant(context: HttpContext, instant: string | null | undefined): number | null {
  const at = Date.parse(instant ?? "");
  return Number.isNaN(at) ? null : at - context.pacer.clockOffsetMs();
}
