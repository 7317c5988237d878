import { type ApiError, classifyStatus, isTerminal, type JobStatusView, type PlannedPoll } from "../../api/index.ts";
import { attemptOf } from "../../journal/state.ts";
import type { Progress } from "../../journal/store.ts";
import { cleanText, sentence } from "../../kit/clean-text.ts";
import { type Command, commandId } from "../../run/command.ts";
import {
  deferToNextDrive,
  done,
  type EffectResult,
  journalError,
  judge,
  lookAgainMs,
  retryOrPause,
} from "../service/service-answers.ts";
import { type Effect, type EffectContext, type Polls, placed } from "./effect.ts";
import { billed, type Follow, jobEnd } from "./job-end.ts";

const AGAIN_MS = 5_000;

/** The final result is always read from GET /jobs/{id}. */
export const follow: Effect<"follow"> = async (command, context) => {
  const { step, attempt, jobId } = command;
  const { signal } = context;
  const { phase, model, doubt } = attemptOf(context.state, command);
  if (doubt !== undefined) return readAgain(command, context);
  let started = phase === "inProgress";
  let isFound = phase !== "unresolved";
  const options = { strategy: context.follow, signal, priority: placed(context), model: model ?? undefined };
  try {
    for await (const update of context.client.follow(jobId, options)) {
      if (!isFound && update.type !== "switched") {
        isFound = true;
        context.emit([{ type: "job.found", step, attempt }]);
      }
      if (update.type === "finished") return jobEnd(command, context, update);
      if (update.type !== "status") continue;
      if (update.status.status === "IN_PROGRESS" && !started) {
        started = true;
        context.emit([{ type: "job.started", step, attempt }]);
      }
      context.progress(progressOf(step, update.status));
    }
    return { end: "retryLater", inMs: AGAIN_MS, events: [] };
  } catch (error) {
    return followFailed(command, context, error, isFound);
  }
};

/** `isFound`: true if the service has returned the job before. */
export function followFailed(
  { step, attempt, jobId }: Follow,
  context: EffectContext,
  error: unknown,
  isFound: boolean,
): EffectResult {
  const judged = judge("follow", error);
  if (judged.verdict !== "not found") return retryOrPause(judged, context);
  if (!isFound) return deferToNextDrive();
  // A job in the journal is never resubmitted just because a read does not find it.
  const { status, code } = error as ApiError;
  const answer = sentence`${status} ${cleanText(code, 100)}: ${journalError(error).message}`;
  const message = sentence`job ${cleanText(jobId, 300)} was accepted, but the service now answers ${answer}`;
  const unresolved = { type: "job.unresolved", step, attempt, message, cause: "not found" } as const;
  return { end: "refused", events: [], otherwise: [unresolved] };
}

export function progressOf(step: string, { progress, estimatedCompletionAt }: JobStatusView): Progress {
  const estimate = Date.parse(estimatedCompletionAt ?? "");
  return { step, fraction: progress, estimatedCompletionAt: Number.isNaN(estimate) ? null : estimate };
}

export async function readAgain(command: Follow, context: EffectContext): Promise<EffectResult> {
  const { jobId } = command;
  const isFound = attemptOf(context.state, command).phase !== "unresolved";
  try {
    const job = await context.client.job(jobId, { signal: context.signal, priority: placed(context) });
    return jobEnd(command, context, { job, outcome: isTerminal(job.status) ? classifyStatus(job.status) : "open" });
  } catch (error) {
    return followFailed(command, context, error, isFound);
  }
}

export const settle: Effect<"settle"> = async (command, context) => {
  const { jobId } = command;
  const { completedAt, impossibleBill } = attemptOf(context.state, command);
  let events: EffectResult["events"] = [];
  try {
    const job = await context.client.job(jobId, { signal: context.signal });
    events = billed(command, job, impossibleBill);
    if (job.costMicros !== null) return done(...events);
  } catch (error) {
    const judged = judge("settle", error);
    if (judged.verdict !== "bill open") return retryOrPause(judged, context);
  }
  const inMs = lookAgainMs(context.now() - (completedAt ?? 0));
  return inMs === null ? deferToNextDrive(...events) : { end: "retryLater", inMs, events };
};

/** Delays grow by up to this fraction, depending on the job id, so that polls are spread out. */
const SPREAD = 0.05;

/** Delay before a job is read again if a webhook reported its end too early. */
const LAG_MS = 2_000;
/** Due time of a poll that must happen immediately, because a webhook requested it. */
export const HINTED = 0;

export async function poll(
  command: Extract<Command, { readonly type: "follow" }>,
  context: EffectContext,
  { planned, webhooks }: Polls,
): Promise<EffectResult> {
  const { step, attempt, jobId } = command;
  const id = commandId(command);
  const { phase, model, submittedAt, doubt } = attemptOf(context.state, command);
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
    // A webhook may arrive before the service reports the job as finished.
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
