import canonicalize from "canonicalize";
import type { Json } from "../../plan/plan.ts";
import { type JobMatch, stepMethods } from "./likeness.ts";

/** An unresolved step as it is told apart from others. */
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
  const taken = new Set(found.values());
  const rest = questions.filter(({ step }) => !found.has(step));
  for (const similarResults of groups(rest)) {
    const jobs = candidatesOf(similarResults).filter(({ jobId }) => !taken.has(jobId));
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
  const claims = (jobId: string) => keyed.filter(([, claimed]) => claimed === jobId).length;
  return new Map(keyed.filter(([, jobId]) => claims(jobId) === 1));
}

/** Steps that share their model and their words; those without words stand for nothing that could be told apart. */
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
  return new Set(similarResults.map(({ input }) => canonicalize(input))).size === 1;
}
