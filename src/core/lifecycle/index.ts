import { type AnyStateMachine, type AnyStateNode, initialTransition, type StateValue, transition } from "xstate";
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

export const tables = {
  run: compileTable(runMachine),
  step: compileTable(stepMachine),
  job: compileTable(jobMachine),
  output: compileTable(outputMachine),
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

/** Maps each state's name and event type to the name of the next state. */
export interface TransitionTable {
  readonly initial: string;
  readonly states: ReadonlyMap<string, ReadonlyMap<string, string>>;
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

function compileTable(machine: AnyStateMachine): TransitionTable {
  let compiled: TransitionTable | undefined;
  const table = () => {
    compiled ??= explore(machine);
    return compiled;
  };
  return {
    get initial() {
      return table().initial;
    },
    get states() {
      return table().states;
    },
  };
}

function explore(machine: AnyStateMachine): TransitionTable {
  const [first] = initialTransition(machine);
  const states = new Map<string, Map<string, string>>();
  const open = [first];
  while (open.length > 0) {
    const snapshot = open.pop()!;
    const name = stateName(snapshot.value);
    if (states.has(name)) continue;
    const row = new Map<string, string>();
    states.set(name, row);
    for (const type of machine.events) {
      if (!snapshot.can({ type })) continue;
      const [next] = transition(machine, snapshot, { type });
      row.set(type, stateName(next.value));
      open.push(next);
    }
  }
  return { initial: stateName(first.value), states };
}

export function next(table: TransitionTable, state: string, event: string): string | null {
  return table.states.get(state)?.get(event) ?? null;
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
