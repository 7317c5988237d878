import type { RunEvent, RunUpdate } from "../../index.ts";

/** What a step is doing, in words of a person. */
export type Phase =
  | "waiting"
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
  readonly kind: string;
  readonly model: string | null;
  readonly needs: readonly string[];
  readonly phase: Phase;
  /** 0 to 1 while rendering, where the service says. */
  readonly fraction: number | null;
  readonly etaAt: number | null;
  readonly startedAt: number | null;
  readonly finishedAt: number | null;
  readonly attempt: number;
  readonly jobId: string | null;
  /** Quoted or held, until it is settled. */
  readonly priceMicros: number | null;
  readonly costMicros: number | null;
  readonly reason: string | null;
}

export interface RunView {
  readonly runId: string;
  readonly pipeline: string;
  readonly status: string;
  readonly budgetMicros: number | null;
  readonly quoteMicros: number | null;
  readonly startedAt: number | null;
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
  steps: new Map(),
  lastSeq: 0,
};

/** Money that is gone and money that is promised. */
export function spentOf(view: RunView): { readonly spentMicros: number; readonly heldMicros: number } {
  let spentMicros = 0;
  let heldMicros = 0;
  for (const step of view.steps.values()) {
    spentMicros += step.costMicros ?? 0;
    if (step.costMicros === null && step.jobId !== null) heldMicros += step.priceMicros ?? 0;
  }
  return { spentMicros, heldMicros };
}

/** The view after one more thing happened. */
export function applyUpdate(view: RunView, update: RunUpdate): RunView {
  if ("type" in update) {
    return withStep(view, update.step, { fraction: update.fraction, etaAt: update.estimatedCompletionAt });
  }
  return { ...applyEvent(view, update.event, update.at), runId: update.runId, lastSeq: update.seq };
}

function applyEvent(view: RunView, event: RunEvent, at: number): RunView {
  switch (event.type) {
    case "run.planned":
      return planned(event, at);
    case "run.started":
    case "run.resumed":
      return { ...view, status: "running" };
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
  const steps = event.plan.steps.map(
    (step): StepView => ({
      path: step.path,
      kind: step.kind,
      model: "model" in step ? step.model : null,
      needs: step.needs,
      phase: "waiting",
      fraction: null,
      etaAt: null,
      startedAt: null,
      finishedAt: null,
      attempt: 0,
      jobId: null,
      priceMicros: null,
      costMicros: null,
      reason: null,
    }),
  );
  return {
    ...emptyView,
    pipeline: event.plan.pipeline,
    budgetMicros: event.budgetMicros,
    quoteMicros: event.quoteMicros,
    startedAt: at,
    steps: new Map(steps.map((step) => [step.path, step])),
  };
}

const endPhase = {
  succeeded: "done",
  partial: "partial",
  failed: "failed",
  skipped: "skipped",
  cancelled: "cancelled",
} as const;

function stepChange(event: RunEvent, at: number, view: RunView): Partial<StepView> {
  switch (event.type) {
    case "step.started":
      return { startedAt: at, phase: view.steps.get(event.step)?.kind === "upload" ? "uploading" : "pricing" };
    case "job.quoted":
      return { priceMicros: event.costMicros };
    case "job.submit.intended":
      return { phase: "submitting", attempt: event.attempt, priceMicros: event.holdMicros, jobId: null };
    case "job.submit.withdrawn":
      return { phase: "waiting" };
    case "job.submit.refused":
      return { reason: event.error.message };
    case "job.unresolved":
      return { phase: "unresolved", reason: event.message };
    case "job.submitted":
      return { phase: "queued", jobId: event.jobId, fraction: null };
    case "job.started":
      return { phase: "rendering" };
    case "job.completed":
      return { phase: "downloading", fraction: null };
    case "job.failed":
      return { reason: event.error.message };
    case "job.settled":
      return { costMicros: event.costMicros };
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

function withStep(view: RunView, path: string, change: Partial<StepView>): RunView {
  const step = view.steps.get(path);
  if (!step) return view;
  return { ...view, steps: new Map(view.steps).set(path, { ...step, ...change }) };
}
