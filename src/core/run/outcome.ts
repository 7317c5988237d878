import type { RunEnd } from "../journal/events.ts";
import type { RunState } from "../journal/state.ts";
import { shellWord } from "../kit/value-text.ts";
import { type ProducedOutput, tally } from "./resolve.ts";
import { lost } from "./retention.ts";
import { type NamedOutput, namedOutputs, returnedResults } from "./returned.ts";
import { cameLate } from "./second-choice.ts";

export interface RunOutcome {
  readonly status: RunEnd;
  readonly message: string | null;
  readonly toPlace: readonly NamedOutput[];
}

export function runOutcome(state: RunState): RunOutcome {
  const returned = returnedResults(state);
  let expected = 0;
  let available = 0;
  for (const { ref, outputs } of returned) {
    const counts = tally(state, ref, outputs);
    expected += counts.expected;
    available += counts.available;
  }
  const placed = new Map(state.files.map((file) => [file.name, file]));
  const toPlace = namedOutputs(returned).filter(({ name, step, output }) => {
    const file = placed.get(name);
    return output.copy !== null && (file?.step !== step || file.index !== output.index);
  });
  const { plan } = state.planned;
  const failed = plan.steps
    .map(({ path }) => state.steps[path]!)
    .filter((step) => step.status === "failed" || step.status === "partial");
  const late = cameLate(state).map(({ option, choice }) => {
    return `${option} finished late and can be used instead: showrunner resume ${state.runId} --rerun ${shellWord(choice)}`;
  });
  const problems = [...failed.map((step) => `${step.path}: ${step.reason}`), ...lost(state).map(lostText), ...late];
  const message = problems.length === 0 ? null : problems.join("; ");
  const enough = typeof plan.onFailure === "object" && available >= plan.onFailure.quorum;
  if (available >= expected || enough) {
    const nothingDone = returned.length === 0 && failed.length > 0;
    return { status: nothingDone ? "failed" : "succeeded", message, toPlace };
  }
  return { status: available === 0 ? "failed" : "partial", message, toPlace };
}

function lostText({ step, output }: ProducedOutput): string {
  return `${step}: output ${output.index} expired on the service before it was downloaded`;
}
