import { type AnyStateMachine, type AnyStateNode, type StateValue, transition } from "xstate";
import { jobMachine, outputMachine, runMachine, stepMachine } from "./machines.ts";

export { jobMachine, outputMachine, runMachine, stepMachine } from "./machines.ts";

// These types are written out, so that the package's types do not depend on xstate. A type test compares them with the
// state machines.
export type RunStatus = "planned" | "running" | "paused" | "succeeded" | "partial" | "failed" | "cancelled";
export type StepStatus =
  | "waiting"
  | "running"
  | "unresolved"
  | "succeeded"
  | "partial"
  | "failed"
  | "skipped"
  | "cancelled";
export type JobPhase =
  | "planned"
  | "priced"
  | "submitting.sent"
  | "submitting.unknown"
  | "unresolved"
  | "inQueue"
  | "inProgress"
  | "completed"
  | "failed"
  | "refused"
  | "lost"
  | "abandoned";
export type MoneyPhase = "none" | "held" | "settled" | "released" | "unconfirmed";
export type OutputPhase = "pending" | "available" | "downloaded" | "lapsed" | "archived" | "expired" | "failed";

export const charts = {
  run: createChart(runMachine),
  step: createChart(stepMachine),
  job: createChart(jobMachine),
  output: createChart(outputMachine),
} as const;

const phase = jobMachine.states.phase!;

export const runStates = { ended: tagged<RunStatus>(runMachine, "ended") } as const;
export const stepStates = {
  ended: tagged<StepStatus>(stepMachine, "ended"),
  withResult: tagged<StepStatus>(stepMachine, "withResult"),
  withoutResult: tagged<StepStatus>(stepMachine, "withoutResult"),
} as const;
export const jobPhases = {
  open: tagged<JobPhase>(phase, "open"),
  inFlight: tagged<JobPhase>(phase, "inFlight"),
  submitting: tagged<JobPhase>(phase, "submitting"),
  accepted: tagged<JobPhase>(phase, "accepted"),
} as const;

export interface Chart {
  /** Returns the name of the next state, or null if the event is not allowed in this state. */
  next(state: string, event: string): string | null;
}

/** Returns a state's name, such as `submitting.sent`. `|` joins parallel regions. */
export function stateName(value: StateValue): string {
  if (typeof value === "string") return value;
  const regions = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  if (regions.length === 1) {
    const [parent, child] = regions[0]!;
    return `${parent}.${stateName(child!)}`;
  }
  return regions.map(([, child]) => stateName(child!)).join("|");
}

function stateValue({ root }: AnyStateMachine, name: string): StateValue {
  if (root.type !== "parallel") return nestedValue(name);
  const parts = name.split("|");
  return Object.fromEntries(
    Object.keys(root.states)
      .sort()
      .map((region, at) => [region, nestedValue(parts[at]!)]),
  );
}

function nestedValue(name: string): StateValue {
  const [parent, ...rest] = name.split(".");
  return rest.length === 0 ? name : { [parent!]: nestedValue(rest.join(".")) };
}

/** Creates a chart that computes each transition only once, because a computation can take a millisecond. */
function createChart(machine: AnyStateMachine): Chart {
  const known = new Map<string, Map<string, string | null>>();
  const find = (state: string, event: string): string | null => {
    const snapshot = machine.resolveState({ value: stateValue(machine, state), context: {} });
    if (!snapshot.can({ type: event })) return null;
    return stateName(transition(machine, snapshot, { type: event })[0].value);
  };
  return {
    next(state, event) {
      const row = known.get(state) ?? new Map<string, string | null>();
      const before = row.get(event);
      if (before !== undefined) return before;
      const after = find(state, event);
      known.set(state, row.set(event, after));
      return after;
    },
  };
}

export type StateNames<V> = V extends string
  ? V
  : { [K in keyof V & string]-?: `${K}.${StateNames<Exclude<V[K], undefined>>}` }[keyof V & string];

function tagged<Name extends string>(region: Pick<AnyStateNode, "states">, tag: string): ReadonlySet<Name> {
  return new Set(namesWithin(region, tag, false) as Name[]);
}

function namesWithin({ states }: Pick<AnyStateNode, "states">, tag: string, isInside: boolean): readonly string[] {
  return Object.values(states).flatMap((state) => {
    const hasTag = isInside || state.tags.includes(tag);
    const inner = namesWithin(state, tag, hasTag).map((name) => `${state.key}.${name}`);
    return inner.length > 0 || Object.keys(state.states).length > 0 ? inner : hasTag ? [state.key] : [];
  });
}
