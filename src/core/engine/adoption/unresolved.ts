import { ApiError, type Client, type JobSummary } from "../../api/index.ts";
import type { StoredEvent } from "../../journal/events.ts";
import type { RunRepository } from "../../journal/run-repository.ts";
import { type AttemptState, lastAttempt, RESENT_EVERY_MS, type RunState } from "../../journal/state.ts";
import type { InboxMessage, JournalStore } from "../../journal/store.ts";
import { InvalidOptionError } from "../../kit/errors.ts";
import { jobPhases } from "../../lifecycle/index.ts";
import type { Json } from "../../plan/plan.ts";
import { whyUnadoptable } from "../../run/inbox.ts";
import { isForPerson } from "../../run/waiting.ts";

export async function checkAdoption(
  { client, repository }: AdoptionParts,
  state: RunState,
  adoption: { readonly step: string; readonly jobId: string | null },
): Promise<void> {
  const { step, jobId } = adoption;
  const attempt = unresolvedAttempt(state, step);
  if (jobId === null) return;
  const list = `showrunner adopt ${state.runId} ${step}   (lists the jobs that the step may have created)`;
  if (jobId === attempt.jobId) return;
  if ((await repository.knownJobs({ runId: state.runId, step })).has(jobId)) {
    throw new InvalidOptionError("job-id", `${jobId} already belongs to another step.`, list);
  }
  const job = await client.job(jobId);
  if (job.model === "" || job.model === attempt.model) return;
  throw new InvalidOptionError("job-id", `${jobId} ran on ${job.model}, but ${step} requested ${attempt.model}.`, list);
}

/**
 * Margin before and after the period in which a request may have been sent. It covers slow requests and the inaccuracy
 * of the service's clock, which is known only to the nearest second.
 */
const MARGIN_MS = 10 * 60_000;

/** The period in which a request may have been sent, in epoch milliseconds of the service's clock. */
export interface SendWindow {
  readonly from: number;
  readonly to: number;
}

export function sendWindow(attempt: AttemptState, offsetMs: number): SendWindow {
  // A provider's jobs are not searched, so no tolerance is needed.
  if (attempt.provider !== undefined) return { from: attempt.intendedAt!, to: attempt.lastSentAt! };
  const first = (attempt.intendedAt ?? 0) + offsetMs;
  const last = (attempt.lastSentAt ?? attempt.intendedAt ?? 0) + offsetMs;
  const { from, to } = attempt.sentByService ?? { from: first, to: last };
  return { from: Math.min(first, from) - MARGIN_MS, to: Math.max(last, to) + RESENT_EVERY_MS + MARGIN_MS };
}

/**
 * How well a job matches an unanswered request for the same model. `key`: both have the same idempotency key, or the
 * service returned this job for the request. `prompt`: both have the same prompt. `possible`: there is no prompt
 * to compare. `unlike`: the prompts differ, but the job may still match, because a service may show a rewritten prompt.
 */
export type JobMatch = "key" | "prompt" | "possible" | "unlike";

interface SentRequest {
  readonly key: string;
  readonly input: Json;
  readonly namedJobId: string | null;
}

interface ListedJob {
  readonly jobId: string;
  readonly prompt: string | null;
  readonly idempotencyKey: string | null;
}

/**
 * Returns how well a job matches an unanswered request. Null means that the job has another idempotency key, so another
 * request created it.
 */
export function matchOf({ key, input, namedJobId }: SentRequest, job: ListedJob): JobMatch | null {
  if (job.jobId === namedJobId || job.idempotencyKey === key) return "key";
  if (job.idempotencyKey !== null) return null;
  const words = promptTexts(input);
  if (job.prompt === null || words.length === 0) return "possible";
  return words.includes(job.prompt.trim()) ? "prompt" : "unlike";
}

function promptTexts(input: Json): readonly string[] {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return [];
  const record = input as { readonly [name: string]: Json };
  const texts = ["prompt", "text"].map((field) => record[field]);
  return texts.filter((text) => typeof text === "string").map((text) => text.trim());
}

/** A job that an unanswered request may have created. */
export interface AdoptionCandidate extends JobSummary {
  readonly prompt: string | null;
  readonly match: JobMatch;
}

