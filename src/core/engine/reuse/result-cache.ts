import { verdictOf } from "../../answers.ts";
import { answerOf, type Client, DownloadError } from "../../api/index.ts";
import {
  apply,
  newRun,
  type OutputFacts,
  type ReusedFrom,
  type RunEvent,
  type RunPlanned,
  type StoredCopy,
} from "../../journal/events.ts";
import type { RunRepository } from "../../journal/run-repository.ts";
import {
  isStepFinal,
  lastAttempt,
  type OutputState,
  outputsOf,
  type RunState,
  type StepState,
} from "../../journal/state.ts";
import type { JournalStore, StoredResult } from "../../journal/store.ts";
import { ownVersion } from "../../kit/own-version.ts";
import { type Json, type Plan, type PlanStep, type Reference, stepNamed, traitsOf } from "../../plan/plan.ts";
import { runKind } from "../../run/kinds/index.ts";
import { gateOf, readiness } from "../../run/readiness.ts";
import { type CacheableStep, currentIdentity, isCacheable, requestIdentity } from "../../run/request-identity.ts";
import { readerOf, resolvedSoFar } from "../../run/resolve.ts";
import { isOver, REUSE_MARGIN_MS } from "../../run/retention.ts";
import type { MediaStore } from "../media/media-store.ts";
import { downloadOutput } from "../media/output-damage.ts";

type CachedResult = Omit<RunEvent & { readonly type: "step.reused" }, "type" | "step">;

type CachedOutput = OutputFacts & { readonly copy: StoredCopy | null };

type CacheMiss = "expired" | "already-reused";

interface CacheQuery {
  readonly fingerprint: string;
  readonly plan: CacheableStep;
  /** The run that looks for results. Its own results are ignored. */
  readonly runId: string | null;
  /** Keys of results that other steps of this run reuse. A run reuses each result only once. */
  readonly reusedKeys: Set<string>;
  /** Whether to check that the asset still exists, and to download outputs that must be kept. False for pricing. */
  readonly verify: boolean;
}

interface ResultCacheParts {
  readonly client: Client;
  readonly store: JournalStore;
  readonly repository: RunRepository;
  readonly media: MediaStore;
  readonly now: () => number;
  readonly account: string;
}

export class ResultCache {
  readonly #parts: ResultCacheParts;
  readonly #states = new Map<string, { readonly lastSeq: number; readonly state: Promise<RunState> }>();

  constructor(parts: ResultCacheParts) {
    this.#parts = parts;
  }

