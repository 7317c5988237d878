import type { RunEnd } from "../journal/events.ts";
import type { OutputState, RunState } from "../journal/state.ts";
import { referenced, returnedReferences } from "./resolve.ts";

/** A returned output that has a copy but no named file yet. */
export interface ToPlace {
  /** Name in what the pipeline returns; outputs of one list get `-2`, `-3` … */
  readonly name: string;
  readonly step: string;
  readonly output: OutputState;
}

export interface Ending {
  readonly status: RunEnd;
  readonly message: string | null;
  readonly toPlace: readonly ToPlace[];
}

/** How a run whose steps are all through ends: by what it was asked to return. */
export function ending(state: RunState): Ending {
  const returned = returnedReferences(state.planned.plan.returns);
  const missing: string[] = [];
  const toPlace: ToPlace[] = [];
  const placed = new Set(state.files.map((file) => file.name));
  for (const { name, ref } of returned) {
    const outputs = ref.as === "upload" ? [] : referenced(state, ref);
    const expected = ref.output === "all" ? (state.steps[ref.step]?.attempts.at(-1)?.outputs.length ?? 1) : 1;
    if (ref.as !== "upload" && outputs.length < expected) missing.push(name);
    outputs.forEach((output, position) => {
      const label = ref.output === "all" ? `${name}-${position + 1}` : name;
      if (output.copy !== null && !placed.has(label)) toPlace.push({ name: label, step: ref.step, output });
    });
  }
  const failed = Object.values(state.steps).filter((step) => step.status === "failed" || step.status === "partial");
  const message = failed.length === 0 ? null : failed.map((step) => `${step.path}: ${step.reason}`).join("; ");
  if (missing.length === 0) {
    const nothingDone = returned.length === 0 && failed.length > 0;
    return { status: nothingDone ? "failed" : "succeeded", message, toPlace };
  }
  return { status: missing.length === returned.length ? "failed" : "partial", message, toPlace };
}
