import { isTerminal, type JobResult, type StatusClass } from "../../api/index.ts";
import { type CleanText, cleanContentType, cleanId, cleanText, sentence } from "../../clean-text.ts";
import type { OutputFacts, RunEvent } from "../../journal/events.ts";
import { type AttemptState, planStep } from "../../journal/state.ts";
import type { Command } from "../../run/command.ts";
import { foreignError, MOST_CODE } from "../service/foreign-error.ts";
import { isNewDoubt, lookAgainMs } from "../service/service-answers.ts";
import { done, type EffectContext, type EffectResult, left } from "./effect.ts";

export type Follow = Extract<Command, { readonly type: "follow" }>;

/** `outcome`: what its status means; `open` where it is under way once more. */
interface Ended {
  readonly job: JobResult;
  readonly outcome: StatusClass;
}

/** The end of a job, as the job itself reports it: its result once that is whole, else when to read it again. */
export function jobEnd(
  command: Follow,
  context: Pick<EffectContext, "state" | "now" | "freshUrls">,
  { job, outcome }: Ended,
): EffectResult {
  const { step, attempt: n } = command;
  const { state, freshUrls } = context;
  const attempt = state.steps[step]!.attempts[n - 1]!;
  const plan = planStep(state, step);
  const lack = lackOf(command, { job, outcome }, plan.kind === "job" ? plan.outputs : 1);
  const isAccepted = attempt.doubt?.isAccepted === true && outcome === "completed";
  if (lack !== null && !isAccepted) return doubted(command, attempt, { job, lack, now: context.now() });
  // Spares the download a read of the job.
  for (const { index, url } of job.outputs) if (url !== null) freshUrls.set(`${job.jobId} ${index}`, url);
  const isDoubted = attempt.phase === "unresolved" && attempt.doubt !== undefined;
  const found: readonly RunEvent[] = isDoubted ? [{ type: "job.found", step, attempt: n }] : [];
  return done(...found, ...finished(command, job, outcome), ...billed(command, job, attempt.impossibleBill));
}

/** What an answer lacks to be the whole end of the job; null where it lacks nothing. */
function lackOf({ jobId }: Follow, { job, outcome }: Ended, expected: number): CleanText | null {
  const own = cleanText(jobId, 300);
  if (job.jobId !== jobId) return sentence`the answer about ${own} is about ${cleanText(job.jobId, 300)}`;
  if (outcome === "open")
    return sentence`${own} was completed, and now the service says ${cleanText(job.status, MOST_CODE)}`;
  if (outcome !== "completed") return null;
  const count = job.outputs.length;
  if (count === 0) return sentence`${own} is completed and lists no outputs`;
  if (count < expected) return sentence`${own} is completed and lists ${count} of ${expected} outputs`;
  const assets = job.outputs.flatMap(({ assetId }) => assetId ?? []);
  if (new Set(assets).size < assets.length) return sentence`${own} is completed and lists one asset as several outputs`;
  for (const { index, status, assetId, voiceId, url } of job.outputs) {
    if (!isTerminal(status))
      return sentence`${own} is completed, and its output ${index} is ${cleanText(status, MOST_CODE)}`;
    const isThere = assetId !== null || voiceId !== null || url !== null;
    if (status === "COMPLETED" && !isThere)
      return sentence`${own} is completed, and its output ${index} has neither asset nor URL`;
  }
  return null;
}

/** Read again for a while, counted from the first such answer in the journal; then a person decides. */
function doubted(
  { step, attempt: n, jobId }: Follow,
  { doubt, phase, costMicros, impossibleBill }: AttemptState,
  { job, lack, now }: { readonly job: JobResult; readonly lack: CleanText; readonly now: number },
): EffectResult {
  const target = { step, attempt: n };
  const isUnresolved = phase === "unresolved";
  const events: RunEvent[] = [];
  if (isNewDoubt(doubt, lack, now)) events.push({ type: "job.doubted", ...target, message: lack });
  // What it costs is known already, whatever becomes of its outputs.
  const isBill = job.jobId === jobId && costMicros === null && !isUnresolved;
  if (isBill) events.push(...billed(target, job, impossibleBill));
  const inMs = lookAgainMs(now - (doubt?.since ?? now));
  if (inMs !== null) return { end: "again", inMs, events };
  if (!isUnresolved) events.push({ type: "job.unresolved", ...target, message: lack, cause: "incomplete" });
  return left(...events);
}

function finished({ step, attempt }: Follow, job: JobResult, outcome: string): readonly RunEvent[] {
  if (outcome === "completed") {
    return [{ type: "job.completed", step, attempt, outputs: job.outputs.map(outputFacts) }];
  }
  const error =
    job.error === null
      ? foreignError({ code: "UNKNOWN", message: `the job ended as ${job.status}`, retryable: false })
      : foreignError(job.error);
  return [{ type: "job.failed", step, attempt, error }];
}

/** What the service says of the cost; `reported`: what it said before that cannot be. */
export function billed(
  { step, attempt }: { readonly step: string; readonly attempt: number },
  { costMicros, impossibleCost }: Pick<JobResult, "costMicros" | "impossibleCost">,
  reported: string | undefined,
): readonly RunEvent[] {
  if (costMicros !== null) return [{ type: "job.settled", step, attempt, costMicros }];
  if (impossibleCost == null) return [];
  const said = cleanText(impossibleCost, 100);
  return said === reported ? [] : [{ type: "job.bill.impossible", step, attempt, said }];
}

function outputFacts(output: JobResult["outputs"][number]): OutputFacts {
  const { index, assetId, voiceId, contentType, width, height, durationMs, fps, error } = output;
  const status: OutputFacts["status"] =
    output.status === "COMPLETED" ? "COMPLETED" : output.status === "EXPIRED" ? "EXPIRED" : "FAILED";
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
  };
}
