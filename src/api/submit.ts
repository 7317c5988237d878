import { type VerdictName, verdictOf } from "../answers/index.ts";
import { answerOf } from "./answer-of.ts";
import { resolveServicePath, segment } from "./base-url.ts";
import { sleep } from "./clock.ts";
import { ApiError } from "./errors/api-error.ts";
import { MalformedResponseError, UnknownOutcomeError } from "./errors/client-errors.ts";
import {
  type ApiRequest,
  decode,
  errorOf,
  type HttpContext,
  type SendOptions,
  type Sent,
  send,
  successOf,
} from "./http/call.ts";
import { headerText } from "./http/headers.ts";
import { backoffMs } from "./http/retry.ts";
import { telemetry } from "./telemetry.ts";
import { type SubmitAck, submitAck } from "./wire/job.ts";

export interface SubmitRequest {
  /** Public model id. */
  readonly model: string;
  readonly input: Readonly<Record<string, unknown>>;
  /** Makes the submit safe to repeat: the service answers a known key with the original ack. */
  readonly idempotencyKey?: string | undefined;
  /** Where this job's terminal event goes, in place of the account's default. */
  readonly webhook?: string | undefined;
}

export interface SubmitOptions extends SendOptions {
  /** An earlier send of this key may have created the job. Then only an acknowledgement proves the outcome. Default false. */
  readonly mayExist?: boolean | undefined;
}

type Judgement =
  | { readonly kind: "ack"; readonly ack: Omit<SubmitAck, "sends"> }
  | {
      readonly kind: "again";
      readonly unknown: boolean;
      readonly error: Error;
      readonly retryAfterMs: number | null;
      readonly limited: boolean;
    }
  | { readonly kind: "given up"; readonly unknown: boolean; readonly error: Error };

/**
 * Submits one job. With a key it is sent again, bounded, after lost answers, 408, 429 and 5xx; without one it is sent
 * once. Throws ApiError for the service's own refusal to a first send (400, 401, 402, 403, 404, 410, 422 and 429 with its
 * envelope), ConnectionError or TimeoutError with `sent: false` when nothing left this machine, and UnknownOutcomeError in
 * every case between: an answer without the envelope, a redirect, a 409 or a 5xx does not prove that no job was created.
 */
export function submit(
  context: HttpContext,
  requested: SubmitRequest,
  options: SubmitOptions = {},
): Promise<SubmitAck> {
  return telemetry.span("showrunner.submit", { "showrunner.model": requested.model }, async (span) => {
    const ack = await submitWithRetries(context, requested, options);
    span.set({ "showrunner.job_id": ack.jobId, "showrunner.replayed": ack.replayed });
    return ack;
  });
}

async function submitWithRetries(
  context: HttpContext,
  requested: SubmitRequest,
  options: SubmitOptions,
): Promise<SubmitAck> {
  const request = requestOf(requested);
  const startedAt = context.clock.now();
  const key = requested.idempotencyKey ?? null;
  let unknown = options.mayExist ?? false;
  let earlierSend = unknown;
  const giveUp = (cause: unknown) =>
    unknown ? new UnknownOutcomeError({ model: requested.model, idempotencyKey: key, cause, earlierSend }) : cause;

  let sends = 0;
  for (let failures = 1; ; ) {
    sends++;
    earlierSend = unknown;
    const result = await send(context, request, options).catch(
      (reason: unknown): Sent => ({ kind: "aborted", sent: false, reason }),
    );
    if (result.kind === "aborted") {
      unknown ||= result.sent;
      throw giveUp(result.reason);
    }
    const judged = judge(context, request, options, result);
    if (judged.kind === "ack") return { ...judged.ack, sends };
    unknown ||= judged.unknown;
    if (judged.kind === "given up") throw giveUp(judged.error);
    const now = context.clock.now();
    const outOfTime =
      now - startedAt >= context.retry.maxElapsedMs || now >= (options.sendBefore ?? Number.POSITIVE_INFINITY);
    if (key === null || outOfTime || failures >= context.retry.maxAttempts) throw giveUp(judged.error);
    // The pacer holds the next send back until the limit allows it; waiting here as well would be waiting twice.
    if (judged.limited) continue;
    const waitMs = backoffMs(context.retry, failures++, judged.retryAfterMs, context.random());
    context.logger.warn(
      { model: requested.model, unknown, waitMs },
      "the outcome of the submit is unknown, sending it again with its key",
    );
    await sleep(context.clock, waitMs, options.signal).catch((reason: unknown) => {
      throw giveUp(reason);
    });
  }
}

function requestOf(requested: SubmitRequest): ApiRequest {
  return {
    method: "POST",
    path: `/models/${segment(requested.model)}`,
    json: { input: requested.input, idempotency_key: requested.idempotencyKey, webhook: requested.webhook },
    requestClass: "submit",
    repeat: requested.idempotencyKey === undefined ? "never" : "always",
    priority: 10,
  };
}

/** Says what one send of a submit means: an ack, something to send again at once, or something for the caller to judge. */
function judge(
  context: HttpContext,
  request: ApiRequest,
  options: SendOptions,
  result: Exclude<Sent, { kind: "aborted" }>,
): Judgement {
  const answer = successOf(result);
  if (answer) return judgeSuccess(context, request, answer);
  const error = errorOf(context, request, options, result);
  if (!(error instanceof ApiError)) {
    return { kind: "again", unknown: "sent" in error && error.sent, error, retryAfterMs: null, limited: false };
  }
  const { status, retryAfterMs } = error;
  const unknown = !ownRefusals.has(verdictOf("submit", answerOf(error)!));
  if (status !== 408 && status !== 429 && status < 500) return { kind: "given up", unknown, error };
  return { kind: "again", unknown, error, retryAfterMs, limited: status === 429 };
}

/** Answers to a first send that prove that the service created no job. */
const ownRefusals: ReadonlySet<VerdictName> = new Set([
  "refused",
  "media renewed",
  "unfunded",
  "out of scope",
  "caller refused",
  "limited",
]);

/** A success that cannot be read still means that a job may exist. */
function judgeSuccess(context: HttpContext, request: ApiRequest, answer: Extract<Sent, { kind: "answer" }>): Judgement {
  try {
    const wire = decode(submitAck, answer.body, request);
    const resultPath = wire.result_url ?? headerText(answer.headers, "location");
    const jobPath = `${context.base.href}/jobs/${segment(wire.job_id)}`;
    const ack: Omit<SubmitAck, "sends"> = {
      jobId: wire.job_id,
      model: wire.model,
      status: wire.status,
      statusUrl: (wire.status_url && resolveServicePath(context.base, wire.status_url)) || `${jobPath}/status`,
      resultUrl: (resultPath && resolveServicePath(context.base, resultPath)) || jobPath,
      estimatedCompletionAt: wire.estimated_completion_at,
      replayed: headerText(answer.headers, "x-idempotent-replayed")?.toLowerCase() === "true",
    };
    return { kind: "ack", ack };
  } catch (error) {
    if (!(error instanceof MalformedResponseError)) throw error;
    return { kind: "again", unknown: true, error, retryAfterMs: null, limited: false };
  }
}
