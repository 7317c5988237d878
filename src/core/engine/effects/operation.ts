import type { RunEvent } from "../../journal/events.ts";
import { type AttemptState, attemptOf, planStep } from "../../journal/state.ts";
import { type CleanText, cleanText, ownText, sentence } from "../../kit/clean-text.ts";
import { DAY_MS } from "../../kit/duration.ts";
import type { GenerateStep, StatusAnswer, VideoModel } from "../../plan/kinds/generate.ts";
import { isWordOfWork, type StatusReply } from "../../providers.ts";
import type { Command } from "../../run/command.ts";
import { type Asked, askStatus } from "../generate/ask-status.ts";
import {
  completedEvents,
  keepOutputs,
  learnSecretsOf,
  madeOf,
  settledEvent,
  UnkeptError,
  unsealed,
} from "../generate/keep-answer.ts";
import { asModerated, saidBy } from "../generate/verdict.ts";
import { deferToNextDrive, done, type EffectResult, isNewDoubt, lookAgainMs } from "../service/service-answers.ts";
import type { Effect, EffectContext } from "./effect.ts";
import { localCode } from "./local-code.ts";

type Operation = Extract<Command, { readonly type: "operation" }>;

const ANSWER_MS = 2 * 60_000;
/** Maximum age of an operation without a result. After that, a person must resolve it. */
const LONGEST_MS = DAY_MS;

export const operation: Effect<"operation"> = async (command, context) => {
  const attempt = attemptOf(context.state, command);
  const found = localCode(context, command.step, "generate");
  // An unresolved operation can wait without its code. It is polled only where the code is available.
  if ("without" in found) return attempt.phase === "unresolved" ? deferToNextDrive() : found.without;
  const plan = planStep(context.state, command.step) as GenerateStep;
  const model = found.code.model as VideoModel;
  if (model.doStatus === undefined) {
    return unresolved(command, attempt, ownText(`${plan.model} cannot report the status of a request`));
  }
  try {
    const abortSignal = AbortSignal.any([context.signal, AbortSignal.timeout(ANSWER_MS)]);
    const operation = attempt.operation === undefined ? undefined : await unsealed(attempt.operation, model);
    const asked = await askStatus(model, { operation, abortSignal });
    // A response about a pending operation is not recorded, so the model's secrets need not be removed from it.
    if (asked.answer?.status !== "pending") await learnSecretsOf(model);
    return await ended(command, asked, { plan, attempt }, context);
  } catch (error) {
    if (context.signal.aborted) return done();
    await learnSecretsOf(model);
    return askAgain(command, attempt, cleanText(`the status could not be read: ${saidBy(error)}`), context);
  }
};

interface About {
  readonly plan: GenerateStep;
  readonly attempt: AttemptState;
}

async function ended(
  command: Operation,
  { answer: statusAnswer, reply }: Asked,
  { plan, attempt }: About,
  context: EffectContext,
): Promise<EffectResult> {
  const { step, attempt: n } = command;
  const target = { step, attempt: n };
  const found: readonly RunEvent[] = attempt.phase === "unresolved" ? [{ type: "job.found", ...target }] : [];
  const started: readonly RunEvent[] = attempt.phase === "inQueue" ? [{ type: "job.started", ...target }] : [];
  const ageMs = ageOf(attempt, context);
  const status = statusAnswer?.status;
  if ((status === "pending" || status === "error") && !isWordOfWork(plan.provider, status, reply)) {
    return askAgain(command, attempt, unreadable(statusAnswer, reply), context);
  }
  switch (status) {
    case "pending":
      if (ageMs > LONGEST_MS) return tooOld(command, attempt, ownText("the job took more than 24 hours"), context);
      return {
        end: "retryLater",
        inMs: nextAskMs(ageMs),
        events: [...found, ...started, ...noMoreDoubt(command, attempt)],
      };
    case "completed":
      try {
        const kept = await keepOutputs(plan, madeOf(statusAnswer.videos ?? []), context);
        const [bad] = kept.outputs;
        const isNothing = kept.copies.every((copy) => copy === null);
        if (isNothing)
          return doubted(
            command,
            { plan, attempt, kept: kept.unfit },
            bad?.error?.message ?? ownText("it is empty"),
            context,
          );
        return done(...found, ...completedEvents(plan, attempt, { kept, metadata: statusAnswer.providerMetadata }));
      } catch (error) {
        if (!(error instanceof UnkeptError)) throw error;
        if (!error.isUnfetched) throw error.cause;
        return doubted(command, { plan, attempt, kept: error.kept }, error.said, context);
      }
    case "error":
      return doubted(
        command,
        { plan, attempt, said: statusAnswer, reply },
        saidBy(withBody(statusAnswer.error ?? "the request failed; the provider gave no reason", reply)),
        context,
      );
    default:
      return askAgain(
        command,
        attempt,
        ownText("the status could not be read: the response contains no status that Showrunner recognizes"),
        context,
      );
  }
}

function unreadable(statusAnswer: StatusAnswer, reply: StatusReply | null): CleanText {
  const answer = reply === null ? "" : ` (${reply.httpStatus === null ? "no response" : `HTTP ${reply.httpStatus}`})`;
  const why =
    statusAnswer.status === "error"
      ? saidBy(withBody(statusAnswer.error, reply))
      : ownText("the response contains no known status");
  return cleanText(`the status could not be read${answer}: ${why}`);
}

