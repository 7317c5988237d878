import type { RunEnd } from "../journal/events.ts";
import type { OutputState, RunState } from "../journal/state.ts";
import { type Made, referenced, returnedReferences, tally } from "./resolve.ts";

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
  const toPlace: ToPlace[] = [];
  let wanted = 0;
  let there = 0;
  for (const { name, ref } of returned) {
    const counts = tally(state, ref);
    wanted += counts.wanted;
    there += counts.there;
    if (ref.as === "value") continue;
    referenced(state, ref).forEach(({ step, output }, position) => {
      const label = ref.output === "all" ? `${name}-${position + 1}` : name;
      if (output.copy !== null && !isPlaced(state, label, { step, output }))
        toPlace.push({ name: label, step, output });
    });
  }
  const { plan } = state.planned;
  const failed = plan.steps
    .map(({ path }) => state.steps[path]!)
    .filter((step) => step.status === "failed" || step.status === "partial");
  const message = failed.length === 0 ? null : failed.map((step) => `${step.path}: ${step.reason}`).join("; ");
  const enough = typeof plan.onFailure === "object" && there >= plan.onFailure.quorum;
  if (there >= wanted || enough) {
    const nothingDone = returned.length === 0 && failed.length > 0;
    return { status: nothingDone ? "failed" : "succeeded", message, toPlace };
  }
  return { status: there === 0 ? "failed" : "partial", message, toPlace };
}

/** Whether the file of that name holds this very output. */
function isPlaced({ files }: RunState, name: string, { step, output }: Made): boolean {
  return files.some((file) => file.name === name && file.step === step && file.index === output.index);
}
