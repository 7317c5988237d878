import {
  countTime,
  type JobLimits,
  type PlanStep,
  type RunEvent,
  type RunUpdate,
  type TimeTaken,
} from "../../index.ts";

/** What a step is doing, in words of a person. */
export type Phase =
  | "waiting"
  | "asking you"
  | "asking"
  | "working"
  | "choosing"
  | "planning"
  | "uploading"
  | "pricing"
  | "submitting"
  | "queued"
  | "rendering"
  | "downloading"
  | "done"
  | "partial"
  | "failed"
  | "skipped"
  | "cancelled"
  | "unresolved";

/** One step as the live view shows it. Money is micro-dollars, instants are epoch milliseconds. */
export interface StepView {
  readonly path: string;
  readonly kind: PlanStep["kind"];
  /** As it is planned. */
  readonly plan: PlanStep;
  readonly model: string | null;
  readonly needs: readonly string[];
  readonly phase: Phase;
  /** 0 to 1 while rendering, downloading or working, where that is known. */
  readonly fraction: number | null;
  readonly etaAt: number | null;
  /** When the service took the job that counts. */
  readonly queuedAt: number | null;
  readonly startedAt: number | null;
  readonly finishedAt: number | null;
  readonly attempt: number;
  readonly jobId: string | null;
  /** Quoted or held, until it is settled. */
  readonly priceMicros: number | null;
  /** What its attempts cost so far; null before the first bill. */
  readonly costMicros: number | null;
  /** Reserved for a request whose bill is not known yet. */
  readonly heldMicros: number;
  readonly reason: string | null;
}

export interface RunView {
  readonly runId: string;
  readonly pipeline: string;
  readonly status: string;
  readonly budgetMicros: number | null;
  readonly quoteMicros: number | null;
  readonly startedAt: number | null;
  /** How long it was at work, as everybody counts it. */
  readonly took: TimeTaken;
  /** Jobs at once. */
  readonly limits: JobLimits;
  readonly steps: ReadonlyMap<string, StepView>;
  readonly lastSeq: number;
}

export const emptyView: RunView = {
  runId: "",
  pipeline: "",
  status: "planned",
  budgetMicros: null,
  quoteMicros: null,
  startedAt: null,
  took: { ms: 0, since: null, lastAt: 0 },
  limits: { total: 8, perModel: {}, perModality: {} },
  steps: new Map(),
  lastSeq: 0,
};

/** Money that is gone and money that is promised. */
export function spentOf(view: RunView): { readonly spentMicros: number; readonly heldMicros: number } {
  let spentMicros = 0;
  let heldMicros = 0;
  for (const step of view.steps.values()) {
    spentMicros += step.costMicros ?? 0;
    heldMicros += step.heldMicros;
  }
  return { spentMicros, heldMicros };
}

/** The view after one more thing happened. */
export function applyUpdate(view: RunView, update: RunUpdate): RunView {
  if ("type" in update) {
    // A figure that comes late says nothing of a step that is through.
    if (view.steps.get(update.step)?.finishedAt != null) return view;
    return withStep(view, update.step, { fraction: update.fraction, etaAt: update.estimatedCompletionAt });
  }
  const took = { ...view.took };
  countTime(took, update.event.type, update.at);
  return { ...applyEvent(view, update.event, update.at), took, runId: update.runId, lastSeq: update.seq };
}

function applyEvent(view: RunView, event: RunEvent, at: number): RunView {
  switch (event.type) {
    case "run.planned":
      return planned(event, at);
    case "run.started":
    case "run.resumed":
    case "run.reopened":
      return { ...view, status: "running" };
    case "run.budget.set":
      return { ...view, budgetMicros: event.budgetMicros };
    case "run.replanned":
      return { ...view, quoteMicros: event.quoteMicros, steps: withSteps(view.steps, event.plan.steps, true) };
    case "expand.planned":
      return { ...view, steps: withSteps(view.steps, event.steps, false) };
    case "run.paused":
      return { ...view, status: `paused (${event.reason})` };
    case "run.finished":
      return { ...view, status: event.status };
    default:
      return "step" in event && !event.type.startsWith("run.")
        ? withStep(view, event.step, stepChange(event, at, view))
        : view;
  }
}

