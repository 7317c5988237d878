import { type RunEvent, type StoredEvent, specOf } from "../../journal/events.ts";
import { apply, fold } from "../../journal/fold.ts";
import type { RunState } from "../../journal/state.ts";
import { stepNamed } from "../../plan/plan-index.ts";
import { type StepView, stepView } from "./step-view.ts";

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
