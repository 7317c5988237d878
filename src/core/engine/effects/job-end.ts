import { isTerminal, type JobResult, type StatusClass } from "../../api/index.ts";
import type { OutputFacts, RunEvent } from "../../journal/events.ts";
import { type AttemptState, attemptOf, planStep } from "../../journal/state.ts";
import { type CleanText, cleanContentType, cleanId, cleanText, ownText, sentence } from "../../kit/clean-text.ts";
import { outputsLiveMs } from "../../kit/deployments.ts";
import type { Command } from "../../run/command.ts";
import {
  deferToNextDrive,
  done,
  type EffectResult,
  foreignError,
  isNewDoubt,
  lookAgainMs,
  MOST_CODE,
} from "../service/service-answers.ts";
import type { EffectContext } from "./effect.ts";

export type Follow = Extract<Command, { readonly type: "follow" }>;

/** `outcome` is `open` if the job, once reported as ended, is in progress again. */
interface Ended {
  readonly job: JobResult;
  readonly outcome: StatusClass;
}

type JobContext = Pick<EffectContext, "state" | "now" | "freshUrls" | "client" | "signal">;

export async function jobEnd(command: Follow, context: JobContext, { job, outcome }: Ended): Promise<EffectResult> {
  const { step, attempt: n } = command;
  const { state, freshUrls } = context;
  const attempt = attemptOf(state, command);
  const plan = planStep(state, step);
  const other = job.jobId === command.jobId ? await contradiction(attempt, job, context) : null;
  if (other !== null) return doubted(command, attempt, { job, lack: other, now: context.now(), isOther: true });
  const lack = lackOf(command, { job, outcome }, plan.kind === "job" ? plan.outputs : 1);
  const isAccepted = attempt.doubt?.isAccepted === true && outcome === "completed";
  if (lack !== null && !isAccepted) return doubted(command, attempt, { job, lack, now: context.now() });
  // Keep the URLs, so that the download need not read the job again.
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

/** Returns why this cannot be the request's job; null if it can, or if a person adopted it. */
async function contradiction(attempt: AttemptState, job: JobResult, context: JobContext): Promise<CleanText | null> {
  const { key, isAdopted, sentByService, intendedAt } = attempt;
  if (isAdopted === true) return null;
  const id = cleanText(job.jobId, 300);
  const found = ownText("find the job that belongs to this request");
  if (job.idempotencyKey != null) {
    return job.idempotencyKey === key
      ? null
      : sentence`${id} does not have the idempotency key of the request; ${found}`;
  }
  const createdAt = Date.parse(job.createdAt ?? "");
  const sentAt = Math.min(
    sentByService?.from ?? Number.POSITIVE_INFINITY,
    intendedAt! + context.client.clockOffsetMs(),
  );
  if (createdAt < sentAt - CLOCK_MS) {
    const [createdText, sentText] = [createdAt, sentAt].map((at) => ownText(new Date(at).toISOString()));
    return sentence`${id} was created at ${createdText!}, before its request was sent at ${sentText!}; ${found}`;
  }
  if (!isOtherPrompt(attempt, job.prompt ?? null) || (await mayRewrite(attempt, context))) return null;
  return sentence`${id} did not run with the prompt of the request; ${found}`;
}

/** True if neither prompt contains the other; services may shorten prompts or use templates. */
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
    return sentence`${id} was completed, but the service now reports ${cleanText(job.status, MOST_CODE)}`;
  if (outcome !== "completed") return null;
  const count = job.outputs.length;
  if (count === 0) return sentence`${id} is completed but lists no outputs`;
  if (count < expected) return sentence`${id} is completed but lists only ${count} of ${expected} outputs`;
  const assets = job.outputs.flatMap(({ assetId }) => assetId ?? []);
  if (new Set(assets).size < assets.length) return sentence`${id} is completed but lists an asset more than once`;
  for (const { index, status, assetId, voiceId, url } of job.outputs) {
    if (!isTerminal(status))
      return sentence`${id} is completed, but its output ${index} is ${cleanText(status, MOST_CODE)}`;
    const isThere = assetId !== null || voiceId !== null || url !== null;
    if (status === "COMPLETED" && !isThere)
      return sentence`${id} is completed, but its output ${index} has no asset, voice or URL`;
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
  // The cost is already known, whatever happens to the outputs.
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

/** `reported`: an impossible cost that was already recorded. */
export function billed(
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