/**
 * Makes an error with this message and the response's body, because some model packages omit the body from their
 * errors.
 */
function withBody(error: string, reply: StatusReply | null): Error {
  const responseBody = reply?.body === undefined ? undefined : JSON.stringify(reply.body);
  return Object.assign(new Error(error), responseBody !== undefined && { responseBody });
}

function ageOf({ submittedAt }: AttemptState, { now }: EffectContext): number {
  return now() - (submittedAt ?? now());
}

function noMoreDoubt({ step, attempt }: Operation, { doubt }: AttemptState): readonly RunEvent[] {
  if (doubt === undefined) return [];
  return [
    { type: "job.doubted", step, attempt, message: ownText("the provider reports work in progress"), isOver: true },
  ];
}

function nextAskMs(ageMs: number): number {
  return Math.round(Math.min(10_000, Math.max(1_000, ageMs / 10)));
}

/**
 * Ends the job with a reported error only if the error persists, because some models report a failed poll as a failed
 * operation.
 */
function doubted(
  command: Operation,
  {
    plan,
    attempt,
    said,
    reply = null,
    kept,
  }: About & {
    readonly said?: StatusAnswer;
    readonly reply?: StatusReply | null;
    readonly kept?: readonly string[] | undefined;
  },
  message: CleanText,
  context: EffectContext,
): EffectResult {
  const target = { step: command.step, attempt: command.attempt };
  if (attempt.phase === "unresolved") return deferToNextDrive();
  if (attempt.doubt?.isUnread === true) {
    const first: RunEvent = { type: "job.doubted", ...target, message, saidForMs: 0 };
    return { end: "retryLater", inMs: lookAgainMs(0)!, events: [...noMoreDoubt(command, attempt), first] };
  }
  const saidForMs = saidFor(attempt.doubt, context.now());
  const inMs = lookAgainMs(saidForMs);
  if (inMs !== null)
    return { end: "retryLater", inMs, events: [{ type: "job.doubted", ...target, message, saidForMs }] };
  if (said === undefined) return unresolved(command, attempt, sentence`the result is ready, but ${message}`, kept);
  // Providers forget operations. After this long, "not found" says nothing about the result.
  if (ageOf(attempt, context) > LONGEST_MS) return unresolved(command, attempt, message);
  const failed = { code: ownText("PROVIDER_FAILED"), message, retryable: false };
  const error = said.status === "error" ? asModerated(failed, withBody(said.error, reply), null) : failed;
  const { holdMicros } = attempt;
  const bill = settledEvent(target, { provider: plan.provider, metadata: said.providerMetadata, holdMicros });
  return done({ type: "job.failed", ...target, error }, bill);
}

/**
 * Returns how long the provider's responses have been inconclusive. A long gap between two responses counts as one poll
 * interval, because the machine may have slept.
 */
function saidFor(doubt: AttemptState["doubt"], now: number): number {
  const { saidForMs, saidAt } = doubt ?? {};
  if (saidForMs === undefined || saidAt === undefined) return 0;
  return saidForMs + Math.min(Math.max(0, now - saidAt), lookAgainMs(saidForMs) ?? 0);
}

function askAgain(command: Operation, attempt: AttemptState, message: CleanText, context: EffectContext): EffectResult {
  if (attempt.phase === "unresolved" || ageOf(attempt, context) > LONGEST_MS) {
    return tooOld(command, attempt, message, context);
  }
  const at = context.now();
  const unread = attempt.doubt?.isUnread === true ? attempt.doubt : undefined;
  const saidForMs = saidFor(unread, at);
  const isNews = isNewDoubt(unread, message, at) || unread?.saidForMs !== saidForMs;
  const target = { step: command.step, attempt: command.attempt };
  const noted: RunEvent = { type: "job.doubted", ...target, message, saidForMs, isUnread: true };
  const sinceMs = Math.max(0, at - (unread?.since ?? at));
  const inMs = lookAgainMs(saidForMs) ?? Math.round(Math.min(60_000, Math.max(2_000, sinceMs / 2)));
  const isOther = attempt.doubt !== undefined && unread === undefined;
  return { end: "retryLater", inMs, events: isNews ? [...(isOther ? noMoreDoubt(command, attempt) : []), noted] : [] };
}

/**
 * Gives up on an operation that is too old. If the run ended while the operation was in progress, the next resume
 * handles it; otherwise, a person must resolve it.
 */
function tooOld(command: Operation, attempt: AttemptState, message: CleanText, { state }: EffectContext): EffectResult {
  return state.steps[command.step]!.isGivenUp === true ? deferToNextDrive() : unresolved(command, attempt, message);
}

function unresolved(
  { step, attempt }: Operation,
  { phase }: AttemptState,
  message: CleanText,
  kept: readonly string[] = [],
): EffectResult {
  if (phase === "unresolved") return deferToNextDrive();
  const unfit = kept.length > 0 && { unfit: kept };
  return deferToNextDrive({ type: "job.unresolved", step, attempt, message, cause: "no answer", ...unfit });
}
