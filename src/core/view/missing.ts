import type { Chosen } from "../journal/events.ts";
import { isRunFinal, lastAttempt, outputsOf, type RunState, type StepState, thrownBy } from "../journal/state.ts";
import { dollars } from "../kit/money.ts";
import { jobPhases } from "../lifecycle/index.ts";
import { type PlanStep, type Reference, stepNamed, traitsOf } from "../plan/plan.ts";
import { NOT_ACCEPTED } from "../plan/step.ts";
import { openJobs } from "../run/open-jobs.ts";
import { referenced } from "../run/resolve.ts";
import { expiring, lost, uncopied } from "../run/retention.ts";
import { isForPerson, unresolvedText } from "../run/waiting.ts";

/**
 * Something that a run still lacks, such as a decision or a file. Reported only while no process is executing the run.
 */
export interface Missing {
  readonly step: string;
  readonly output: number | null;
  /**
   * What is missing:
   * - `decision`: a person must decide.
   * - `job`: a job was sent but not collected.
   * - `file`: an output exists only on the service.
   * - `expired`: an output has expired on the service.
   * - `result`: the step failed.
   * - `bill`: the cost is not known.
   */
  readonly what: "decision" | "job" | "file" | "expired" | "result" | "bill";
  /** ISO 8601 time until which the service keeps the output; null if it does not expire. */
  readonly until: string | null;
  readonly text: string;
}

/**
 * Lists the decisions, jobs, files, results and costs that the run still lacks. Empty while a process is executing it.
 */
export function missing(state: RunState, { isInterrupted = false } = {}): readonly Missing[] {
  const isAtWork = state.status === "planned" || state.status === "running";
  if (isAtWork && !isInterrupted) return [];
  const steps = [...state.planned.plan.steps, ...state.removedSteps];
  const ended = state.status === "succeeded" ? [] : steps.flatMap((plan) => ofStep(plan, state.steps[plan.path]!));
  const all = [...ended, ...jobs(state), ...files(state), ...bills(state)];
  const places = new Map(steps.map(({ path }, place) => [path, place]));
  return all.sort((first, second) => places.get(first.step)! - places.get(second.step)!);
}

function ofStep(plan: PlanStep, step: StepState): readonly Missing[] {
  const { path, status, reason } = step;
  const common = { step: path, output: null, until: null };
  const why = reason === null ? "" : `: ${reason}`;
  if (status === "failed") return [{ ...common, what: "result", text: `${path} failed${why}` }];
  if (status === "partial") return [{ ...common, what: "result", text: `Part of ${path} is missing${why}` }];
  if (status !== "running" || traitsOf(plan).decision === null) return [];
  return step.approval === null ? [{ ...common, what: "decision", text: `${path} is waiting for a decision` }] : [];
}

function jobs(state: RunState): readonly Missing[] {
  return openJobs(state).map(({ step, jobId, holdMicros, provider }) => {
    const stepState = state.steps[step]!;
    const what = "job" as const;
    const attempt = lastAttempt(stepState);
    if (attempt !== null && isForPerson(attempt)) {
      return { step, output: null, what, until: null, text: unresolvedText(state, stepState) };
    }
    const most = holdMicros === 0 ? "has been charged" : `can cost up to ${dollars(holdMicros, Math.ceil)}`;
    if (provider !== undefined) {
      const isAccepted = jobPhases.accepted.has(attempt!.phase);
      const text = isAccepted
        ? `${step} is still running at ${provider}; it ${most} (resume checks its status)`
        : `${step} may be running at ${provider}, which has not responded; the step ${most}`;
      return { step, output: null, what, until: null, text };
    }
    const text =
      jobId === null
        ? `${step} may be running on the service, which did not confirm the submission; the step ${most}`
        : `${step} is still running on the service as ${jobId}; it ${most}`;
    return {
      step,
      output: null,
      what,
      until: null,
      text: `${text} (it cannot be cancelled; resume collects the result)`,
    };
  });
}