/** A step whose request was never answered, with the facts that a person needs to resolve it. */
export interface UnresolvedStep {
  readonly step: string;
  readonly attempt: number;
  readonly model: string;
  /** The step's prompt; null if the input has none. */
  readonly prompt: string | null;
  /** The amount reserved for the step, in micro-dollars. */
  readonly holdMicros: number;
  readonly reason: string | null;
  /** The provider that did not answer; null if the request went to the service. */
  readonly provider: string | null;
  /** Start of the period in which the request may have been sent, as an ISO 8601 timestamp. */
  readonly sentFrom: string;
  readonly sentTo: string;
  /** Jobs that the request may have created, likeliest first. */
  readonly candidates: readonly AdoptionCandidate[];
  /**
   * The id of the job that the request is known to have created; null if no such job is known or if a person has
   * already decided.
   */
  readonly certain: string | null;
  /** A person's decision, which takes effect when the run continues; null if there is none yet. */
  readonly decided: { readonly jobId: string | null; readonly isFile?: true } | null;
}

export interface AdoptionParts {
  readonly client: Client;
  readonly store: JournalStore;
  readonly repository: RunRepository;
}

interface LookupParts {
  readonly client: Client;
  readonly repository: Pick<RunRepository, "knownJobs">;
}

export async function unresolvedSteps(parts: AdoptionParts, state: RunState): Promise<readonly UnresolvedStep[]> {
  const open = Object.values(state.steps).flatMap((step) => {
    const attempt = lastAttempt(step);
    if (attempt === null || !isForPerson(attempt)) return [];
    return [{ path: step.path, reason: step.reason ?? attempt.doubt?.message ?? null, attempt }];
  });
  if (open.length === 0) return [];
  const adoptions = (await parts.store.inbox(state.runId)).map(({ message }) => message).filter(isAdoption);
  const jobs = await jobBook(parts, open);
  const events = await parts.store.read(state.runId);
  const listed: UnresolvedStep[] = [];
  for (const { path, reason, attempt } of open) {
    const { window, candidates } = await jobs.madeBy(attempt, requestOf(path, attempt, events));
    const [from, to] = [new Date(window.from), new Date(window.to)];
    const last = adoptions.findLast(({ step }) => step === path);
    listed.push({
      step: path,
      attempt: attempt.n,
      model: attempt.model!,
      prompt: promptTexts(attempt.input!)[0] ?? null,
      holdMicros: attempt.holdMicros,
      reason,
      provider: attempt.provider ?? null,
      sentFrom: from.toISOString(),
      sentTo: to.toISOString(),
      candidates,
      certain: last === undefined ? (certainJob(attempt, { window, candidates }, state) ?? null) : null,
      decided:
        last === undefined ? null : { jobId: last.jobId, ...(last.file !== undefined && { isFile: true as const }) },
    });
  }
  return listed;
}

/** Returns the job that an unanswered request created; null if it created none, and undefined if this is uncertain. */
export async function jobOfSubmit(
  parts: LookupParts,
  state: RunState,
  step: string,
): Promise<string | null | undefined> {
  const attempt = lastAttempt(state.steps[step]!)!;
  const jobs = await jobBook(parts, [{ attempt }]);
  const found = await jobs.madeBy(attempt, requestOf(step, attempt, []));
  return found.candidates.length === 0 ? null : certainJob(attempt, found, state);
}

function certainJob(
  attempt: AttemptState,
  { window, candidates }: { readonly window: SendWindow; readonly candidates: readonly AdoptionCandidate[] },
  state: RunState,
): string | undefined {
  const [underKey, otherUnderKey] = candidates.filter(({ match }) => match === "key");
  if (underKey !== undefined) return otherUnderKey === undefined ? underKey.jobId : undefined;
  const [alike, otherAlike] = candidates.filter((job) => job.match === "prompt" && isWithin(job, window));
  return otherAlike === undefined && !sharesPrompt(attempt, state) ? alike?.jobId : undefined;
}

function sharesPrompt({ model, input, key }: AttemptState, state: RunState): boolean {
  const words = promptTexts(input!);
  return Object.values(state.steps).some((step) => {
    const other = lastAttempt(step);
    if (other === null || other.key === key || other.model !== model || other.provider !== undefined) return false;
    const isUnanswered =
      other.phase === "unresolved" || (jobPhases.submitting.has(other.phase) && other.jobId === null);
    return isUnanswered && promptTexts(other.input!).some((text) => words.includes(text));
  });
}

export function unresolvedAttempt(state: RunState, step: string): AttemptState {
  const refusal = whyUnadoptable(state, step);
  if (refusal === null) return lastAttempt(state.steps[step]!)!;
  throw new InvalidOptionError("step", `${refusal.why}.`, refusal.next);
}

type Adoption = InboxMessage & { readonly type: "adopt" };

function isAdoption(message: InboxMessage): message is Adoption {
  return message.type === "adopt";
}

function isWithin({ createdAt }: JobSummary, { from, to }: SendWindow): boolean {
  const at = Date.parse(createdAt ?? "");
  return at >= from && at <= to;
}