function planned(event: RunEvent & { readonly type: "run.planned" }, at: number): RunView {
  return {
    ...emptyView,
    pipeline: event.plan.pipeline,
    budgetMicros: event.budgetMicros,
    quoteMicros: event.quoteMicros,
    startedAt: at,
    limits: event.limits,
    steps: withSteps(new Map(), event.plan.steps, true),
  };
}

/** The steps of a plan, known ones as they are; with `only`, those that the plan does not name are gone. */
function withSteps(
  known: ReadonlyMap<string, StepView>,
  planned: readonly PlanStep[],
  only: boolean,
): ReadonlyMap<string, StepView> {
  const steps = planned.map((step) => [step.path, known.get(step.path) ?? newStep(step)] as const);
  return new Map(only ? steps : [...known, ...steps]);
}

function newStep(step: PlanStep): StepView {
  return {
    path: step.path,
    kind: step.kind,
    plan: step,
    model: "model" in step ? step.model : null,
    needs: step.needs,
    phase: "waiting",
    fraction: null,
    etaAt: null,
    queuedAt: null,
    startedAt: null,
    finishedAt: null,
    attempt: 0,
    jobId: null,
    priceMicros: null,
    costMicros: null,
    heldMicros: 0,
    reason: null,
  };
}

/** What a step of each kind does first. */
const beginning: Readonly<Record<PlanStep["kind"], Phase>> = {
  upload: "uploading",
  job: "pricing",
  chat: "asking",
  task: "working",
  approve: "asking you",
  pick: "choosing",
  expand: "planning",
};

const endPhase = {
  succeeded: "done",
  partial: "partial",
  failed: "failed",
  skipped: "skipped",
  cancelled: "cancelled",
} as const;

function stepChange(event: RunEvent, at: number, view: RunView): Partial<StepView> {
  const step = "step" in event ? view.steps.get(event.step) : undefined;
  if (step === undefined) return {};
  switch (event.type) {
    case "step.started":
      return { startedAt: at, phase: beginning[step.kind] };
    case "step.reset":
      return { phase: "waiting", startedAt: null, finishedAt: null, reason: event.why };
    case "step.reused":
      return { reason: `made by run ${event.from.runId}` };
    case "job.quoted":
      return { priceMicros: event.costMicros };
    case "job.submit.intended":
      return {
        phase: "submitting",
        attempt: event.attempt,
        priceMicros: event.holdMicros,
        heldMicros: event.holdMicros,
        jobId: null,
      };
    case "chat.intended":
      return { phase: "asking", attempt: event.attempt, priceMicros: event.holdMicros, heldMicros: event.holdMicros };
    case "chat.answered":
      return paid(step, event.costMicros);
    case "chat.failed":
      return { ...paid(step, event.costMicros), reason: event.error.message };
    case "task.failed":
      return { reason: event.error.message };
    case "approval.decided":
      return { reason: event.note };
    case "job.submit.withdrawn":
      return { phase: "waiting", heldMicros: 0 };
    case "job.submit.refused":
      return { reason: event.error.message, heldMicros: 0 };
    case "job.unresolved":
      return { phase: "unresolved", reason: event.message };
    case "job.found":
      return { phase: "queued", reason: null };
    case "job.submitted":
      return { phase: "queued", jobId: event.jobId, fraction: null, queuedAt: at };
    case "job.started":
      return { phase: "rendering" };
    case "job.completed":
      return { phase: "downloading", fraction: null, etaAt: null };
    case "job.failed":
      return { reason: event.error.message };
    case "job.settled":
      return paid(step, event.costMicros);
    case "step.finished":
      return {
        phase: endPhase[event.status],
        finishedAt: at,
        fraction: null,
        etaAt: null,
        ...(event.reason && { reason: event.reason }),
      };
    default:
      return {};
  }
}

/** A bill: it takes the place of what was held. Further attempts cost on top of it. */
function paid(step: StepView, costMicros: number): Partial<StepView> {
  return { costMicros: (step.costMicros ?? 0) + costMicros, heldMicros: 0 };
}

function withStep(view: RunView, path: string, change: Partial<StepView>): RunView {
  const step = view.steps.get(path);
  if (!step) return view;
  return { ...view, steps: new Map(view.steps).set(path, { ...step, ...change }) };
}