  /** Finds a result to reuse. Prefers results of a step with the same path, then newer ones. */
  async find(query: CacheQuery): Promise<CacheLookup> {
    let why: CacheMiss | null = null;
    for await (const candidate of this.#candidates(query)) {
      const key = sourceKey(candidate.from);
      if (query.reusedKeys.has(key)) {
        why = "already-reused";
        continue;
      }
      if (!candidate.isCurrent()) continue;
      query.reusedKeys.add(key);
      const outputs = await this.#availableOutputs(candidate, query).catch((error: unknown) => {
        query.reusedKeys.delete(key);
        throw error;
      });
      if (outputs !== null) return { found: { from: candidate.from, outputs, value: candidate.value } };
      query.reusedKeys.delete(key);
      why ??= "expired";
    }
    return { found: null, why };
  }

  /** Yields results that might be reused. Reads a small page first, which is usually enough, and then larger ones. */
  async *#candidates({ fingerprint, plan, runId }: CacheQuery): AsyncGenerator<CacheCandidate, void, undefined> {
    const { store, account } = this.#parts;
    const states = new Map<string, RunState | null>();
    for (let [limit, seen] = [FIRST_PAGE, 0]; ; limit *= 10) {
      const rows = await store.results({ account, fingerprint }, limit);
      const isNamesake = (row: StoredResult) => (row.step === plan.path ? 0 : 1);
      for (const row of rows.slice(seen).sort((a, b) => isNamesake(a) - isNamesake(b))) {
        if (row.runId === runId) continue;
        const state = states.get(row.runId) ?? (await this.state(row.runId));
        states.set(row.runId, state);
        const candidate = state === null ? null : candidateIn(state, row);
        if (candidate !== null) yield candidate;
      }
      if (rows.length < limit) return;
      seen = rows.length;
    }
  }

  async state(runId: string): Promise<RunState | null> {
    const { store, repository } = this.#parts;
    const row = await store.run(runId);
    if (row === null) return null;
    const folded = this.#states.get(runId);
    if (folded?.lastSeq === row.lastSeq) return folded.state;
    const state = repository.load(runId);
    this.#states.set(runId, { lastSeq: row.lastSeq, state });
    state.catch(() => this.#states.delete(runId));
    if (this.#states.size > REMEMBERED) this.#states.delete(this.#states.keys().next().value!);
    return state;
  }

  async #availableOutputs(
    { from, outputs }: CacheCandidate,
    query: CacheQuery,
  ): Promise<readonly CachedOutput[] | null> {
    const found = await Promise.all(outputs.map((output) => this.#one(output, from, query)));
    return found.every((output) => output !== null) ? found : null;
  }

  async #one(output: OutputState, from: ReusedFrom, query: CacheQuery): Promise<CachedOutput | null> {
    const { client, media, now } = this.#parts;
    const { phase, copy: recorded, ...facts } = output;
    if (facts.voiceId !== null) return { ...facts, copy: null };
    // Touch the file, so that `gc` does not remove it before the event that refers to it is written.
    const isStored = recorded && (await (query.verify ? media.touch(recorded.sha256) : media.has(recorded.sha256)));
    const copy = isStored ? recorded : null;
    const isTaken = facts.assetId !== null && (phase === "available" || phase === "downloaded");
    const isThere = isTaken && !isOver(facts, now() + client.clockOffsetMs() + REUSE_MARGIN_MS);
    if (copy !== null) return { ...facts, assetId: isThere ? facts.assetId : null, copy };
    if (!isThere || from.jobId === null) return null;
    // A missing copy is downloaded again when needed, with the same bytes.
    if (!query.verify) return { ...facts, copy: recorded };
    const requested = traitsOf(query.plan).keeps
      ? this.#downloadCopy(facts, from.jobId)
      : this.#verifyAsset(facts, from.jobId);
    return requested.catch(missingOrThrow);
  }

  async #verifyAsset(facts: OutputFacts, jobId: string): Promise<CachedOutput | null> {
    const job = await this.#parts.client.job(jobId);
    const asset = job.outputs.find(({ index }) => index === facts.index);
    return asset?.status === "COMPLETED" ? { ...facts, copy: null } : null;
  }

  async #downloadCopy(facts: OutputFacts, jobId: string): Promise<CachedOutput> {
    const { client, media } = this.#parts;
    const target = media.tmpPath();
    const source = { jobId, outputIndex: facts.index, assetId: facts.assetId };
    const got = await downloadOutput(client, source, { target, stated: facts });
    const stored = await media.adopt(target);
    const contentType = facts.contentType ?? got.contentType ?? "application/octet-stream";
    return { ...facts, copy: { ...stored, contentType } };
  }
}

const REMEMBERED = 16;
const FIRST_PAGE = 20;

type CacheLookup = { readonly found: CachedResult } | { readonly found: null; readonly why: CacheMiss | null };

interface CacheCandidate {
  readonly from: ReusedFrom;
  readonly outputs: readonly OutputState[];
  readonly value: Json;
  /** Returns false if the step was rerun with other inputs after this result was read. */
  readonly isCurrent: () => boolean;
}

function candidateIn(state: RunState, row: StoredResult): CacheCandidate | null {
  const step = state.steps[row.step];
  const plan = stepNamed(state.planned.plan, row.step);
  if (step?.status !== "succeeded" || plan === undefined || !isCacheable(plan)) return null;
  const outputs = outputsOf(step);
  if (outputs.some(({ status, phase }) => status !== "COMPLETED" || phase === "failed")) return null;
  const isCurrent = () => currentIdentity(state, plan)?.fingerprint === row.fingerprint;
  return { from: originOf(state, step, plan), outputs, value: step.value ?? null, isCurrent };
}

/**
 * Returns null if the error means that the asset no longer exists. Rethrows any other error, because a result of null
 * leads to a new paid job.
 */
function missingOrThrow(error: unknown): null {
  const answer = answerOf(error);
  const isMediaServer = error instanceof DownloadError && answer === "no envelope 4xx";
  if (isMediaServer || (answer !== null && verdictOf("reuse", answer) === "not reused")) return null;
  if (error instanceof DownloadError && answer === null) return null;
  throw error;
}

function sourceKey({ jobId, runId, step }: ReusedFrom): string {
  return jobId ?? `${runId} ${step}`;
}

