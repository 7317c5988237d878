import type { EventLine, PageStep, RunHead, RunPatch, StepGroup, StepProgress } from "../../views/document.ts";

export interface RunModel {
  readonly head: RunHead;
  readonly steps: ReadonlyMap<string, PageStep>;
  readonly groups: readonly StepGroup[] | null;
  readonly events: readonly EventLine[];
  readonly progress: ReadonlyMap<string, StepProgress>;
}

const MOST_LINES = 5000;
const MOST_STEPS = 2000;

export function applyPatch(model: RunModel | null, patch: RunPatch): RunModel {
  const isFresh = patch.full || model === null;
  const steps = new Map(isFresh ? [] : model.steps);
  for (const step of patch.steps) steps.set(step.path, step);
  if (patch.groups !== null) forgetFinished(steps, patch.groups);
  const known = model?.events ?? [];
  const lastSeq = known.at(-1)?.seq ?? 0;
  const events = [...known, ...patch.events.filter(({ seq }) => seq > lastSeq)].slice(-MOST_LINES);
  return { head: patch.head, steps, groups: patch.groups, events, progress: byStep(patch.progress) };
}

function forgetFinished(steps: Map<string, PageStep>, groups: readonly StepGroup[]): void {
  if (steps.size <= MOST_STEPS) return;
  const shown = new Set(groups.flatMap((group) => group.shown));
  for (const [path, { status }] of steps) {
    if (steps.size <= MOST_STEPS) return;
    if ((status === "succeeded" || status === "skipped") && !shown.has(path)) steps.delete(path);
  }
}

export function byStep(progress: readonly StepProgress[]): ReadonlyMap<string, StepProgress> {
  return new Map(progress.map((one) => [one.step, one]));
}
