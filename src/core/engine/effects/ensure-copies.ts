import { answerOf, DownloadError } from "../../api/index.ts";
import type { OutputFacts, RunEvent } from "../../journal/events.ts";
import { type AttemptState, lastAttempt, outputsOf, planStep, type RunState } from "../../journal/state.ts";
import { ownText } from "../../kit/clean-text.ts";
import { dollars } from "../../kit/money.ts";
import { traitsOf } from "../../plan/index.ts";
import type { UploadStep } from "../../plan/kinds/upload.ts";
import { isStoreError, MediaLostError } from "../media/media-errors.ts";
import { downloadOutput } from "../media/output-damage.ts";
import { done, type EffectResult, judge, retryOrPause } from "../service/service-answers.ts";
import type { Effect, EffectContext } from "./effect.ts";

type Context = Pick<EffectContext, "client" | "media" | "state" | "signal">;

type Source =
  | { readonly from: "file"; readonly step: string; readonly path: string }
  | {
      readonly from: "job";
      readonly step: string;
      readonly jobId: string;
      readonly index: number;
      readonly stated: OutputFacts;
    }
  | { readonly from: "code"; readonly step: string };

/** Restores damaged or missing copies. Throws {@link MediaLostError} if the content no longer exists anywhere. */
export async function ensureCopies(hashes: Iterable<string>, context: Context): Promise<void> {
  for (const sha256 of new Set(hashes)) {
    const found = await context.media.verify(sha256);
    if (found === "intact") continue;
    const sources = sourcesOf(context.state, sha256);
    if (!(await fetchedAgain(sha256, sources, context))) throw lost(context.state, { sha256, found, sources });
  }
}

export async function withoutCopies(hashes: Iterable<string>, context: Context): Promise<EffectResult | null> {
  try {
    await ensureCopies(hashes, context);
    return null;
  } catch (error) {
    if (error instanceof MediaLostError) return mediaLost(error);
    return retryOrPause(judge("download", error), context);
  }
}

export function mediaLost(failure: MediaLostError, events: readonly RunEvent[] = []): EffectResult {
  const { step, message } = failure;
  const rerun = step !== null && { rerun: step };
  return {
    end: "failed",
    events: [...events, { type: "run.paused", reason: "files", message: ownText(message), ...rerun }],
    failure,
  };
}

async function fetchedAgain(sha256: string, sources: readonly Source[], context: Context): Promise<boolean> {
  for (const source of sources) {
    if ((await fetched(source, context).catch(missingOrThrow)) === sha256) return true;
  }
  return false;
}

async function fetched(source: Source, { client, media, signal }: Context): Promise<string | null> {
  switch (source.from) {
    case "file":
      return (await media.put({ path: source.path })).sha256;
    case "job": {
      const target = media.tmpPath();
      const { jobId, index, stated } = source;
      await downloadOutput(client, { jobId, outputIndex: index, assetId: stated.assetId }, { target, stated, signal });
      return (await media.adopt(target)).sha256;
    }
    case "code":
      return null;
    default:
      return source satisfies never;
  }
}

function missingOrThrow(error: unknown): null {
  if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
  const answer = answerOf(error);
  if (answer === null ? error instanceof DownloadError : judge("download", error).verdict === "no copy") return null;
  throw error;
}

function sourcesOf({ planned, steps }: RunState, sha256: string): readonly Source[] {
  return planned.plan.steps.flatMap((plan): readonly Source[] => {
    const step = steps[plan.path]!;
    const { file } = traitsOf(plan);
    if (file !== null) {
      return file.sha256 === sha256 ? [{ from: "file", step: plan.path, path: file.path }] : [];
    }
    const jobId = step.outputs === null ? jobOf(lastAttempt(step)) : (step.reusedFrom?.jobId ?? null);
    const produced = outputsOf(step).filter(({ copy }) => copy?.sha256 === sha256);
    return produced.map((stated) => {
      if (jobId === null) return { from: "code", step: plan.path };
      return { from: "job", step: plan.path, jobId, index: stated.index, stated };
    });
  });
}

function jobOf(attempt: AttemptState | null): string | null {
  return attempt?.provider === undefined ? (attempt?.jobId ?? null) : null;
}

function lost(
  state: RunState,
  about: { readonly sha256: string; readonly found: "damaged" | "missing"; readonly sources: readonly Source[] },
): MediaLostError {
  const { sha256, found, sources } = about;
  const what = `${found === "damaged" ? "damaged" : "missing"} (hash ${sha256.slice(0, 12)}…)`;
  const file = sources.find((source) => source.from === "file");
  if (file !== undefined) {
    const message = `The stored copy of ${file.path}, which ${file.step} uploads, is ${what}, and the file itself has changed since the run was planned. Put the original file back, then resume.`;
    return new MediaLostError(message, null);
  }
  const [maker] = sources;
  if (maker === undefined) {
    const message = `A stored copy that run ${state.runId} needs is ${what}. Put the copy back, then resume.`;
    return new MediaLostError(message, null);
  }
  const costMicros = lastAttempt(state.steps[maker.step]!)?.costMicros ?? null;
  const price = costMicros === null ? "" : `, which last cost ${dollars(costMicros)}`;
  const service = maker.from === "job" ? " and the service no longer has it" : "";
  const message = `The stored copy of the output from ${maker.step} is ${what}${service}. No request that needs this output was sent. Put the copy back into the media folder, or rerun the step${price}.`;
  return new MediaLostError(message, maker.step);
}

export const upload: Effect<"upload"> = async (command, { state, media }) => {
  const { file } = planStep(state, command.step) as UploadStep;
  const { step } = command;
  const { sha256, sizeBytes, contentType } = file;
  const stored = { type: "upload.stored", step, sha256, sizeBytes, contentType } as const;
  const copy = await media.put({ path: file.path, sha256 }).catch((cause: unknown) => {
    if (isStoreError(cause)) throw cause;
    return cause as Error;
  });
  const reason =
    copy instanceof Error
      ? `${file.path} can no longer be read (${copy.message})`
      : copy.sha256 === sha256
        ? null
        : `${file.path} changed since the run was planned; put the original file back, or start a new run`;
  return done(reason === null ? stored : { type: "step.finished", step, status: "failed", reason });
};
