import { AssertionError } from "node:assert";
import type { LocalService } from "showrunner-local";
import { formatUsd } from "../core/kit/money.ts";
import { FoldedRun, type RunState } from "../core/view/index.ts";
import type { JournalStore, RunResult } from "../index.ts";

export async function assertPaidOnce(service: Pick<LocalService, "stats">, journal: JournalStore): Promise<void> {
  const stats = service.stats();
  const runs = await journal.runs();
  const states = await Promise.all(runs.map(async ({ runId }) => FoldedRun.of(await journal.read(runId)).view!.state));
  const problems = [
    ...states.flatMap(paidTwice),
    ...jobsOfOneKey(stats.jobs_by_key, states),
    ...unknownJobs(stats.jobs_by_model, states),
    ...otherCharges(stats.charged_micros - stats.refunded_micros, states),
  ];
  if (problems.length === 0) return;
  throw new AssertionError({
    message: `Not everything was paid exactly once:\n${problems.map((problem) => `- ${problem}`).join("\n")}`,
  });
}

function paidTwice(state: RunState): readonly string[] {
  return Object.values(state.steps).flatMap(({ path, attempts, superseded }) => {
    const paid = attempts.filter(
      ({ kind, n, costMicros }) => kind === "job" && n > superseded && (costMicros ?? 0) > 0,
    );
    if (paid.length < 2) return [];
    const charges = paid.map(({ n, jobId, costMicros }) => `attempt ${n}, ${jobId}, ${formatUsd(costMicros ?? 0)}`);
    return [`step ${path} of run ${state.runId} was charged ${paid.length} times: ${charges.join("; ")}`];
  });
}

function jobsOfOneKey(jobsByKey: Readonly<Record<string, number>>, states: readonly RunState[]): readonly string[] {
  const steps = new Map(
    states.flatMap(({ runId, steps }) =>
      Object.values(steps).flatMap(({ path, attempts }) =>
        attempts.map(({ key, n }) => [key, `attempt ${n} of step ${path} of run ${runId}`] as const),
      ),
    ),
  );
  return Object.entries(jobsByKey)
    .filter(([, jobs]) => jobs > 1)
    .map(([key, jobs]) => `${steps.get(key) ?? `the key ${key}`} created ${jobs} jobs on the service`);
}

/** Lists paid jobs that no run recorded. Ignores chats, which may be sent again after a crash. */
function unknownJobs(jobsByModel: Readonly<Record<string, number>>, states: readonly RunState[]): readonly string[] {
  const known = new Map<string, Set<string>>();
  for (const { kind, model, jobId } of states.flatMap(attemptsOf)) {
    if (kind !== "job" || model === null || jobId === null) continue;
    known.set(model, (known.get(model) ?? new Set()).add(jobId));
  }
  return Object.entries(jobsByModel).flatMap(([model, jobs]) => {
    const knownJobs = known.get(model)?.size ?? 0;
    if (jobs === knownJobs || (knownJobs === 0 && isChat(model, states))) return [];
    return [`the service created ${jobs} jobs for ${model}, but the runs recorded ${knownJobs}`];
  });
}

function isChat(model: string, states: readonly RunState[]): boolean {
  return states.some(({ planned }) =>
    planned.plan.steps.some((step) => step.kind === "chat" && "model" in step && step.model === model),
  );
}

function otherCharges(chargedMicros: number, states: readonly RunState[]): readonly string[] {
  const spent = states.reduce((sum, state) => sum + state.spentMicros - chargedElsewhere(state), 0);
  const unconfirmed = states.reduce((sum, state) => sum + state.unconfirmedMicros, 0);
  if (chargedMicros >= spent && chargedMicros <= spent + unconfirmed) return [];
  const range = unconfirmed === 0 ? formatUsd(spent) : `${formatUsd(spent)} to ${formatUsd(spent + unconfirmed)}`;
  return [`the wallet paid ${formatUsd(chargedMicros)}, but the runs recorded ${range}`];
}

export function chargedElsewhere(state: RunState): number {
  const elsewhere = attemptsOf(state).filter(({ provider }) => provider !== undefined);
  return elsewhere.reduce((sum, { costMicros }) => sum + (costMicros ?? 0), 0);
}

export function attemptsOf({ steps }: RunState) {
  return Object.values(steps).flatMap(({ attempts }) => attempts);
}

/**
 * Asserts that the run succeeded, and narrows its outputs to the pipeline's return type. Otherwise, throws
 * AssertionError with the reason for each failed step or for the pause.
 */
export function assertSucceeded<R extends RunResult>(
  run: R,
): asserts run is Extract<R, { readonly status: "succeeded" }> {
  if (run.status === "succeeded") return;
  const steps = run.report.steps.flatMap(({ path, status, reason }) =>
    reason === null || status === "succeeded" || status === "skipped" ? [] : [`- ${path} (${status}): ${reason}`],
  );
  const why = run.pause === null ? "" : ` (${run.pause.reason}): ${run.pause.message}`;
  throw new AssertionError({
    message: [`Run ${run.id} is ${run.status}${why}`, ...steps].join("\n"),
    actual: run.status,
    expected: "succeeded",
  });
}
