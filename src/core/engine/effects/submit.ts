import { ApiError, type SubmitAck, sleep, UnknownOutcomeError, UploadError } from "../../api/index.ts";
import type { RunEvent } from "../../journal/events.ts";
import { attemptOf, RESENT_EVERY_MS } from "../../journal/state.ts";
import { cleanText, ownText, sentence } from "../../kit/clean-text.ts";
import { stepNamed } from "../../plan/plan.ts";
import type { Command } from "../../run/command.ts";
import { isCacheable, TOO_OLD } from "../../run/request-identity.ts";
import { jobOfSubmit } from "../adoption/unresolved.ts";
import { MediaLostError } from "../media/media-errors.ts";
import { lapsedOutputs, readsUploads } from "../price/refusal.ts";
import {
  deferToNextDrive,
  done,
  type EffectResult,
  type Judged,
  journalError,
  judge,
  retryOrPause,
  serviceFailureOf,
} from "../service/service-answers.ts";
import { bucketAway, bytesProgress, type Effect, type EffectContext, placed } from "./effect.ts";
import { ensureCopies, mediaLost } from "./ensure-copies.ts";

type Submit = Extract<Command, { readonly type: "submit" }>;

export const submit: Effect<"submit"> = async (command, context) => {
  const onProgress = bytesProgress(command.step, context);
  const ensure = (sha256: string) => ensureCopies([sha256], context);
  let { mayExist } = command;
  const { step } = command;
  if (command.isReplaced === true) {
    const end = await lookedFor(command, context);
    if (end !== null) return end;
  }
  for (let renew = false; ; renew = true) {
    let input: Submit["input"];
    try {
      input = await context.handles.resolveUploads(command.input, { renew, onProgress, ensure });
    } catch (error) {
      if (error instanceof MediaLostError) return withoutCopy({ ...command, mayExist }, context, error);
      const serviceFailure = bucketAway(error);
      if (serviceFailure !== null) {
        return { end: mayExist ? "unreachable" : "notSent", events: [], serviceFailure };
      }
      if (error instanceof UploadError) return mayExist ? unresolved(command, context, error) : refused(command, error);
      return outcome(command, context, judge("upload", error, { mayExist, step }));
    }
    if (mayExist) {
      const end = await forgottenOrAway(command, context);
      if (end !== null) return end;
    }
    try {
      const request = { model: command.model, input: input as Readonly<Record<string, unknown>> };
      const ack = await context.client.submit(
        { ...request, idempotencyKey: command.key },
        {
          mayExist,
          priority: placed(context, 100),
          sendBefore: lastMoment(command, context),
          waitSignal: context.signal,
        },
      );
      return await acknowledged(command, ack, { ...context, mayExist });
    } catch (error) {
      if (context.signal.aborted && error === context.signal.reason) {
        return mayExist ? done() : { end: "notSent", events: [], serviceFailure: null };
      }
      const judged = judge("submit", error, { mayExist, step });
      mayExist ||= error instanceof UnknownOutcomeError;
      if (judged.verdict !== "media renewed") return outcome(command, context, judged);
      if (renew || !readsUploads(command.input)) return withoutMedia(command, context, judged, mayExist);
    }
  }
};

/** How long to wait for an unanswered request's job to appear in the service's list. */
const ANSWERED_WITHIN_MS = 60_000;

/** Looks for the job of an unanswered request whose step has since changed. Returns null if inconclusive. */
async function lookedFor(command: Submit, context: EffectContext): Promise<EffectResult | null> {
  const { state, signal, clock, now } = context;
  const { step, attempt, model } = command;
  const { lastSentAt } = attemptOf(state, command);
  // An earlier process may have repeated the request until it died.
  const lastAt = Math.max(lastSentAt!, Math.min(state.drivenSince ?? now(), lastSentAt! + RESENT_EVERY_MS));
  let jobId: string | null | undefined;
  try {
    await sleep(clock, Math.max(0, lastAt + ANSWERED_WITHIN_MS - now()), signal);
    jobId = await jobOfSubmit(context, state, step);
  } catch (error) {
    if (signal.aborted && error === signal.reason) return done();
    return null;
  }
  if (signal.aborted) return done();
  if (jobId === null) return done(withdrawn(command, "changed"));
  if (jobId === undefined || !context.jobOwners.claim(state, command, jobId)) return null;
  return done({ type: "job.submitted", step, attempt, jobId, model, replayed: true, ...serviceClock(context) });
}