function requestOf(step: string, attempt: AttemptState, events: readonly StoredEvent[]): SentRequest {
  const named = events.findLast(({ event }) => {
    return event.type === "job.unresolved" && event.step === step && event.attempt === attempt.n;
  });
  const isOwn = named?.event.type === "job.unresolved" && named.event.cause !== "another's job";
  const namedJobId = isOwn ? (named.event.jobId ?? null) : null;
  return { key: attempt.key!, input: attempt.input!, namedJobId: attempt.jobId ?? namedJobId };
}

async function jobBook(
  { client, repository }: LookupParts,
  open: readonly { readonly attempt: AttemptState }[],
): Promise<JobBook> {
  const known = new Set(await repository.knownJobs());
  // The recorded job of an unresolved step stays a candidate, because the service may fail to find a job for a while.
  for (const { attempt } of open) if (attempt.jobId !== null) known.delete(attempt.jobId);
  return new JobBook(client, known);
}

const order: readonly JobMatch[] = ["key", "prompt", "possible", "unlike"];

/** Maximum number of jobs to list if none was created in the time window of the request. */
const MOST_OTHERS = 100;

class JobBook {
  readonly #client: Client;
  readonly #known: ReadonlySet<string>;
  readonly #lists = new Map<string, { readonly from: number; readonly jobs: readonly JobSummary[] }>();
  readonly #details = new Map<string, Promise<{ prompt: string | null; idempotencyKey: string | null }>>();

  constructor(client: Client, known: ReadonlySet<string>) {
    this.#client = client;
    this.#known = known;
  }

  async madeBy(attempt: AttemptState, request: SentRequest) {
    const isOfService = attempt.provider === undefined;
    // List jobs first, because the response shows how far the service's clock is ahead.
    if (isOfService) await this.of(attempt.model!, attempt.intendedAt!);
    const window = sendWindow(attempt, this.#client.clockOffsetMs());
    if (!isOfService) return { window, candidates: [] };
    const found = await this.of(attempt.model!, window.from);
    const nearby = found.filter((job) => isWithin(job, window));
    const candidates = await this.judged(request, nearby);
    if (candidates.length > 0) return { window, candidates };
    // The service's clock may have been unknown when the request was sent, so its job may seem to be from another time.
    return { window, candidates: await this.judged(request, found.slice(0, MOST_OTHERS)) };
  }

  /** Returns the model's jobs created since `from` that no run in the journal started, newest first. */
  async of(model: string, from: number): Promise<readonly JobSummary[]> {
    const read = this.#lists.get(model);
    if (read !== undefined && read.from <= from) return read.jobs;
    const jobs: JobSummary[] = [];
    for await (const job of this.#client.modelJobs(model)) {
      if (Date.parse(job.createdAt ?? "") < from) break;
      if (!this.#known.has(job.jobId)) jobs.push(job);
    }
    this.#lists.set(model, { from, jobs });
    return jobs;
  }

  async judged(request: SentRequest, nearby: readonly JobSummary[]): Promise<readonly AdoptionCandidate[]> {
    const { namedJobId } = request;
    const isListed = nearby.some(({ jobId }) => jobId === namedJobId);
    const named = namedJobId === null || isListed ? null : await this.#summary(namedJobId);
    const jobs = named === null ? nearby : [named, ...nearby];
    const judged = await Promise.all(
      jobs.map(async (job): Promise<readonly AdoptionCandidate[]> => {
        const detail = await this.#detail(job.jobId);
        const match = matchOf(request, { jobId: job.jobId, ...detail });
        return match === null ? [] : [{ ...job, prompt: detail.prompt, match }];
      }),
    );
    return judged.flat().toSorted((a, b) => rank(a) - rank(b));
  }

  async #summary(jobId: string): Promise<JobSummary | null> {
    const job = await this.#client.job(jobId).catch(orNull);
    return job === null || this.#known.has(jobId) ? null : job;
  }

  #detail(jobId: string) {
    const known = this.#details.get(jobId);
    if (known !== undefined) return known;
    const read = this.#client.job(jobId).then(
      ({ prompt, idempotencyKey }) => ({ prompt: prompt ?? null, idempotencyKey: idempotencyKey ?? null }),
      (error: unknown) => ({ prompt: orNull(error), idempotencyKey: null }),
    );
    this.#details.set(jobId, read);
    return read;
  }
}

function rank({ match }: AdoptionCandidate): number {
  return order.indexOf(match);
}

function orNull(error: unknown): null {
  if (error instanceof ApiError && (error.status === 404 || error.status === 403)) return null;
  throw error;
}
