import { verdicts } from "../../answers/index.ts";
import type { ApiError } from "../../api/index.ts";
import type { RunEvent } from "../../journal/events.ts";
import { cleanAddress, cleanText, ownText, sentence } from "../../kit/clean-text.ts";
import { MediaBucketError } from "../media/bucket/bucket-errors.ts";
import { isDiskError, MediaDiskError } from "../media/media-errors.ts";
import { type Judged, MOST_CODE, type ServiceFailure, serviceFailureOf } from "../service/service-answers.ts";
import { deferToNextDrive, done, type EffectContext, type EffectResult } from "./effect.ts";

/** Handles every verdict that does not fail the step: a retry or a pause. `events` come first. */
export function retryOrPause(
  judged: Judged,
  context: Pick<EffectContext, "client">,
  events: readonly RunEvent[] = [],
): EffectResult {
  const { pause, retried } = verdicts[judged.verdict];
  switch (pause) {
    case "unreachable":
    case "misdirected": {
      const serviceFailure = serviceFailureOf(judged, pause, context);
      if (retried) return { end: "unreachable", events, serviceFailure };
      return done(...events, { type: "run.paused", reason: pause, message: serviceFailure.message });
    }
    case "credentials":
      return done(...events, refusedKey(judged, context));
    case "funds":
      return deferToNextDrive(...events, unfunded(judged));
    case "unanswered":
    case "unresolved":
    case null:
      throw new Error(`${judged.verdict} is for its own effect to handle.`);
    default:
      return pause satisfies never;
  }
}

function refusedKey({ error }: Judged, { client }: Pick<EffectContext, "client">): RunEvent {
  const { code, serviceMessage } = error as ApiError;
  const serviceText = cleanText(serviceMessage);
  const why = ownText(
    code === "PERMISSION_DENIED" ? "its scopes, or its owner's place in the workspace" : "its secret",
  );
  const key = sentence`${ownText(client.baseUrl)} does not take key ${ownText(client.keyId)}`;
  const message = sentence`${key} (${cleanText(code, MOST_CODE)}: ${serviceText}). Check ${why}; nothing is lost; resume with the right key.`;
  return { type: "run.paused", reason: "credentials", message };
}

function unfunded({ error, step }: Judged): RunEvent {
  const { billing, request, serviceMessage } = error as ApiError;
  const fundingUrl = billing === null ? null : cleanAddress(billing.fundingUrl);
  return {
    type: "run.paused",
    reason: "funds",
    message: sentence`${ownText(step ?? request)}: the wallet cannot fund it (${cleanText(serviceMessage)}).`,
    ...(fundingUrl !== null && { fundingUrl }),
    ...(billing !== null && {
      requiredMicros: billing.requiredMicros,
      balanceMicros: billing.balanceMicros,
    }),
  };
}

/** A failure of the media bucket that may pass, to be retried; null for anything else. */
export function bucketAway(error: unknown): ServiceFailure | null {
  const passes = error instanceof MediaBucketError && (error.reason === "busy" || error.reason === "unreachable");
  return passes ? { pause: "unreachable", isMedia: true, message: cleanText(error.message) } : null;
}

type Without = { readonly without: EffectResult };

/**
 * Prepares code and media for a request whose intent is already durable. If that fails, the intent is taken back;
 * otherwise it would count as a request without an answer.
 */
export async function beforeSending<T extends object>(
  prepare: () => Promise<T | Without>,
  { signal, state }: Pick<EffectContext, "signal" | "state">,
): Promise<T | Without> {
  try {
    const ready = await prepare();
    // Preparing may take long: if the run was stopped or taken over meanwhile, send nothing.
    return signal.aborted ? { without: done() } : ready;
  } catch (error) {
    return { without: signal.aborted ? done() : endedBy(error, state) };
  }
}

function endedBy(error: unknown, { runId }: EffectContext["state"]): EffectResult {
  const serviceFailure = bucketAway(error);
  if (serviceFailure !== null) return { end: "unreachable", events: [], serviceFailure };
  return {
    end: "failed",
    events: [],
    failure: isDiskError(error) ? new MediaDiskError(runId, error) : (error as Error),
  };
}
