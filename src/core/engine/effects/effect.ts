import type { Client, Clock, PlannedPoll, Priority, Turn } from "../../api/index.ts";
import type { RunEvent } from "../../journal/events.ts";
import type { RunRepository } from "../../journal/run-repository.ts";
import type { RunState } from "../../journal/state.ts";
import type { Progress } from "../../journal/store.ts";
import { cleanText } from "../../kit/clean-text.ts";
import type { Command } from "../../run/command.ts";
import { MediaBucketError } from "../media/bucket/bucket-errors.ts";
import type { UploadHandles } from "../media/handles.ts";
import { isDiskError, MediaDiskError } from "../media/media-errors.ts";
import type { MediaStore } from "../media/media-store.ts";
import type { EstimateCache } from "../price/estimates.ts";
import type { Expansions } from "../price/expansion.ts";
import type { ResultCache } from "../reuse/result-cache.ts";
import type { Substitute } from "../service/rehearsal.ts";
import { done, type EffectResult, type ServiceFailure } from "../service/service-answers.ts";
import type { StepFunctions } from "./functions.ts";

const EVERY_MS = 250;

/** Reports a step's transferred bytes as progress, at most a few times per second. */
export function bytesProgress(step: string, { progress, now }: Pick<EffectContext, "progress" | "now">) {
  let lastAt = now();
  return (bytes: number, totalBytes: number | null) => {
    if (totalBytes === null || totalBytes === 0 || now() - lastAt < EVERY_MS) return;
    lastAt = now();
    progress({ step, fraction: Math.min(1, bytes / totalBytes), estimatedCompletionAt: null });
  };
}

/** How a run driven in slices polls its jobs instead of following them. `planned`: the next polls, by command id. */
export interface Polls {
  readonly planned: Map<string, PlannedPoll>;
  /** True if webhooks report when jobs end, so that polling is only a fallback. */
  readonly webhooks: boolean;
}

/**
 * A request's place in the queue. `above` puts the request ahead of the step's other requests, for example if it is a
 * submit that other work waits for.
 */
export function placed({ priority, turn }: Pick<EffectContext, "priority" | "turn">, above = 0): Priority {
  return { level: above + priority, turn };
}

export interface EffectContext {
  readonly client: Client;
  readonly media: MediaStore;
  readonly handles: UploadHandles;
  readonly estimates: EstimateCache;
  /** Download URLs by `job id, output`; kept in memory only, never stored. */
  readonly freshUrls: Map<string, { readonly url: string; readonly readAt: number }>;
  readonly jobOwners: JobOwners;
  /** Looks up which jobs already belong to a step of this or another run. */
  readonly repository: Pick<RunRepository, "knownJobs">;
  readonly cache: ResultCache;
  /** Keys of the results that this run already reuses. Computed on demand, because it scans every step. */
  readonly reusedKeys: () => Set<string>;
  /** The run's state. Read only: only the driver changes it. */
  readonly state: RunState;
  readonly signal: AbortSignal;
  readonly follow: "auto" | "stream" | "poll";
  /** Set if the run is driven in slices: jobs are then polled when due instead of followed. */
  readonly polls?: Polls;
  readonly now: () => number;
  readonly clock: Clock;
  /** An idempotency key is not sent again once this many milliseconds have passed since its first send. */
  readonly idempotencyWindowMs: number;
  readonly functions: StepFunctions;
  /** Returns the model to use in place of a provider's model: that model itself, or a rehearsal. */
  readonly substitute: Substitute;
  /** Internal network origins that providers' URLs may have. */
  readonly inside: readonly string[];
  /** Plans and prices an expansion's steps from its value. */
  readonly expansions: Expansions;
  /** The step's critical-path rank, which puts its urgent requests first within its run. */
  readonly priority: number;
  /** The run's turn in the request queue, which alternates between runs. */
  readonly turn: Turn;
  /** Commits events before the effect finishes. */
  emit(events: readonly RunEvent[]): void;
  /** Resolves once emitted events are in the journal, or the drive ends. Awaited by effects that emit many events. */
  recorded(): Promise<void>;
  progress(progress: Progress): void;
  /** Reports a service failure before the effect finishes; returns the delay before a retry, in milliseconds. */
  reportOutage(serviceFailure: ServiceFailure): number;
}

export type Effect<T extends Command["type"]> = (
  command: Extract<Command, { readonly type: T }>,
  context: EffectContext,
) => Promise<EffectResult>;

/** Maximum number of remembered attempts, in addition to those in active runs. */
const MOST = 50_000;

interface Attempt {
  readonly step: string;
  readonly attempt: number;
}

/** Which attempt each job belongs to, for the runs that this process drives. A job can pay for only one request. */
export class JobOwners {
  readonly #owners = new Map<string, string>();
  readonly #known = new WeakSet<RunState>();

  /** Assigns the job to this attempt. False if the job already belongs to another attempt. */
  claim(state: RunState, { step, attempt }: Attempt, jobId: string): boolean {
    this.#note(state);
    const name = ownerName(state, { step, attempt });
    const owner = this.#owners.get(jobId) ?? name;
    this.#owners.set(jobId, owner);
    if (this.#owners.size > MOST) this.#owners.delete(this.#owners.keys().next().value!);
    return owner === name;
  }

  #note(state: RunState): void {
    if (this.#known.has(state)) return;
    this.#known.add(state);
    for (const { path: step, attempts, chats } of Object.values(state.steps)) {
      const named = attempts.map(({ n, jobId, namedJobId = null }) => ({ n, jobId: jobId ?? namedJobId }));
      for (const { n: attempt, jobId } of [...named, ...chats]) {
        if (jobId !== null) this.#owners.set(jobId, ownerName(state, { step, attempt }));
      }
    }
  }
}

function ownerName({ runId }: RunState, { step, attempt }: Attempt): string {
  return JSON.stringify([runId, step, attempt]);
}

/** The outage to report if a media bucket is unavailable for a while; null for any other error. */
export function bucketAway(error: unknown): ServiceFailure | null {
  const passes = error instanceof MediaBucketError && (error.reason === "busy" || error.reason === "unreachable");
  return passes ? { pause: "unreachable", isMedia: true, message: cleanText(error.message) } : null;
}

type Without = { readonly without: EffectResult };

/**
 * Prepares code and media for a request whose intent is already durable. If that fails, the intent is withdrawn;
 * otherwise it would look like a request without a response.
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
