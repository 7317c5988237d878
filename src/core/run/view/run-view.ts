import type { IncidentText } from "../../journal/events/spec.ts";
import { type RunEvent, type StoredEvent, specOf } from "../../journal/events.ts";
import { apply, fold } from "../../journal/fold.ts";
import type { PauseState, RunState, RunStatus } from "../../journal/state.ts";
import { own } from "../../kit/own.ts";
import { stepNamed } from "../../plan/plan-index.ts";
import { type NextCommand, nextCommand } from "../next-command.ts";
import { type StepView, stepView } from "./step-view.ts";
import { Timeline, type TimelineSpan } from "./timeline.ts";

/**
 * The one picture of a run that command line, dashboard and report show. An event that comes changes what it touches and
 * nothing else; views of steps are made when they are asked for and stay the same objects until their step changes.
 */
export class RunView {
  /** Never change it: {@link RunView.add} does. */
  readonly state: RunState;
  readonly #steps = new Map<string, StepView>();

  /** The state belongs to the view from now on. */
  constructor(state: RunState) {
    this.state = state;
  }

  /** From events of a run, from the first on; null when there is none. */
  static of(events: Iterable<StoredEvent>): RunView | null {
    const state = fold(events);
    return state === null ? null : new RunView(state);
  }

  add(stored: StoredEvent): void {
    apply(this.state, stored);
    const touched = touchedSteps([stored.event]);
    if (touched === "all") this.#steps.clear();
    else for (const path of touched) this.#steps.delete(path);
  }

  /** Of the plan as it is now; undefined for a path that it does not have. */
  step(path: string): StepView | undefined {
    const known = this.#steps.get(path);
    if (known !== undefined) return known;
    const plan = stepNamed(this.state.planned.plan, path);
    return plan === undefined ? undefined : this.#view(plan);
  }

  /** Of the plan as it is now, in its order. */
  get steps(): readonly StepView[] {
    return this.state.planned.plan.steps.map((plan) => this.#steps.get(plan.path) ?? this.#view(plan));
  }

  /** Steps that the plan no longer has: what they made and cost stays listed. */
  get removed(): readonly StepView[] {
    return this.state.removedSteps.map((plan) => stepView(plan, this.state.steps[plan.path]!));
  }

  #view(plan: StepView["plan"]): StepView {
    const view = stepView(plan, this.state.steps[plan.path]!);
    this.#steps.set(plan.path, view);
    return view;
  }
}

/** Steps that look different after these events. */
export function touchedSteps(events: readonly RunEvent[]): ReadonlySet<string> | "all" {
  const touched = new Set<string>();
  for (const event of events) {
    const { changes } = specOf(event);
    if (changes === "plan") return "all";
    if (changes === "step" && "step" in event) touched.add(event.step);
  }
  return touched;
}

/** A run without its steps, as everybody shows it. Money is micro-dollars, instants are epoch milliseconds. */
export interface RunSummary {
  readonly id: string;
  readonly pipeline: string;
  /** What people call it; null: its id. */
  readonly title: string | null;
  readonly tags: { readonly [key: string]: string };
  /** Status in the journal, or `interrupted`: it was running, and no process drives it any more. */
  readonly status: RunStatus | "interrupted";
  /** Why it is interrupted, or how it failed; null otherwise. */
  readonly message: string | null;
  readonly pause: PauseState | null;
  /** The command that continues it; null when nothing is left to do or a process drives it. */
  readonly next: NextCommand | null;
  readonly budgetMicros: number | null;
  /** The tag, `key=value`, of the runs that the budget is for together; null: of this run alone. */
  readonly budgetTag: string | null;
  readonly quoteMicros: number | null;
  readonly spentMicros: number;
  /** Reserved for jobs whose bill is not known yet. */
  readonly heldMicros: number;
  /** Reserved for chat requests that were never answered. */
  readonly unconfirmedMicros: number;
  readonly createdAt: number;
  readonly finishedAt: number | null;
}

const INTERRUPTED =
  "the process that drove it has ended; jobs already paid for continue at the service and are collected when the run is resumed";

export function runSummary(state: RunState, { isInterrupted = false } = {}): RunSummary {
  const { planned, budgetMicros, spentMicros, heldMicros, unconfirmedMicros, createdAt, finishedAt } = state;
  return {
    id: state.runId,
    pipeline: planned.plan.pipeline,
    title: planned.title ?? null,
    tags: planned.tags ?? {},
    status: isInterrupted ? "interrupted" : state.status,
    message: isInterrupted ? INTERRUPTED : state.message,
    pause: state.pause,
    next: nextCommand(state, { isInterrupted }),
    budgetMicros,
    budgetTag: planned.budgetTag ?? null,
    quoteMicros: planned.quoteMicros,
    spentMicros,
    heldMicros,
    unconfirmedMicros,
    createdAt,
    finishedAt,
  };
}

/** An incident: what happened, and what was done about it. */
export interface Incident {
  readonly at: number;
  /** Null when it concerns the whole run. */
  readonly step: string | null;
  readonly what: string;
  readonly why: string;
  /** What it cost, where that is known. */
  readonly costMicros: number | null;
}

interface RecordedIncident extends IncidentText {
  readonly at: number;
  readonly step: string | null;
}

/** What a run's state does not keep of its past, from its first event on. */
export class RunHistory {
  readonly #timeline = new Timeline();
  readonly #recorded: RecordedIncident[] = [];
  #lastAt = 0;

  /** `state` holds the event already. */
  add(stored: StoredEvent, state: RunState): void {
    const { at, event } = stored;
    this.#lastAt = Math.max(this.#lastAt, at);
    this.#timeline.add(stored);
    const incident = specOf(event).incident?.(event, state) ?? null;
    if (incident !== null) this.#recorded.push({ ...incident, at, step: "step" in event ? event.step : null });
  }

  get spans(): readonly TimelineSpan[] {
    return this.#timeline.spans();
  }

  /** Of the latest event, epoch milliseconds. */
  get lastAt(): number {
    return this.#lastAt;
  }

  /** Retries, waits, refusals, pauses and crashes in order of time, with what is known by now of attempts that failed. */
  incidents(state: RunState): readonly Incident[] {
    return this.#recorded.map(({ at, step, what, why, costMicros = null, attempt }) => {
      if (step === null || attempt === undefined) return { at, step, what, why, costMicros };
      const attempts = state.steps[own(state.formerNames, step) ?? step]?.attempts ?? [];
      const retried = attempts.length > attempt ? ", tried again" : "";
      return { at, step, what: `${what}${retried}`, why, costMicros: attempts[attempt - 1]?.costMicros ?? null };
    });
  }
}

/** A run as it is, and its past, from all its events. */
export class FoldedRun {
  readonly history = new RunHistory();
  #view: RunView | null = null;

  /** Null before the first event. */
  get view(): RunView | null {
    return this.#view;
  }

  static of(events: Iterable<StoredEvent>): FoldedRun {
    const folded = new FoldedRun();
    for (const stored of events) folded.add(stored);
    return folded;
  }

  add(stored: StoredEvent): void {
    if (this.#view === null) this.#view = RunView.of([stored])!;
    else this.#view.add(stored);
    this.history.add(stored, this.#view.state);
  }
}
