import type { RunView, StepView } from "./run-view.ts";

type Medians = ReadonlyMap<string, number> | undefined;

/** When a step's job will be through: as the service says, else as its model took before; null when nobody knows. */
export function expectedEnd(step: StepView, medians: Medians): number | null {
  if (step.etaAt !== null) return step.etaAt;
  const median = step.model === null ? undefined : medians?.get(step.model);
  const isAtService = step.phase === "queued" || step.phase === "rendering";
  return isAtService && median !== undefined && step.queuedAt !== null ? step.queuedAt + median : null;
}

/**
 * What is left of the run along its longest chain, milliseconds, as if nothing waited for a slot; null while one of its
 * models has not run before, or when a person has to decide first.
 */
export function remainingMs(
  view: RunView,
  options: { readonly now: number; readonly medians?: Medians },
): number | null {
  const ends = new Map<string, number>();
  for (const step of view.steps.values()) {
    const left = stepLeft(step, options);
    if (left === null) return null;
    ends.set(step.path, step.needs.reduce((latest, need) => Math.max(latest, ends.get(need) ?? 0), 0) + left);
  }
  return [...ends.values()].reduce((latest, end) => Math.max(latest, end), 0);
}

function stepLeft(
  step: StepView,
  { now, medians }: { readonly now: number; readonly medians?: Medians },
): number | null {
  if (step.finishedAt !== null) return 0;
  if (step.kind === "approve") return null;
  const end = expectedEnd(step, medians);
  if (end !== null) return Math.max(0, end - now);
  if (step.model === null) return 0;
  return medians?.get(step.model) ?? null;
}
