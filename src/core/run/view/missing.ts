import { isRunFinal, lastAttempt, type RunState, type StepState } from "../../journal/state.ts";
import { formatUsd } from "../../kit/money.ts";
import { jobPhases } from "../../lifecycle/index.ts";
import { traitsOf } from "../../plan/index.ts";
import type { PlanStep } from "../../plan/plan.ts";
import { openJobs } from "../open-jobs.ts";
import { expiryOf, lost, uncopied } from "../retention.ts";
import { isForPerson, unresolvedText } from "../unresolved-text.ts";
import { expiring } from "./expiry.ts";

/** Something that a run at rest lacks. The same list stands in every view of the run. */
export interface Missing {
  readonly step: string;
  /** Which output; null for what concerns the step as a whole. */
  readonly output: number | null;
  /**
   * `decision`: a person's. `job`: sent, and not collected. `file`: an output that is only at the service. `expired`: one
   * that was only there. `result`: the step failed. `bill`: what it cost.
   */
  readonly what: "decision" | "job" | "file" | "expired" | "result" | "bill";
  /** Until when it can be had, ISO-8601; null: nothing ends. */
  readonly until: string | null;
  /** All of it, as a sentence. */
  readonly text: string;
}

/** What a run lacks, in the order of its plan; nothing while a process drives it. */
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
  if (status === "partial") return [{ ...common, what: "result", text: `A part of ${path} is missing${why}` }];
  if (status !== "running" || traitsOf(plan).decision === null) return [];
  return step.approval === null ? [{ ...common, what: "decision", text: `${path} waits for a decision` }] : [];
}

function jobs(state: RunState): readonly Missing[] {
  return openJobs(state).map(({ step, jobId, holdMicros, provider }) => {
    const stepState = state.steps[step]!;
    const what = "job" as const;
    const attempt = lastAttempt(stepState);
    if (attempt !== null && isForPerson(attempt)) {
      return { step, output: null, what, until: iso(expiryOf(stepState)), text: unresolvedText(state, stepState) };
    }
    const most = `bills up to $${formatUsd(holdMicros)}`;
    if (provider !== undefined) {
      const isAccepted = jobPhases.accepted.has(attempt!.phase);
      const text = isAccepted
        ? `${step} still renders at ${provider} and ${most} (resume asks for it)`
        : `${step} may be made at ${provider}, as no answer came; then it ${most}`;
      return { step, output: null, what, until: null, text };
    }
    const where =
      jobId === null
        ? "may be at the service, as its submit was not acknowledged; then it"
        : `still renders at the service as ${jobId} and`;
    const text = `${step} ${where} ${most} (it cannot be cancelled; resume collects it)`;
    return { step, output: null, what, until: null, text };
  });
}

function files(state: RunState): readonly Missing[] {
  // After its end nothing is needed any more, but all that was to be kept.
  const wanted = isRunFinal(state.status)
    ? uncopied(state).map(({ step, output }) => {
        const { index, uncopied: failure = null } = output;
        return { step, index, expiresAt: expiryOf(state.steps[step]!), neededBy: [], uncopied: failure };
      })
    : expiring(state).filter(({ copied }) => !copied);
  const here = wanted.map(({ step, index, expiresAt, neededBy, uncopied: failure }): Missing => {
    const end = expiresAt === null ? "" : `, until ${minute(expiresAt)}`;
    const users = neededBy.length === 0 ? "" : ` (needed by ${neededBy.join(", ")})`;
    const why = failure === null ? "" : `: ${failure}`;
    const text = `Output ${index} of ${step} is at the service only${end}${users}${why}`;
    return { step, output: index, what: "file", until: iso(expiresAt), text };
  });
  if (state.status === "succeeded") return here;
  const gone = lost(state).map(({ step, output: { index } }): Missing => {
    const expiresAt = expiryOf(state.steps[step]!);
    const text = `Output ${index} of ${step} expired at the service before its file was here`;
    return { step, output: index, what: "expired", until: iso(expiresAt), text };
  });
  return [...here, ...gone];
}

/** Of jobs that are over: what others will cost is not known yet either. */
function bills({ steps }: RunState): readonly Missing[] {
  return Object.values(steps).flatMap((step) => {
    const { path, attempts } = step;
    const open = attempts.find(({ money, phase }) => money === "held" && (phase === "completed" || phase === "failed"));
    if (open === undefined) return [];
    const billText =
      open.impossibleBill === undefined ? "" : `: the service says ${open.impossibleBill}, which cannot be`;
    const held = `$${formatUsd(open.holdMicros)} stay reserved`;
    const output = lastAttempt(step) === open ? "" : `, attempt ${open.n},`;
    const text = `What ${path}${output} cost is not known yet, ${held}${billText}`;
    return [{ step: path, output: null, what: "bill" as const, until: null, text }];
  });
}

function iso(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}

function minute(at: number): string {
  return `${new Date(at).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}
