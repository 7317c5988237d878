import type { Client, Clock, PlannedPoll, Priority, Turn } from "../../api/index.ts";
import type { RunEvent } from "../../journal/events.ts";
import type { RunRepository } from "../../journal/run-repository.ts";
import type { RunState } from "../../journal/state.ts";
import type { Progress } from "../../journal/store.ts";
import { cleanText } from "../../kit/clean-text.ts";
import type { Command } from "../../run/command.ts";
import type { UploadHandles } from "../media/handles.ts";
import { isDiskError, MediaBucketError, MediaDiskError } from "../media/media-errors.ts";
import type { MediaStore } from "../media/media-store.ts";
import type { EstimateCache } from "../price/estimates.ts";
import type { Expansions } from "../price/expansion.ts";
import type { ResultCache } from "../reuse/result-cache.ts";
import { done, type EffectResult, type ServiceFailure } from "../service/service-answers.ts";
import type { StepFunctions } from "./functions.ts";

const EVERY_MS = 250;

export function bytesProgress(step: string, { progress, now }: Pick<EffectContext, "progress" | "now">) {
  let lastAt = now();
  return (bytes: number, totalBytes: number | null) => {
    if (totalBytes === null || totalBytes === 0 || now() - lastAt < EVERY_MS) return;
    lastAt = now();
    progress({ step, fraction: Math.min(1, bytes / totalBytes), estimatedCompletionAt: null });
  };
}

export interface Polls {
  readonly planned: Map<string, PlannedPoll>;
  readonly webhooks: boolean;
}

export function placed({ priority, turn }: Pick<EffectContext, "priority" | "turn">, above = 0): Priority {
  return { level: above + priority, turn };
}

export interface EffectContext {
  readonly client: Client;
  readonly media: MediaStore;
  readonly handles: UploadHandles;
  readonly estimates: EstimateCache;
  readonly freshUrls: Map<string, { readonly url: string; readonly readAt: number }>;
  readonly jobOwners: JobOwners;
  readonly repository: Pick<RunRepository, "knownJobs">;
  readonly cache: ResultCache;
  /** Returns the keys of the results that this run already reuses. Scans all steps, so call it only when needed. */
  readonly reusedKeys: () => Set<string>;
  readonly state: RunState;
  readonly signal: AbortSignal;
  readonly follow: "auto" | "stream" | "poll";
  /** How to poll jobs that are due. Default: the run follows its jobs continuously. */
  readonly polls?: Polls;
  readonly now: () => number;
  readonly clock: Clock;
  readonly idempotencyWindowMs: number;
  readonly functions: StepFunctions;
  readonly inside: readonly string[];
  readonly expansions: Expansions;
  readonly priority: number;
  readonly turn: Turn;
  emit(events: readonly RunEvent[]): void;
  /** Resolves when the emitted events are in the journal or the run's execution ends. */
  recorded(): Promise<void>;
  progress(progress: Progress): void;
  /** Reports a failure while the effect continues. Returns the delay before a retry, in milliseconds. */
  reportOutage(serviceFailure: ServiceFailure): number;
}

export type Effect<T extends Command["type"]> = (
  command: Extract<Command, { readonly type: T }>,
  context: EffectContext,
) => Promise<EffectResult>;

const MOST = 50_000;

interface Attempt {
  readonly step: string;
  readonly attempt: number;
}

/** Records which attempt each job was created for, so that no job is assigned to two requests. */
export class JobOwners {
  readonly #owners = new Map<string, string>();
  readonly #known = new WeakSet<RunState>();

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
    for (const { path: step, attempts } of Object.values(state.steps)) {
      for (const { n: attempt, jobId, namedJobId = null } of attempts) {
        const known = jobId ?? namedJobId;
        if (known !== null) this.#owners.set(known, ownerName(state, { step, attempt }));
      }
    }
  }
}

function ownerName({ runId }: RunState, { step, attempt }: Attempt): string {
  return JSON.stringify([runId, step, attempt]);
}

export function bucketAway(error: unknown): ServiceFailure | null {
  const passes = error instanceof MediaBucketError && (error.reason === "busy" || error.reason === "unreachable");
  return passes ? { pause: "unreachable", isMedia: true, message: cleanText(error.message) } : null;
}

type Without = { readonly without: EffectResult };

/**
 * Prepares a request. If that fails or the run is stopped meanwhile, returns an object with the effect's result in
 * `without`.
 */
export async function beforeSending<T extends object>(
  prepare: () => Promise<T | Without>,
  { signal, state }: Pick<EffectContext, "signal" | "state">,
): Promise<T | Without> {
  try {
    const ready = await prepare();
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
