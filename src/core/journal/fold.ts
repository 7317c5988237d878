import { IllegalEventError } from "./errors.ts";
import { Fold } from "./events/fold-context.ts";
import { type RunPlanned, type StoredEvent, specOf } from "./events.ts";
import { newStep, type RunState } from "./state.ts";

/** Snapshots with another version are ignored. */
export const FOLD_VERSION = 1;

/** First events of runs whose plan and terms have never changed. */
const asPlanned = new WeakSet<RunPlanned>();

export function isAsPlanned(planned: RunPlanned): boolean {
  return asPlanned.has(planned);
}

export function fold(events: Iterable<StoredEvent>): RunState | null {
  let state: RunState | null = null;
  for (const stored of events) {
    if (state !== null) apply(state, stored);
    else if (stored.event.type === "run.planned") state = newRun(stored.runId, stored.event, stored.at, stored.seq);
    else throw new IllegalEventError(stored.runId, stored.seq, stored.event.type, "(nothing)");
  }
  return state;
}

export function newRun(runId: string, planned: RunPlanned, at: number, seq = 1): RunState {
  const state = runWithoutSteps(runId, planned, at, seq);
  for (const { path } of planned.plan.steps) state.steps[path] = newStep(path);
  return state;
}

export function runWithoutSteps(runId: string, planned: RunPlanned, at: number, seq = 1): RunState {
  asPlanned.add(planned);
  return {
    runId,
    seq,
    epoch: 0,
    drivenSince: null,
    planned,
    status: "planned",
    message: null,
    pause: null,
    outage: null,
    createdAt: at,
    startedAt: null,
    finishedAt: null,
    activeTime: { ms: 0, since: null, lastAt: at },
    // A step may have any name, even `constructor`.
    steps: Object.create(null) as RunState["steps"],
    losses: 0,
    removedSteps: [],
    formerNames: {},
    reruns: [],
    rerunQuoteMicros: 0,
    spentMicros: 0,
    heldMicros: 0,
    unconfirmedMicros: 0,
    overcharges: {},
    files: [],
    budgetMicros: planned.budgetMicros,
    maxUnquotedMicros: planned.maxUnquotedMicros,
    agreed: planned.agreed ?? null,
  };
}

/** Changes `state` in place. */
export function apply(state: RunState, stored: StoredEvent): void {
  specOf(stored.event).apply(new Fold(state, stored), stored.event);
  state.activeTime.lastAt = stored.at;
  state.seq = stored.seq;
}
