import {
  ApiError,
  ConnectionError,
  redactUrls,
  type SubmitAck,
  TimeoutError,
  UnknownOutcomeError,
  UploadError,
} from "../../api/index.ts";
import type { RunEvent } from "../../journal/events.ts";
import type { Command } from "../../run/command.ts";
import { bytesProgress } from "./bytes-progress.ts";
import type { Effect, EffectContext, EffectResult } from "./effect.ts";
import { expiredOutputs, isExpiry, readsUploads } from "./expired.ts";
import { isPassing, journalError, TROUBLE_WAIT_MS, throwAccountTrouble } from "./service-trouble.ts";

type Submit = Extract<Command, { readonly type: "submit" }>;

/** Sends one intended submit. Its intent is durable already; every way this can end is an event. */
export const submit: Effect<"submit"> = async (command, context) => {
  const unsent = async (error: unknown): Promise<EffectResult> => {
    throwAccountTrouble(error);
    if (error instanceof ApiError && !isPassing(error)) return refused(command, error);
    if (error instanceof UploadError) return refused(command, error);
    // Anything else is no answer of the service: the intent stays, and the run can be resumed.
    if (!isPassing(error)) throw error;
    return command.mayExist
      ? { events: [], againInMs: TROUBLE_WAIT_MS }
      : { events: [withdrawn(command, "unsent")], againInMs: TROUBLE_WAIT_MS };
  };
  const onProgress = bytesProgress(command.step, context);
  for (let renew = false; ; renew = true) {
    let input: Submit["input"];
    try {
      input = await context.handles.materialise(command.input, { renew, onProgress });
    } catch (error) {
      return unsent(error);
    }
    try {
      const ack = await context.client.submit(
        {
          model: command.model,
          input: input as Readonly<Record<string, unknown>>,
          idempotencyKey: command.key,
        },
        { mayExist: command.mayExist, priority: 100 + context.priority },
      );
      return { events: acknowledged(command, ack) };
    } catch (error) {
      if (error instanceof UnknownOutcomeError) return unknown(command, error);
      if (isExpiry(error) && !renew && readsUploads(command.input)) continue;
      if ((error instanceof ConnectionError || error instanceof TimeoutError) && !error.sent) return unsent(error);
      if (error instanceof ApiError && error.status === 402) return unfunded(command, error);
      if (isExpiry(error)) return expired(command, context, error);
      return unsent(error);
    }
  }
};

function acknowledged(command: Submit, ack: SubmitAck): readonly RunEvent[] {
  const { step, attempt } = command;
  if (ack.replayed && ack.sends === 1 && !command.mayExist) {
    const message = `the first send of its key was answered with an older job, ${ack.jobId}; look whose it is before going on`;
    return [{ type: "job.unresolved", step, attempt, message }];
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

/** The question stays open: only an acknowledgement closes it, unless a definite refusal says that nobody can. */
function unknown(command: Submit, error: UnknownOutcomeError): EffectResult {
  const { step, attempt } = command;
  const cause = error.cause;
  const { message } = journalError(cause);
  if (cause instanceof ApiError && !isPassing(cause)) {
    return {
      events: [
        { type: "job.unresolved", step, attempt, message: `sent once without an answer, then refused: ${message}` },
      ],
    };
  }
  return { events: [{ type: "job.submit.unknown", step, attempt, message }], againInMs: TROUBLE_WAIT_MS };
}

/** Final, unless an earlier send may have made the job: what was refused then proves nothing. */
function refused(command: Submit, error: unknown): EffectResult {
  const { step, attempt } = command;
  if (command.mayExist) {
    const message = `sent once without an answer, then refused: ${journalError(error).message}`;
    return { events: [{ type: "job.unresolved", step, attempt, message }] };
  }
  return { events: [{ type: "job.submit.refused", step, attempt, error: journalError(error) }] };
}

function withdrawn(command: Submit, reason: "funds" | "expired" | "unsent"): RunEvent {
  return { type: "job.submit.withdrawn", step: command.step, attempt: command.attempt, reason };
}

function unfunded(command: Submit, error: ApiError): EffectResult {
  const billing = error.billing;
  return {
    events: [
      withdrawn(command, "funds"),
      {
        type: "run.paused",
        reason: "funds",
        message: `${command.step}: the wallet cannot fund it (${redactUrls(error.serviceMessage)}).`,
        ...(billing === null
          ? {}
          : {
              fundingUrl: billing.fundingUrl ?? undefined,
              requiredMicros: billing.requiredMicros,
              balanceMicros: billing.balanceMicros,
            }),
      } as RunEvent,
    ],
  };
}

/** An asset it reads is gone at the service: it is sent again with our copy, or given up. */
function expired(command: Submit, { state }: EffectContext, error: ApiError): EffectResult {
  const gone = expiredOutputs(state, command.input, error);
  return gone.length === 0 ? refused(command, error) : { events: [...gone, withdrawn(command, "expired")] };
}