function originOf({ runId }: RunState, step: StepState, plan: CacheableStep): ReusedFrom {
  if (step.reusedFrom !== null) return step.reusedFrom;
  const attempt = lastAttempt(step);
  return {
    runId,
    step: plan.path,
    jobId: attempt?.jobId ?? null,
    completedAt: attempt?.completedAt ?? step.finishedAt ?? 0,
  };
}

export function keysReusedBy(state: RunState): Set<string> {
  return new Set(Object.values(state.steps).flatMap(({ reusedFrom }) => (reusedFrom ? [sourceKey(reusedFrom)] : [])));
}

const NOT_IDENTICAL = "no earlier run on this account made an identical request";
const WHY_MISSED: Readonly<Record<CacheMiss, string>> = {
  expired: "an earlier run made an identical request, but its result expired on the service and no copy is left",
  "already-reused": "an earlier run has an identical result, but another step of this run already reuses it",
};

export function whyAnew(step: CacheableStep, { state, unusable }: ReusePreview): string {
  const { path, needs } = step;
  const { status, reason } = state.steps[path]!;
  if (status === "skipped") return `${path} is skipped: ${reason}`;
  const miss = unusable.get(path);
  if (miss !== undefined) return WHY_MISSED[miss];
  if (currentIdentity(state, step) !== null) return NOT_IDENTICAL;
  const open = needs.find((needed) => !isStepFinal(state.steps[needed]!.status));
  return `${path} uses ${open ?? "another result"}, which has not been produced yet`;
}

export interface ReusePreview {
  readonly state: RunState;
  readonly reused: ReadonlyMap<string, CachedResult>;
  readonly unusable: ReadonlyMap<string, CacheMiss>;
  resolved(ref: Reference["$ref"]): Json | undefined;
}

export async function previewReuse(
  plan: Plan,
  cache: ResultCache,
  again: ReadonlySet<string> = new Set(),
): Promise<ReusePreview> {
  const state = newRun("(preview)", simulatedRun(plan), 0);
  applyAll(state, [{ type: "run.started" }]);
  const reused = new Map<string, CachedResult>();
  const unusable = new Map<string, CacheMiss>();
  const reusedKeys = new Set<string>();
  for (const step of plan.steps) {
    const events = freeEvents(state, step);
    applyAll(state, events);
    if (events.length > 0 || !isCacheable(step) || again.has(step.path)) continue;
    const ready = readiness(state, step, step.input, readerOf(step));
    if (ready.ready === "never") applyAll(state, [skipped(step.path, ready)]);
    if (ready.ready !== "yes") continue;
    const { fingerprint } = requestIdentity(state, step, ready.input);
    const lookup = await cache.find({ fingerprint, plan: step, runId: null, reusedKeys, verify: false });
    if (lookup.found === null) {
      if (lookup.why !== null) unusable.set(step.path, lookup.why);
      continue;
    }
    reused.set(step.path, lookup.found);
    applyAll(state, succeeded(step.path, [{ type: "step.reused", step: step.path, ...lookup.found }]));
  }
  const resolved = (ref: Reference["$ref"]) => resolvedSoFar(state, ref)?.value;
  return { state, reused, unusable, resolved };
}

function freeEvents(state: RunState, step: PlanStep): readonly RunEvent[] {
  const gate = gateOf(state, step);
  if (gate?.ready === "no") return [];
  if (gate?.ready === "never") return [skipped(step.path, gate)];
  const events = runKind(step.kind).freeResult(step, state);
  return events === null ? [] : succeeded(step.path, events);
}

function succeeded(step: string, events: readonly RunEvent[]): readonly RunEvent[] {
  return [
    { type: "step.started", step },
    ...events,
    { type: "step.finished", step, status: "succeeded", reason: null },
  ];
}

function skipped(
  step: string,
  { reason, skippedByCondition }: { readonly reason: string; readonly skippedByCondition: boolean },
): RunEvent {
  const finished = { type: "step.finished", step, status: "skipped", reason } as const;
  return skippedByCondition ? { ...finished, skippedByCondition: true } : finished;
}

function applyAll(state: RunState, events: readonly RunEvent[]): void {
  for (const event of events) apply(state, { runId: state.runId, seq: state.seq + 1, at: 0, version: 1, event });
}

function simulatedRun(plan: Plan): RunPlanned {
  return {
    type: "run.planned",
    plan,
    input: null,
    baseUrl: "",
    keyId: "",
    nonce: "",
    outDir: "",
    source: null,
    program: ownVersion(),
    budgetMicros: null,
    maxUnquotedMicros: null,
    quoteMicros: null,
    limits: { total: 1, perModel: {}, perModality: {} },
  };
}
