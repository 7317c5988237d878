import { apply, EVENT_VERSION, type PriceBasis, type RunEvent } from "../journal/events.ts";
import { lastAttempt, type Quoted, type RunState } from "../journal/state.ts";
import { traitsOf } from "../plan/index.ts";
import { type RerunRoots, resetEvents, resumeEvents, staleSteps } from "./rerun.ts";

type Replanned = RunEvent & { readonly type: "run.replanned" };

export interface RequestedRerun {
  readonly requestId: string;
  readonly steps: readonly string[];
  readonly note?: string;
  readonly seeds?: { readonly [step: string]: number };
  readonly quoteMicros?: number | null;
}

export interface Revised {
  readonly replanned: Omit<Replanned, "type"> | null;
  readonly request: RequestedRerun | null;
  readonly roots: RerunRoots;
  readonly prices: readonly Price[];
}

interface Price extends Pick<Quoted, "costMicros" | "conditionalOn"> {
  readonly step: string;
  readonly basis: PriceBasis | "free" | "reused";
}

export function quotedEvents({ step, costMicros, basis, conditionalOn }: Price, attempt: number): readonly RunEvent[] {
  if (basis === "free" || basis === "reused") return [];
  const conditional = conditionalOn !== undefined && { conditionalOn };
  return [{ type: "job.quoted", step, attempt, costMicros, basis, ...conditional }];
}

export function revisionEvents(state: RunState, { replanned, request, roots, prices }: Revised): readonly RunEvent[] {
  const foreseen = new Foreseen(state);
  const { before, after } = resumeEvents(state);
  foreseen.add(before);
  if (replanned !== null) foreseen.add([{ type: "run.replanned", ...replanned }]);
  if (request !== null) foreseen.add([{ type: "rerun.requested", ...request }]);
  const { plan } = foreseen.state.planned;
  foreseen.add(resetEvents(foreseen.state, plan, staleSteps(foreseen.state, plan, roots), roots));
  foreseen.add(priceEvents(foreseen.state, prices));
  return [...foreseen.events, ...after];
}

/** A copy of the state to which events are applied before they are committed. */
class Foreseen {
  readonly state: RunState;
  readonly events: RunEvent[] = [];

  constructor(state: RunState) {
    this.state = structuredClone(state);
  }

  add(events: readonly RunEvent[]): void {
    const { state } = this;
    for (const event of events) {
      apply(state, { runId: state.runId, seq: state.seq + 1, at: 0, version: EVENT_VERSION, event });
      this.events.push(event);
    }
  }
}

function priceEvents({ steps, planned }: RunState, prices: Revised["prices"]): readonly RunEvent[] {
  const quoted = new Set(
    planned.plan.steps.filter((step) => traitsOf(step).pricing.by === "quote").map(({ path }) => path),
  );
  return prices.flatMap((price): readonly RunEvent[] => {
    const step = steps[price.step];
    if (step === undefined || step.status !== "waiting" || lastAttempt(step) !== null) return [];
    return quoted.has(price.step) ? quotedEvents(price, step.attempts.length + 1) : [];
  });
}
