import type { EventLine, ProgressView, RunHead, RunPatch, StepView } from "../../views/wire.ts";

/** A run as far as the page knows it. Replaced, never changed, when something comes. */
export interface RunModel {
  readonly head: RunHead;
  readonly steps: ReadonlyMap<string, StepView>;
  /** Newest last; earlier ones are loaded on demand. */
  readonly events: readonly EventLine[];
  readonly progress: ReadonlyMap<string, ProgressView>;
}

const MOST_LINES = 5000;

export function applyPatch(model: RunModel | null, patch: RunPatch): RunModel {
  const isFresh = patch.full || model === null;
  const steps = new Map(isFresh ? [] : model.steps);
  for (const step of patch.steps) steps.set(step.path, step);
  const known = model?.events ?? [];
  const lastSeq = known.at(-1)?.seq ?? 0;
  const events = [...known, ...patch.events.filter(({ seq }) => seq > lastSeq)].slice(-MOST_LINES);
  return { head: patch.head, steps, events, progress: byStep(patch.progress) };
}

export function byStep(progress: readonly ProgressView[]): ReadonlyMap<string, ProgressView> {
  return new Map(progress.map((one) => [one.step, one]));
}
