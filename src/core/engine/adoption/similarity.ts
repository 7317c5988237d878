import { canonicalJson } from "../../plan/index.ts";
import type { Json } from "../../plan/plan.ts";

/** An unresolved step as it is distinguished from others. */
export interface OpenQuestion {
  readonly step: string;
  readonly model: string;
  readonly input: Json;
  readonly candidates: readonly {
    readonly jobId: string;
    readonly createdAt: string | null;
    readonly match: JobMatch;
  }[];
}

/**
 * Which job each step made, where nothing else can be meant: a job under its own key; else the one job with its words
 * that no other step has. Steps that ask for the very same are interchangeable when there are as many jobs as steps.
 */
export function unambiguous(questions: readonly OpenQuestion[]): ReadonlyMap<string, string> {
  const found = byKey(questions);
  const usedJobs = new Set(found.values());
  const rest = questions.filter(({ step }) => !found.has(step));
  for (const similarResults of groups(rest)) {
    const jobs = candidatesOf(similarResults).filter(({ jobId }) => !usedJobs.has(jobId));
    if (jobs.length !== similarResults.length || !areTheSame(similarResults)) continue;
    for (const [index, { step }] of similarResults.entries()) found.set(step, jobs[index]!.jobId);
  }
  return found;
}

function byKey(questions: readonly OpenQuestion[]): Map<string, string> {
  const keyed = questions.flatMap(({ step, candidates }) => {
    const own = candidates.filter(({ match }) => match === "key");
    return own.length === 1 ? [[step, own[0]!.jobId] as const] : [];
  });
  const claims = (jobId: string) => keyed.filter(([, key]) => key === jobId).length;
  return new Map(keyed.filter(([, jobId]) => claims(jobId) === 1));
}

/** Steps that share their model and their words; those without words stand for nothing that could be distinguished. */
function groups(questions: readonly OpenQuestion[]): Iterable<readonly OpenQuestion[]> {
  const worded = questions.filter(({ input }) => stepMethods(input).length > 0);
  return Map.groupBy(worded, ({ model, input }) => JSON.stringify([model, ...stepMethods(input)])).values();
}

/** The jobs with the words of the group, the oldest first. */
function candidatesOf(similarResults: readonly OpenQuestion[]): OpenQuestion["candidates"] {
  const jobs = similarResults.flatMap(({ candidates }) => candidates.filter(({ match }) => match === "prompt"));
  const distinct = [...new Map(jobs.map((job) => [job.jobId, job])).values()];
  return distinct.toSorted((a, b) => (a.createdAt ?? "").localeCompare(b.createdAt ?? ""));
}

function areTheSame(similarResults: readonly OpenQuestion[]): boolean {
  return new Set(similarResults.map(({ input }) => canonicalJson(input))).size === 1;
}

/**
 * How a job goes with an unanswered submit of its model. `key`: the service says that it was made under the submit's own
 * idempotency key. `prompt`: its prompt is the same. `possible`: there is no prompt to compare. `unlike`: it
 * has another prompt, or another key.
 */
export type JobMatch = "key" | "prompt" | "possible" | "unlike";

/** What is known of the submit. */
export interface SentRequest {
  readonly key: string;
  readonly input: Json;
  /** The job that the service named when the key was sent. */
  readonly namedJobId: string | null;
}

/** What the service tells of a job. */
export interface ToldJob {
  readonly jobId: string;
  readonly prompt: string | null;
  readonly idempotencyKey: string | null;
}

export function matchOf({ key, input, namedJobId }: SentRequest, job: ToldJob): JobMatch {
  if (job.jobId === namedJobId || job.idempotencyKey === key) return "key";
  if (job.idempotencyKey !== null) return "unlike";
  const words = stepMethods(input);
  if (job.prompt === null || words.length === 0) return "possible";
  return words.includes(job.prompt.trim()) ? "prompt" : "unlike";
}

/** From 0, nothing in common, to 1, the same words; null where there is nothing to compare. */
export function similarity(input: Json, prompt: string | null): number | null {
  const requested = stepMethods(input);
  if (prompt === null || requested.length === 0) return null;
  return Math.max(...requested.map((one) => overlap(tokens(one), tokens(prompt))));
}

/** What an input says in words, trimmed; the service may tell any of them as the prompt. */
export function stepMethods(input: Json): readonly string[] {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return [];
  const record = input as { readonly [name: string]: Json };
  const texts = ["prompt", "text"].map((field) => record[field]);
  return texts.filter((text) => typeof text === "string").map((text) => text.trim());
}

function tokens(text: string): ReadonlySet<string> {
  return new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []);
}

/** Sørensen–Dice. */
function overlap(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  if (a.size + b.size === 0) return 1;
  const shared = [...a].filter((word) => b.has(word)).length;
  return (2 * shared) / (a.size + b.size);
}
