import type { RunEnd } from "../journal/events.ts";
import type { OutputState, RunState } from "../journal/state.ts";
import { traitsOf } from "../plan/index.ts";
import { stepNamed } from "../plan/plan-index.ts";
import { type ProducedOutput, type ReturnedReference, referenced, returnedReferences, tally } from "./resolve.ts";

/** A returned output that has a copy but no named file yet. */
export interface UnplacedOutput {
  /** Name in what the pipeline returns, with `-1`, `-2` … for the parts of a list; no two have the same. */
  readonly name: string;
  readonly step: string;
  readonly output: OutputState;
}

export interface RunOutcome {
  readonly status: RunEnd;
  readonly message: string | null;
  readonly toPlace: readonly UnplacedOutput[];
}

/** The outcome of a run whose steps have all finished: decided by its returned results. */
export function runOutcome(state: RunState): RunOutcome {
  const returned = returnedResults(state);
  const uncopied = new Set<string>();
  let expected = 0;
  let available = 0;
  for (const { ref, outputs } of returned) {
    const counts = tally(state, ref, outputs);
    const missing = outputs.filter((produced) => isUncopied(state, produced));
    for (const { step, output } of missing) uncopied.add(`${step}: output ${output.index} could not be fetched`);
    expected += counts.expected;
    available += Math.max(0, counts.available - missing.length);
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
  const problems = [...failed.map((step) => `${step.path}: ${step.reason}`), ...uncopied];
  const message = problems.length === 0 ? null : problems.join("; ");
  const enough = typeof plan.onFailure === "object" && available >= plan.onFailure.quorum;
  if (available >= expected || enough) {
    const nothingDone = returned.length === 0 && failed.length > 0;
    return { status: nothingDone ? "failed" : "succeeded", message, toPlace };
  }
  return { status: available === 0 ? "failed" : "partial", message, toPlace };
}

interface ReturnedResult extends ReturnedReference {
  /** Available ones; of a value there are none. */
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

/**
 * Each returned output under a name of its own. Where two would have the same, one that the pipeline gave by itself goes
 * before one that was counted, then the first; others get the next number that no name has.
 */
function labelled(returned: readonly ReturnedResult[]): readonly Labelled[] {
  const requested = returned.flatMap(({ name, isCounted, ref, outputs }) => {
    const isList = ref.output === "all";
    return outputs.map((produced, position) => {
      return { name: isList ? `${name}-${position + 1}` : name, isCounted: isCounted || isList, produced };
    });
  });
  const byClaim = [...requested.filter((one) => !one.isCounted), ...requested.filter((one) => one.isCounted)];
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
  for (const one of byClaim) {
    const { name, produced } = one;
    const holder = holders.get(name);
    if (holder !== undefined && isSame(holder, produced)) continue;
    const own = holder === undefined ? name : nextFree(name);
    holders.set(own, produced);
    names.set(one, own);
  }
  return requested.flatMap((one) => (names.has(one) ? [{ name: names.get(one)!, produced: one.produced }] : []));
}

function isSame(one: ProducedOutput, other: ProducedOutput): boolean {
  return one.step === other.step && one.output.index === other.output.index;
}

/** Whether a copy was to be here and is not, although the run made the output: fetching it was given up. */
function isUncopied({ steps, planned }: RunState, { step, output }: ProducedOutput): boolean {
  if (output.phase !== "available" || output.copy !== null || output.voiceId !== null) return false;
  const plan = stepNamed(planned.plan, step);
  return plan !== undefined && traitsOf(plan).keeps && steps[step]?.outputs === null;
}