function files(state: RunState): readonly Missing[] {
  // After the run's end, only outputs that should have been copied are still needed.
  const wanted = isRunFinal(state.status)
    ? uncopied(state).map(({ step, output }) => {
        const { index, expiresAt = null, uncopied: failure = null } = output;
        return { step, index, expiresAt, neededBy: [], uncopied: failure };
      })
    : expiring(state).filter(({ copied }) => !copied);
  const here = wanted.map(({ step, index, expiresAt, neededBy, uncopied: failure }): Missing => {
    const end = expiresAt === null ? "" : `, until ${minute(expiresAt)}`;
    const users = neededBy.length === 0 ? "" : ` (needed by ${neededBy.join(", ")})`;
    const why = failure === null ? "" : `: ${failure}`;
    const text = `Output ${index} of ${step} is only on the service${end}${users}${why}`;
    return { step, output: index, what: "file", until: iso(expiresAt), text };
  });
  if (state.status === "succeeded") return here;
  const gone = lost(state).map(({ step, output: { index, expiresAt = null } }): Missing => {
    const text = `Output ${index} of ${step} expired on the service before it was downloaded`;
    return { step, output: index, what: "expired", until: iso(expiresAt), text };
  });
  return [...here, ...gone];
}

/** Lists the steps that have a finished job whose cost is still unknown. */
function bills({ steps }: RunState): readonly Missing[] {
  return Object.values(steps).flatMap((step) => {
    const { path, attempts } = step;
    const open = attempts.find(({ money, phase }) => money === "held" && (phase === "completed" || phase === "failed"));
    if (open === undefined) return [];
    const billText =
      open.impossibleBill === undefined ? "" : `: the service reports ${open.impossibleBill}, which is impossible`;
    const held = `${dollars(open.holdMicros)} stays reserved`;
    const output = lastAttempt(step) === open ? "" : `, attempt ${open.n},`;
    const text = `The cost of ${path}${output} is not known yet${billText}; ${held}`;
    return [{ step: path, output: null, what: "bill" as const, until: null, text }];
  });
}

function iso(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}

function minute(at: number): string {
  return `${new Date(at).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

const MOST_VISITED = 100;
const MOST_REFUSED = 6;
const MOST_SHOWN = 6;

/** Outputs that a check rejected. */
export interface Refused {
  /** Path of the step that checked the outputs. */
  readonly step: string;
  readonly reason: string;
  /** The rejected outputs. The file of an upload step counts as its output 0. */
  readonly shows: readonly Chosen[];
}

export function refusedBy(state: RunState, plan: PlanStep): readonly Refused[] {
  const step = state.steps[plan.path];
  const error = step?.status === "failed" ? thrownBy(step) : null;
  if (error?.code !== NOT_ACCEPTED) return [];
  const shows = traitsOf(plan).uses.flatMap((ref) => lookedAt(state, ref));
  return [{ step: plan.path, reason: error.message, shows: shows.slice(0, MOST_SHOWN) }];
}

/**
 * Returns the outputs that this step rejected. If the step passes on other steps' results, also returns the outputs
 * that those steps rejected.
 */
export function refusedBefore(state: RunState, path: string): readonly Refused[] {
  const standsForOthers = (step: PlanStep) => traitsOf(step).standsFor.length > 0;
  const found: Refused[] = [];
  const first = stepNamed(state.planned.plan, path);
  const visited = new Set(first === undefined ? [] : [first]);
  for (const visitedStep of visited) {
    found.push(...refusedBy(state, visitedStep));
    if (!standsForOthers(visitedStep) || visited.size > MOST_VISITED || found.length >= MOST_REFUSED) continue;
    for (const path of visitedStep.needs) {
      const next = stepNamed(state.planned.plan, path);
      if (next !== undefined && (standsForOthers(next) || refusedBy(state, next).length > 0)) visited.add(next);
    }
  }
  return found;
}

/** Returns the outputs that a check inspected. For a value, these are all files of the step that returned the value. */
function lookedAt(state: RunState, ref: Reference["$ref"]): readonly Chosen[] {
  const step = state.steps[ref.step];
  if (step === undefined) return [];
  if (ref.as === "value")
    return outputsOf(step).flatMap(({ index, voiceId }) => (voiceId === null ? [{ step: ref.step, index }] : []));
  if (step.chosen !== null) return lookedAt(state, { ...ref, step: step.chosen.step, output: step.chosen.index });
  if (step.upload !== null) return [{ step: ref.step, index: 0 }];
  return referenced(state, ref).map(({ step, output }) => ({ step, index: output.index }));
}
