import type { RunLimits } from "../journal/events.ts";
import { lastAttempt, type RunState } from "../journal/state.ts";
import type { JobStep, PlanStep } from "../plan/plan.ts";

/** How many jobs may run at once: in all, per model and per modality. Jobs at the service hold their slot across pauses. */
export class Slots {
  readonly #limits: RunLimits;
  readonly #used = new Map<string, number>();

  constructor(state: RunState, limits: RunLimits, steps: readonly PlanStep[]) {
    this.#limits = limits;
    for (const step of steps) if (step.kind === "job" && isAtService(state, step)) this.take(step);
  }

  free(step: JobStep): boolean {
    const modality = modalityOf(step);
    return (
      this.#count("total") < this.#limits.total &&
      this.#count(`model:${step.model}`) < (this.#limits.perModel[step.model] ?? Number.POSITIVE_INFINITY) &&
      this.#count(`modality:${modality}`) < (this.#limits.perModality[modality] ?? Number.POSITIVE_INFINITY)
    );
  }

  take(step: JobStep): void {
    for (const name of ["total", `model:${step.model}`, `modality:${modalityOf(step)}`]) {
      this.#used.set(name, this.#count(name) + 1);
    }
  }

  #count(name: string): number {
    return this.#used.get(name) ?? 0;
  }
}

function modalityOf(step: JobStep): string {
  return step.yields === "voice" ? "audio" : step.yields;
}

function isAtService(state: RunState, step: JobStep): boolean {
  switch (lastAttempt(state.steps[step.path]!)?.phase) {
    case "submitting.sent":
    case "submitting.unknown":
    case "inQueue":
    case "inProgress":
      return true;
    default:
      return false;
  }
}
