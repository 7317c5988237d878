import type { RunLimits } from "../journal/events.ts";
import { lastAttempt, type RunState } from "../journal/state.ts";
import type { ChatStep, JobStep, PlanStep, TaskStep } from "../plan/plan.ts";

/** What takes a slot: jobs and chats at the service, local functions here. */
export type SlotStep = JobStep | ChatStep | TaskStep;

/** Local functions at once, where the run does not say. */
const DEFAULT_TASKS = 4;

/**
 * How many jobs may run at once: in all, per model and per modality; and how many local functions, counted apart. Jobs at
 * the service hold their slot across pauses.
 */
export class Slots {
  readonly #limits: RunLimits;
  readonly #used = new Map<string, number>();

  constructor(state: RunState, limits: RunLimits, steps: readonly PlanStep[]) {
    this.#limits = limits;
    for (const step of steps) if (takesSlot(step) && isInFlight(state, step)) this.take(step);
  }

  free(step: SlotStep): boolean {
    if (step.kind === "task") return this.#count("task") < (this.#limits.perModality.task ?? DEFAULT_TASKS);
    const modality = modalityOf(step);
    return (
      this.#count("total") < this.#limits.total &&
      this.#count(`model:${step.model}`) < (this.#limits.perModel[step.model] ?? Number.POSITIVE_INFINITY) &&
      this.#count(`modality:${modality}`) < (this.#limits.perModality[modality] ?? Number.POSITIVE_INFINITY)
    );
  }

  take(step: SlotStep): void {
    const names = step.kind === "task" ? ["task"] : ["total", `model:${step.model}`, `modality:${modalityOf(step)}`];
    for (const name of names) this.#used.set(name, this.#count(name) + 1);
  }

  #count(name: string): number {
    return this.#used.get(name) ?? 0;
  }
}

function takesSlot(step: PlanStep): step is SlotStep {
  return step.kind === "job" || step.kind === "chat" || step.kind === "task";
}

function modalityOf(step: JobStep | ChatStep): string {
  if (step.kind === "chat") return "chat";
  return step.yields === "voice" ? "audio" : step.yields;
}

function isInFlight(state: RunState, plan: SlotStep): boolean {
  const step = state.steps[plan.path]!;
  if (plan.kind === "task") return step.status === "running";
  if (plan.kind === "chat") return step.chats.at(-1)?.phase === "sent";
  switch (lastAttempt(step)?.phase) {
    case "submitting.sent":
    case "submitting.unknown":
    case "inQueue":
    case "inProgress":
      return true;
    default:
      return false;
  }
}
