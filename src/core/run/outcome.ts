import type { RunEnd } from "../journal/events.ts";
import type { OutputState, RunState } from "../journal/state.ts";
import { shellWord } from "../kit/value-text.ts";
import { type ProducedOutput, type ReturnedReference, referenced, returnedReferences, tally } from "./resolve.ts";
import { lost } from "./retention.ts";
import { cameLate } from "./second-choice.ts";

export interface UnplacedOutput {
  /** The output's unique name. It comes from the pipeline's return value, such as `film` or `shots-2`. */
  readonly name: string;
  readonly step: string;
  readonly output: OutputState;
}

export interface RunOutcome {
  readonly status: RunEnd;
  readonly message: string | null;
  readonly toPlace: readonly UnplacedOutput[];
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
  const toPlace = labelled(returned).flatMap(({ name, produced }): readonly UnplacedOutput[] => {
    const { step, output } = produced;
    const file = placed.get(name);
    const isPlaced = file?.step === step && file.index === output.index;
    return output.copy === null || isPlaced ? [] : [{ name, ...produced }];
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

interface ReturnedResult extends ReturnedReference {
  readonly outputs: readonly ProducedOutput[];
}

function returnedResults(state: RunState): readonly ReturnedResult[] {
  return returnedReferences(state.planned.plan.returns).map((returned) => {
    return { ...returned, outputs: returned.ref.as === "value" ? [] : referenced(state, returned.ref) };
  });
}

interface Labelled {
  readonly name: string;
  readonly produced: ProducedOutput;
}

/** Gives each output a unique name. If names are equal, all but one get the next free number. */
function labelled(returned: readonly ReturnedResult[]): readonly Labelled[] {
  const requested = returned.flatMap(({ name, isCounted, ref, outputs }) => {
    const isList = ref.output === "all";
    return outputs.map((produced, position) => {
      return { name: isList ? `${name}-${position + 1}` : name, isCounted: isCounted || isList, produced };
    });
  });
  const byClaim = [...requested.filter((claim) => !claim.isCounted), ...requested.filter((claim) => claim.isCounted)];
  const reserved = new Set(requested.map(({ name }) => name));
  const holders = new Map<string, ProducedOutput>();
  const names = new Map<(typeof requested)[number], string>();
  const lastNumbers = new Map<string, number>();
  const nextFree = (name: string): string => {
    let n = lastNumbers.get(name) ?? 1;
    do n += 1;
    while (reserved.has(`${name}-${n}`) || holders.has(`${name}-${n}`));
    lastNumbers.set(name, n);
    return `${name}-${n}`;
  };
  for (const claim of byClaim) {
    const { name, produced } = claim;
    const holder = holders.get(name);
    if (holder !== undefined && isSame(holder, produced)) continue;
    const freeName = holder === undefined ? name : nextFree(name);
    holders.set(freeName, produced);
    names.set(claim, freeName);
  }
  return requested.flatMap((claim) =>
    names.has(claim) ? [{ name: names.get(claim)!, produced: claim.produced }] : [],
  );
}

function isSame(output: ProducedOutput, otherOutput: ProducedOutput): boolean {
  return output.step === otherOutput.step && output.output.index === otherOutput.output.index;
}
