import type { PlannedPoll } from "../../api/index.ts";
import { type Command, commandId } from "../../run/command.ts";
import { type EffectContext, type EffectResult, type Polls, placed } from "./effect.ts";
import { followFailed, progressOf, readAgain } from "./follow.ts";
import { jobEnd } from "./job-end.ts";

/** Share of a delay that is added by the job's id, so that jobs submitted together are not all polled together. */
const SPREAD = 0.05;

/** A job that a webhook announced the end of, and that is still under way, is read again so soon, milliseconds. */
const LAG_MS = 2_000;
/** When a poll is due that a webhook asked for. */
export const HINTED = 0;

/** Reads an accepted job once, if that is due, and says when to read it again; the truth is always GET /jobs/{id}. */
export async function poll(
  command: Extract<Command, { readonly type: "follow" }>,
  context: EffectContext,
  { planned, webhooks }: Polls,
): Promise<EffectResult> {
  const { step, attempt, jobId } = command;
  const id = commandId(command);
  const { phase, model, submittedAt, doubt } = context.state.steps[step]!.attempts[attempt - 1]!;
  if (doubt !== undefined) return readAgain(command, context);
  const { now, client, signal } = context;
  const isFound = phase !== "unresolved";
  const options = {
    submittedAt: submittedAt ?? now(),
    model: model ?? undefined,
    webhooks,
    signal,
    priority: placed(context),
  };
  try {
    let polled = await client.poll(jobId, { ...options, planned: planned.get(id) ?? null });
    if (polled.type === "open" && !planned.has(id)) {
      planned.set(id, polled.next);
      const isWaiting = isFound && polled.next.dueAt > now();
      if (isWaiting) return { end: "retryLater", inMs: delayOf(polled.next, command, now()), events: [] };
      polled = await client.poll(jobId, { ...options, planned: polled.next });
    }
    if (!isFound) context.emit([{ type: "job.found", step, attempt }]);
    if (polled.type === "finished") {
      planned.delete(id);
      return jobEnd(command, context, polled);
    }
    // A webhook can be faster than the read that it announces.
    const isHinted = planned.get(id)?.dueAt === HINTED;
    const next = isHinted ? { ...polled.next, dueAt: Math.min(polled.next.dueAt, now() + LAG_MS) } : polled.next;
    planned.set(id, next);
    const { status } = polled;
    const inMs = delayOf(next, command, now());
    if (status === null) return { end: "retryLater", inMs, events: [] };
    context.progress(progressOf(step, status));
    const starts = status.status === "IN_PROGRESS" && phase === "inQueue";
    return { end: "retryLater", inMs, events: starts ? [{ type: "job.started", step, attempt }] : [] };
  } catch (error) {
    return followFailed(command, context, error, isFound);
  }
}

function delayOf({ dueAt }: PlannedPoll, { jobId }: { readonly jobId: string }, now: number): number {
  const spread = [...jobId].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 1000, 0) / 1000;
  return Math.ceil(Math.max(0, dueAt - now) * (1 + SPREAD * spread));
}
