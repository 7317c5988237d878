import {
  type ApiError,
  classifyStatus,
  isTerminal,
  type JobResult,
  type JobStatusView,
  type PlannedPoll,
  type StatusClass,
} from "../../api/index.ts";
import type { OutputFacts, RunEvent } from "../../journal/events.ts";
import { type AttemptState, attemptOf, planStep } from "../../journal/state.ts";
import type { Progress } from "../../journal/store.ts";
import { type CleanText, cleanContentType, cleanId, cleanText, ownText, sentence } from "../../kit/clean-text.ts";
import { outputsLiveMs } from "../../kit/deployments.ts";
import { type Command, commandId } from "../../run/command.ts";
import {
  deferToNextDrive,
  done,
  type EffectResult,
  foreignError,
  isNewDoubt,
  journalError,
  judge,
  lookAgainMs,
  MOST_CODE,
  retryOrPause,
} from "../service/service-answers.ts";
import { type Effect, type EffectContext, type Polls, placed } from "./effect.ts";

const AGAIN_MS = 5_000;

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

function followFailed(
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

function progressOf(step: string, { progress, estimatedCompletionAt }: JobStatusView): Progress {
  const estimate = Date.parse(estimatedCompletionAt ?? "");
  return { step, fraction: progress, estimatedCompletionAt: Number.isNaN(estimate) ? null : estimate };
}

async function readAgain(command: Follow, context: EffectContext): Promise<EffectResult> {
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

/** Maximum extra delay, as a fraction of the delay. The actual value depends on the job id, to spread out polls. */
const SPREAD = 0.05;

/**
 * Delay before a job's status is fetched again, if a webhook reported that the job ended but the status does not show
 * it yet.
 */
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

type Follow = Extract<Command, { readonly type: "follow" }>;

/**
 * A job that the service has reported as ended. `outcome` is `open` if the service has since reported it as in
 * progress.
 */
interface Ended {
  readonly job: JobResult;
  readonly outcome: StatusClass;
}

type JobContext = Pick<EffectContext, "state" | "now" | "freshUrls" | "client" | "signal">;

async function jobEnd(command: Follow, context: JobContext, { job, outcome }: Ended): Promise<EffectResult> {
  const { step, attempt: n } = command;
  const { state, freshUrls } = context;
  const attempt = attemptOf(state, command);
  const plan = planStep(state, step);
  const other = job.jobId === command.jobId ? await contradiction(attempt, job, context) : null;
  if (other !== null) return doubted(command, attempt, { job, lack: other, now: context.now(), isOther: true });
  const lack = lackOf(command, { job, outcome }, plan.kind === "job" ? plan.outputs : 1);
  const isAccepted = attempt.doubt?.isAccepted === true && outcome === "completed";
  if (lack !== null && !isAccepted) return doubted(command, attempt, { job, lack, now: context.now() });
  const readAt = context.now();
  for (const { index, url } of job.outputs) if (url !== null) freshUrls.set(`${job.jobId} ${index}`, { url, readAt });
  const isDoubted = attempt.phase === "unresolved" && attempt.doubt !== undefined;
  const found: readonly RunEvent[] = isDoubted ? [{ type: "job.found", step, attempt: n }] : [];
  return done(
    ...found,
    ...finished(command, job, { outcome, keptUntil: keptUntil(attempt, job, context) }),
    ...billed(command, job, attempt.impossibleBill),
  );
}

const CLOCK_MS = 10 * 60_000;

/** Returns why the request cannot have created this job; null if it can, or if a person assigned the job to it. */
async function contradiction(attempt: AttemptState, job: JobResult, context: JobContext): Promise<CleanText | null> {
  const { key, isAdopted, sentByService, intendedAt } = attempt;
  if (isAdopted === true) return null;
  const id = cleanText(job.jobId, 300);
  const found = ownText("find the job that belongs to this request");
  if (job.idempotencyKey != null) {
    return job.idempotencyKey === key ? null : sentence`${id} was created with a different idempotency key; ${found}`;
  }
  const createdAt = Date.parse(job.createdAt ?? "");
  const sentAt = Math.min(
    sentByService?.from ?? Number.POSITIVE_INFINITY,
    intendedAt! + context.client.clockOffsetMs(),
  );
  if (createdAt < sentAt - CLOCK_MS) {
    const [createdText, sentText] = [createdAt, sentAt].map((at) => ownText(new Date(at).toISOString()));
    return sentence`${id} was created at ${createdText!}, before the request was sent at ${sentText!}; ${found}`;
  }
  if (!isOtherPrompt(attempt, job.prompt ?? null) || (await mayRewrite(attempt, context))) return null;
  return sentence`${id} ran with a different prompt from the one in the request; ${found}`;
}

/**
 * Returns true if the job ran with a different prompt. A prompt that contains a text of the request, or is part of one,
 * counts as the same, because a service may shorten the prompt or insert it into a template.
 */
function isOtherPrompt({ input }: AttemptState, prompt: string | null): boolean {
  const { prompt: asked, text } = input as { readonly prompt?: unknown; readonly text?: unknown };
  const ran = plainWords(prompt ?? "");
  if (ran === "" || (typeof asked !== "string" && typeof text !== "string")) return false;
  const texts = Object.values(input as object).flatMap((value) => (typeof value === "string" ? plainWords(value) : []));
  return texts.every((words) => words !== "" && !words.includes(ran) && !ran.includes(words));
}

function plainWords(text: string): string {
  return (
    text
      .normalize("NFKC")
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu)
      ?.join(" ") ?? ""
  );
}

async function mayRewrite({ model, input }: AttemptState, { client, signal }: JobContext): Promise<boolean> {
  const { enhance_prompt: isEnhanced } = input as { readonly enhance_prompt?: unknown };
  if (isEnhanced !== undefined) return isEnhanced !== false;
  return client.model(model!, { signal }).then(
    ({ inputSchema }) => JSON.stringify(inputSchema ?? null).includes('"enhance_prompt"'),
    () => true,
  );
}

function lackOf({ jobId }: Follow, { job, outcome }: Ended, expected: number): CleanText | null {
  const id = cleanText(jobId, 300);
  if (job.jobId !== jobId) return sentence`the service returned job ${cleanText(job.jobId, 300)} instead of ${id}`;
  if (outcome === "open")
    return sentence`${id} had completed, but the service now reports ${cleanText(job.status, MOST_CODE)}`;
  if (outcome !== "completed") return null;
  const count = job.outputs.length;
  if (count === 0) return sentence`${id} has completed but lists no outputs`;
  if (count < expected) return sentence`${id} has completed but lists only ${count} of ${expected} outputs`;
  const assets = job.outputs.flatMap(({ assetId }) => assetId ?? []);
  if (new Set(assets).size < assets.length) return sentence`${id} has completed but lists an asset more than once`;
  for (const { index, status, assetId, voiceId, url } of job.outputs) {
    if (!isTerminal(status))
      return sentence`${id} has completed, but its output ${index} is ${cleanText(status, MOST_CODE)}`;
    const isThere = assetId !== null || voiceId !== null || url !== null;
    if (status === "COMPLETED" && !isThere)
      return sentence`${id} has completed, but its output ${index} has no asset, voice or URL`;
  }
  return null;
}

function doubted(
  { step, attempt: n, jobId }: Follow,
  { doubt, phase, costMicros, impossibleBill }: AttemptState,
  {
    job,
    lack,
    now,
    isOther = false,
  }: { readonly job: JobResult; readonly lack: CleanText; readonly now: number; readonly isOther?: boolean },
): EffectResult {
  const target = { step, attempt: n };
  const isUnresolved = phase === "unresolved";
  const events: RunEvent[] = [];
  if (isNewDoubt(doubt, lack, now)) events.push({ type: "job.doubted", ...target, message: lack });
  // Record the cost now, because it does not depend on the outputs.
  const isBill = job.jobId === jobId && !isOther && costMicros === null && !isUnresolved;
  if (isBill) events.push(...billed(target, job, impossibleBill));
  const inMs = lookAgainMs(now - (doubt?.since ?? now));
  if (inMs !== null) return { end: "retryLater", inMs, events };
  const cause = isOther ? ({ cause: "another's job", jobId } as const) : ({ cause: "incomplete" } as const);
  if (!isUnresolved) events.push({ type: "job.unresolved", ...target, message: lack, ...cause });
  return deferToNextDrive(...events);
}

function keptUntil({ submittedAt }: AttemptState, { createdAt }: JobResult, { client, now }: JobContext): number {
  const statedAt = Date.parse(createdAt ?? "");
  const madeAt = Number.isNaN(statedAt) ? (submittedAt ?? now()) + client.clockOffsetMs() : statedAt;
  return madeAt + outputsLiveMs(client.baseUrl);
}

interface End {
  readonly outcome: StatusClass;
  readonly keptUntil: number;
}

function finished({ step, attempt }: Follow, job: JobResult, { outcome, keptUntil }: End): readonly RunEvent[] {
  if (outcome === "completed") {
    const outputs = job.outputs.map((output) => outputFacts(output, keptUntil));
    return [{ type: "job.completed", step, attempt, outputs }];
  }
  const error =
    job.error === null
      ? foreignError({ code: "UNKNOWN", message: `the job ended with status ${job.status}`, retryable: false })
      : foreignError(job.error);
  return [{ type: "job.failed", step, attempt, error }];
}

function billed(
  { step, attempt }: { readonly step: string; readonly attempt: number },
  { costMicros, impossibleCost }: Pick<JobResult, "costMicros" | "impossibleCost">,
  reported: string | undefined,
): readonly RunEvent[] {
  if (costMicros !== null) return [{ type: "job.settled", step, attempt, costMicros }];
  if (impossibleCost == null) return [];
  const cost = cleanText(impossibleCost, 100);
  return cost === reported ? [] : [{ type: "job.bill.impossible", step, attempt, said: cost }];
}

function outputFacts(output: JobResult["outputs"][number], keptUntil: number): OutputFacts {
  const { index, assetId, voiceId, contentType, width, height, durationMs, fps, error } = output;
  const status: OutputFacts["status"] =
    output.status === "COMPLETED" ? "COMPLETED" : output.status === "EXPIRED" ? "EXPIRED" : "FAILED";
  const statedUntil = Date.parse(output.expiresAt ?? "");
  const expiresAt = Number.isNaN(statedUntil) ? keptUntil : statedUntil;
  return {
    index,
    status,
    assetId: cleanId(assetId),
    voiceId: cleanId(voiceId),
    contentType: cleanContentType(contentType),
    width,
    height,
    durationMs,
    fps,
    error: error === null ? null : foreignError(error, "output"),
    // Voices do not expire.
    ...(status !== "FAILED" && voiceId === null && { expiresAt }),
  };
}