/**
 * Returns null if the request can be repeated. If the service does not respond or no longer remembers the idempotency
 * key, returns the result that ends the effect.
 */
async function forgottenOrAway(command: Submit, context: EffectContext): Promise<EffectResult | null> {
  const { client, signal, now, idempotencyWindowMs } = context;
  try {
    await client.balance({ priority: placed(context, 100), signal });
  } catch (error) {
    if (signal.aborted && error === signal.reason) return done();
    const isServices = error instanceof ApiError && error.envelope;
    if (!isServices) return retryOrPause(judge("balance", error), context);
  }
  const sentAt = context.state.steps[command.step]?.attempts[command.attempt - 1]?.sentByService?.from;
  const isForgotten = sentAt !== undefined && now() + client.clockOffsetMs() - sentAt > idempotencyWindowMs;
  return isForgotten ? leftOpen(command, context, { message: TOO_OLD, cause: "too old" }) : null;
}

/**
 * Returns the latest time at which the request may be sent. After that, the service may have forgotten the idempotency
 * key, or the journal must first record that the request is sent again.
 */
function lastMoment({ step, attempt, mayExist }: Submit, { state, now, idempotencyWindowMs }: EffectContext): number {
  const { intendedAt = null, lastSentAt = null } = state.steps[step]?.attempts[attempt - 1] ?? {};
  const forgottenAt = ((mayExist ? intendedAt : null) ?? now()) + idempotencyWindowMs;
  return Math.min(forgottenAt, (lastSentAt ?? now()) + RESENT_EVERY_MS);
}

function outcome(command: Submit, context: EffectContext, judged: Judged): EffectResult {
  const { verdict, error } = judged;
  switch (verdict) {
    case "refused":
      return refused(command, error);
    case "unfunded":
      return done(...retryOrPause(judged, context, [withdrawn(command, "funds")]).events);
    case "out of scope":
      return retryOrPause(judged, context, [withdrawn(command, "credentials")]);
    case "open":
    case "open, misdirected":
      return retryOrPause(judged, context, unknown(command, context, error));
    case "not sent":
      return { end: "notSent", events: [], serviceFailure: serviceFailureOf(judged, "unreachable", context) };
    case "not sent, misdirected":
      return { end: "notSent", events: [], serviceFailure: serviceFailureOf(judged, "misdirected", context) };
    case "unresolved":
      return unresolved(command, context, error);
    default:
      return retryOrPause(judged, context);
  }
}

type Why = Pick<RunEvent & { readonly type: "job.unresolved" }, "message" | "cause" | "jobId">;

async function acknowledged(
  command: Submit,
  ack: SubmitAck,
  context: EffectContext & { readonly mayExist: boolean },
): Promise<EffectResult> {
  const { step, attempt } = command;
  const { jobId } = ack;
  if (ack.replayed && ack.sends === 1 && !context.mayExist) {
    const message = sentence`the service answered the first request with an older job, ${cleanText(jobId, 300)}; before resuming, check which run this job belongs to`;
    return leftOpen(command, context, { message, cause: "older job", jobId });
  }
  const message = await contradiction(command, ack, context);
  if (message !== null) return leftOpen(command, context, { message, cause: "another's job", jobId });
  const model = ack.model === "" ? command.model : ack.model;
  return done({ type: "job.submitted", step, attempt, jobId, model, replayed: ack.replayed, ...serviceClock(context) });
}

