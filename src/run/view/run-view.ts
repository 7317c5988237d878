import { type StoredEvent, specOf } from "../../journal/events.ts";
import { apply, fold } from "../../journal/fold.ts";
import type { RunState } from "../../journal/state.ts";
import { type Incident, Incidents } from "../incidents.ts";
import { stepNamed } from "../plan-index.ts";
import { Timeline, type TimelineSpan } from "../timeline.ts";
import { type StepView, stepView } from "./step-view.ts";

/** A stretch in which a run was paused. Instants are epoch milliseconds. */
export interface Rest {
  readonly from: number;
  /** Null while it lasts. */
  readonly to: number | null;
  readonly reason: string;
}

/**
 * The one picture of a run that command line, dashboard and report show. An event that comes changes what it touches and
 * nothing else; views of steps are made when they are asked for and stay the same objects until their step changes.
 */
export class RunView {
  /** Never change it: {@link RunView.add} does. */
  readonly state: RunState;
  readonly #steps = new Map<string, StepView>();
  readonly #timeline = new Timeline();
  readonly #incidents = new Incidents();
  readonly #rests: Rest[] = [];

  /** From the first event of a run. */
  constructor(first: StoredEvent) {
    this.state = fold([first])!;
    this.#note(first);
  }

  /** From events of a run, from the first on; null when there is none. */
  static of(events: Iterable<StoredEvent>): RunView | null {
    let view: RunView | null = null;
    for (const stored of events) {
      if (view === null) view = new RunView(stored);
      else view.add(stored);
    }
    return view;
  }

  add(stored: StoredEvent): void {
    apply(this.state, stored);
    const { changes } = specOf(stored.event);
    if (changes === "plan") this.#steps.clear();
    else if (changes === "step" && "step" in stored.event) this.#steps.delete(stored.event.step);
    this.#note(stored);
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

  get spans(): readonly TimelineSpan[] {
    return this.#timeline.spans();
  }

  get incidents(): readonly Incident[] {
    return this.#incidents.list(this.state);
  }

  get rests(): readonly Rest[] {
    return this.#rests;
  }

  #view(plan: StepView["plan"]): StepView {
    const view = stepView(plan, this.state.steps[plan.path]!);
    this.#steps.set(plan.path, view);
    return view;
  }

  #note(stored: StoredEvent): void {
    const { at, event } = stored;
    this.#timeline.add(stored);
    this.#incidents.add(stored, this.state);
    const last = this.#rests.at(-1);
    if (event.type === "run.paused") this.#rests.push({ from: at, to: null, reason: event.reason });
    if (event.type === "run.resumed" && last?.to === null) this.#rests[this.#rests.length - 1] = { ...last, to: at };
  }
}
