import type { Client, Clock, PlannedPoll, Priority, Turn } from "../../api/index.ts";
import type { RunEvent } from "../../journal/events.ts";
import type { RunRepository } from "../../journal/run-repository.ts";
import type { RunState } from "../../journal/state.ts";
import type { Progress } from "../../journal/store.ts";
import type { Command } from "../../run/command.ts";
import type { UploadHandles } from "../media/handles.ts";
import type { MediaStore } from "../media/media-store.ts";
import type { EstimateCache } from "../price/estimates.ts";
import type { Expansions } from "../price/expansion.ts";
import type { ResultCache } from "../reuse/result-cache.ts";
import type { Substitute } from "../service/rehearsal.ts";
import type { ServiceFailure } from "../service/service-answers.ts";
import type { StepFunctions } from "./functions.ts";

const EVERY_MS = 250;

/** Reports the transferred bytes of a step a few times a second; more would burden the journal without use. */
export function bytesProgress(step: string, { progress, now }: Pick<EffectContext, "progress" | "now">) {
  let lastAt = now();
  return (bytes: number, totalBytes: number | null) => {
    if (totalBytes === null || totalBytes === 0 || now() - lastAt < EVERY_MS) return;
    lastAt = now();
    progress({ step, fraction: Math.min(1, bytes / totalBytes), estimatedCompletionAt: null });
  };
}

/** For a run that is driven in slices, in place of a follow: how its jobs are polled, by the id of the command. */
export interface Polls {
  readonly planned: Map<string, PlannedPoll>;
  /** A webhook tells of the end of jobs; polls only stand behind it. */
  readonly webhooks: boolean;
}

/** The place of a request in line: `above` the others of its step, such as a submit, which others wait for. */
export function placed({ priority, turn }: Pick<EffectContext, "priority" | "turn">, above = 0): Priority {
  return { level: above + priority, turn };
}

/** What an effect may use. */
export interface EffectContext {
  readonly client: Client;
  readonly media: MediaStore;
  readonly handles: UploadHandles;
  readonly estimates: EstimateCache;
  /** Download URLs by `job id, output`: known while the process lives, never written down. */
  readonly freshUrls: Map<string, { readonly url: string; readonly readAt: number }>;
  readonly jobOwners: JobOwners;
  /** Jobs that steps of any run have. */
  readonly repository: Pick<RunRepository, "knownJobs">;
  /** Results of earlier runs. */
  readonly cache: ResultCache;
  /** Earlier results that steps of this run reuse already: worked out once somebody asks, for it takes a look at every step. */
  readonly reusedKeys: () => Set<string>;
  /** Read only; the driver alone changes it. */
  readonly state: RunState;
  readonly signal: AbortSignal;
  readonly follow: "auto" | "stream" | "poll";
  /** Of a run that is driven in slices: its jobs are polled when that is due, and not followed. */
  readonly polls?: Polls;
  readonly now: () => number;
  readonly clock: Clock;
  /** A key is not sent again once so much time has passed since its first send. */
  readonly idempotencyWindowMs: number;
  /** The pipeline's own code. */
  readonly functions: StepFunctions;
  /** What is asked in place of a provider's model: itself, or what rehearses it. */
  readonly substitute: Substitute;
  /** Origins inside a network that addresses of providers may be of. */
  readonly inside: readonly string[];
  /** Plans and prices steps that a value leads to. */
  readonly expansions: Expansions;
  /** Critical-path rank of the step, so that its requests go first among those of its run. */
  readonly priority: number;
  /** Where requests queue, turns go round between runs. */
  readonly turn: Turn;
  /** Commits events before the effect has finished. */
  emit(events: readonly RunEvent[]): void;
  /** Resolves once what was emitted before is in the journal, or the drive ends: for effects with many events. */
  recorded(): Promise<void>;
  progress(progress: Progress): void;
  /** Reports a service failure before the effect has finished; returns milliseconds to wait before the next try. */
  reportOutage(serviceFailure: ServiceFailure): number;
}

/** How a command ended: what happened, and what becomes of the command where it is still due. */
export type EffectResult = { readonly events: readonly RunEvent[] } & (
  | { readonly end: "done" }
  /** Issued again after so many milliseconds at the earliest. */
  | { readonly end: "retryLater"; readonly inMs: number }
  /** Not issued again in this drive. */
  | { readonly end: "deferred" }
  /** The service could not be reached: retried after growing delays. */
  | { readonly end: "unreachable"; readonly serviceFailure: ServiceFailure }
  /** Of a submit: no send of it in this drive left this machine. Retried likewise; null: it was stopped before. */
  | { readonly end: "notSent"; readonly serviceFailure: ServiceFailure | null }
  /** The service refused a read: retried for two minutes, then `otherwise` applies and it waits for the next drive. */
  | { readonly end: "refused"; readonly otherwise: readonly RunEvent[] }
  /** Something outside the run is wrong: it stops, keeps the events, and the caller is notified. */
  | { readonly end: "failed"; readonly failure: Error }
);

export function done(...events: readonly RunEvent[]): EffectResult {
  return { end: "done", events };
}

export function deferToNextDrive(...events: readonly RunEvent[]): EffectResult {
  return { end: "deferred", events };
}

export type Effect<T extends Command["type"]> = (
  command: Extract<Command, { readonly type: T }>,
  context: EffectContext,
) => Promise<EffectResult>;

/** Jobs of so many attempts are remembered, beside those of the runs at hand. */
const MOST = 50_000;

interface Attempt {
  readonly step: string;
  readonly attempt: number;
}

/** Which attempt each job serves, of the runs that this process drives: a job pays for one request. */
export class JobOwners {
  readonly #owners = new Map<string, string>();
  readonly #known = new WeakSet<RunState>();

  /** True where it is this attempt's from now on; false where it is another's. */
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
