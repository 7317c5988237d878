import { type SubmitAck, UnknownOutcomeError, UploadError } from "../../api/index.ts";
import { cleanText, sentence } from "../../clean-text.ts";
import type { RunEvent } from "../../journal/events.ts";
import { RESENT_EVERY_MS } from "../../journal/state.ts";
import type { Command } from "../../run/command.ts";
import { expiredOutputs, readsUploads } from "../media/expired.ts";
import { MediaLostError } from "../media/media-errors.ts";
import { type Judged, journalError, judge } from "../service/service-answers.ts";
import { bucketAway } from "./bucket-away.ts";
import { bytesProgress, type Effect, type EffectContext, type EffectResult, placed } from "./effect.ts";
import { ensureCopies } from "./ensure-copies.ts";
import { retryOrPause } from "./retry-or-pause.ts";

type Submit = Extract<Command, { readonly type: "submit" }>;

/** Sends one intended submit. Its intent is durable already; every way this can end is an event or another try. */
export const submit: Effect<"submit"> = async (command, context) => {
  const onProgress = bytesProgress(command.step, context);
  const ensure = (sha256: string) => ensureCopies([sha256], context);
  let { mayExist } = command;
  const { step } = command;
  for (let renew = false; ; renew = true) {
    let input: Submit["input"];
    try {
      input = await context.handles.resolveUploads(command.input, { renew, onProgress, ensure });
    } catch (error) {
      if (error instanceof MediaLostError) return withoutCopy({ ...command, mayExist }, context, error);
      const serviceFailure = bucketAway(error);
      // Nothing of this try has left yet.
      if (serviceFailure !== null) return { events: [], serviceFailure, unsent: !mayExist };
      if (error instanceof UploadError) return mayExist ? unresolved(command, context, error) : refused(command, error);
      return outcome(command, context, judge("upload", error, { mayExist, step }));
    }
    try {
      const request = { model: command.model, input: input as Readonly<Record<string, unknown>> };
      const ack = await context.client.submit(
        { ...request, idempotencyKey: command.key },
        { mayExist, priority: placed(context, 100), sendBefore: lastMoment(command, context) },
      );
      return { events: acknowledged(command, ack, mayExist) };
    } catch (error) {
      const judged = judge("submit", error, { mayExist, step });
      mayExist ||= error instanceof UnknownOutcomeError;
      if (judged.verdict !== "media renewed") return outcome(command, context, judged);
      if (renew || !readsUploads(command.input)) return withoutMedia(command, context, judged, mayExist);
    }
  }
};

/**
 * From when on nothing more may be sent, for a machine that sleeps between two sends wakes at any time: the service may have
 * forgotten the key, or nobody would look so late for what this send makes.
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
      return { ...retryOrPause(judged, context, [withdrawn(command, "funds")]), againInMs: 0 };
    case "out of scope":
      return retryOrPause(judged, context, [withdrawn(command, "credentials")]);
    case "open":
    case "open, misdirected":
      return retryOrPause(judged, context, unknown(command, context, error));
    case "not sent":
    case "not sent, misdirected":
      return { ...retryOrPause(judged, context), unsent: true };
    case "unresolved":
      return unresolved(command, context, error);
    default:
      return retryOrPause(judged, context);
  }
}

function acknowledged(command: Submit, ack: SubmitAck, mayExist: boolean): readonly RunEvent[] {
  const { step, attempt } = command;
  if (ack.replayed && ack.sends === 1 && !mayExist) {
    const message = sentence`the first send of its key was answered with an older job, ${cleanText(ack.jobId, 300)}; check which run it belongs to before resuming`;
    return [{ type: "job.unresolved", step, attempt, message, cause: "older job", jobId: ack.jobId }];
  }
  return [
    {
      type: "job.submitted",
      step,
      attempt,
      jobId: ack.jobId,
      model: ack.model === "" ? command.model : ack.model,
      replayed: ack.replayed,
    },
  ];
}

/** The question stays open: only an acknowledgement closes it. Told once, not with every send. */
function unknown({ step, attempt }: Submit, context: EffectContext, error: unknown): readonly RunEvent[] {
  if (phaseOf(context, step, attempt) !== "submitting.sent") return [];
  const { message } = journalError(error);
  return [{ type: "job.submit.unknown", step, attempt, message, clockOffsetMs: context.client.clockOffsetMs() }];
}

/** An earlier send may have created the job: a refusal of this one proves nothing. */
function unresolved({ step, attempt }: Submit, context: EffectContext, error: unknown): EffectResult {
  const message = sentence`sent once without an answer, then refused: ${journalError(error).message}`;
  const isTold = phaseOf(context, step, attempt) === "unresolved";
  const events = isTold ? [] : [{ type: "job.unresolved", step, attempt, message, cause: "refused" } as const];
  return { events, againInMs: Number.POSITIVE_INFINITY };
}

function phaseOf({ state }: EffectContext, step: string, attempt: number) {
  return state.steps[step]?.attempts[attempt - 1]?.phase;
}

function refused({ step, attempt }: Submit, error: unknown): EffectResult {
  return { events: [{ type: "job.submit.refused", step, attempt, error: journalError(error) }] };
}

function withdrawn({ step, attempt }: Submit, reason: "funds" | "expired" | "unsent" | "credentials"): RunEvent {
  return { type: "job.submit.withdrawn", step, attempt, reason };
}

/** Withdrawn, so that its inputs can be produced again first; what may have been sent waits for a person's decision. */
function withoutCopy(command: Submit, context: EffectContext, error: MediaLostError): EffectResult {
  if (command.mayExist) return { ...unresolved(command, context, error), failure: error };
  return { events: [withdrawn(command, "unsent")], failure: error };
}

/** An asset in its input expired at the service: send it again with the local copy, or withdraw it. */
function withoutMedia(command: Submit, context: EffectContext, { error }: Judged, mayExist: boolean): EffectResult {
  if (mayExist) return unresolved(command, context, error);
  const missing = expiredOutputs(context.state, command.input, error);
  return missing.length === 0 ? refused(command, error) : { events: [...missing, withdrawn(command, "expired")] };
}