async function contradiction(command: Submit, { jobId, model }: SubmitAck, context: EffectContext) {
  const id = cleanText(jobId, 300);
  // A job stays assigned to the first request for which the service returned it, even if that was wrong.
  const isOwn = context.jobOwners.claim(context.state, command, jobId);
  const isAsked = model === "" || model === command.model || (await resolvedId(command, context)) === model;
  if (!isAsked) {
    const asked = ownText(command.model);
    return sentence`the request was for ${asked}, but the service returned ${id}, which is a job for ${cleanText(model, 200)}; find the job that belongs to this request`;
  }
  if (isOwn) return null;
  return sentence`the service returned ${id}, which belongs to another step; look for the job that was created for this request`;
}

/** Returns the model's real id, because the step may use an alias. */
async function resolvedId({ model }: Submit, { client, signal }: EffectContext): Promise<string> {
  return client.model(model, { signal }).then(
    ({ id }) => id,
    () => model,
  );
}

function unknown({ step, attempt }: Submit, context: EffectContext, error: unknown): readonly RunEvent[] {
  if (phaseOf(context, step, attempt) !== "submitting.sent") return [];
  const { message } = journalError(error);
  return [{ type: "job.submit.unknown", step, attempt, message, clockOffsetMs: context.client.clockOffsetMs() }];
}

function unresolved(command: Submit, context: EffectContext, error: unknown): EffectResult {
  const message = sentence`the first request got no answer, and the second one with the same key was refused: ${journalError(error).message}`;
  return leftOpen(command, context, { message, cause: "refused" });
}

function leftOpen({ step, attempt }: Submit, context: EffectContext, why: Why): EffectResult {
  const isRecorded = phaseOf(context, step, attempt) === "unresolved";
  return isRecorded
    ? deferToNextDrive()
    : deferToNextDrive({ type: "job.unresolved", step, attempt, ...why, ...serviceClock(context) });
}

function serviceClock({ client }: EffectContext): { readonly clockOffsetMs?: number } {
  const clockOffsetMs = client.clockOffsetMs();
  return clockOffsetMs === 0 ? {} : { clockOffsetMs };
}

function phaseOf({ state }: EffectContext, step: string, attempt: number) {
  return state.steps[step]?.attempts[attempt - 1]?.phase;
}

function refused({ step, attempt }: Submit, error: unknown): EffectResult {
  return done({ type: "job.submit.refused", step, attempt, error: journalError(error) });
}

function withdrawn(
  { step, attempt }: Submit,
  reason: "funds" | "expired" | "unsent" | "credentials" | "changed",
): RunEvent {
  return { type: "job.submit.withdrawn", step, attempt, reason };
}

function withoutCopy(command: Submit, context: EffectContext, error: MediaLostError): EffectResult {
  const events = command.mayExist ? unresolved(command, context, error).events : [withdrawn(command, "unsent")];
  return mediaLost(error, events);
}

/**
 * Handles a refusal that concerns the request's media. If an input asset has expired, withdraws the request, so that
 * the file itself is sent instead.
 */
function withoutMedia(command: Submit, context: EffectContext, { error }: Judged, mayExist: boolean): EffectResult {
  if (mayExist) return unresolved(command, context, error);
  const missing = lapsedOutputs(context.state, command.input, error);
  return missing.length === 0 ? refused(command, error) : done(...missing, withdrawn(command, "expired"));
}

export const reuse: Effect<"reuse"> = async ({ step, fingerprint }, context) => {
  const { cache, reusedKeys, state } = context;
  const plan = stepNamed(state.planned.plan, step);
  if (plan === undefined || !isCacheable(plan)) return deferToNextDrive();
  try {
    const { found } = await cache.find({
      fingerprint,
      plan,
      reusedKeys: reusedKeys(),
      runId: state.runId,
      verify: true,
    });
    if (found === null) return deferToNextDrive();
    const start = state.steps[step]?.status === "waiting" ? [{ type: "step.started", step } as const] : [];
    return done(...start, { type: "step.reused", step, ...found });
  } catch (error) {
    return retryOrPause(judge("reuse", error), context);
  }
};
