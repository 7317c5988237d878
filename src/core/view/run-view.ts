import type { IncidentText } from "../journal/events/spec.ts";
import { apply, type Chosen, fold, type RunEvent, type StoredEvent, specOf } from "../journal/events.ts";
import { EVENTS_READ_AT_ONCE } from "../journal/run-repository.ts";
import {
  isRunFinal,
  type OutputState,
  outputsOf,
  type PauseState,
  planStep,
  type RunState,
  type RunStatus,
} from "../journal/state.ts";
import type { InboxEntry, JournalStore } from "../journal/store.ts";
import { own } from "../kit/lookup.ts";
import { schemaAt } from "../plan/kinds/kind.ts";
import { type Decision, type Json, type Reference, stepNamed, traitsOf } from "../plan/plan.ts";
import { type OpenDecision, openDecisions } from "../run/decisions.ts";
import { foresee } from "../run/inbox.ts";
import { changeable, nothingChangeable, offered } from "../run/kinds/approve.ts";
import { type NextCommand, nextCommand } from "../run/next-command.ts";
import { referencedValue } from "../run/resolve.ts";
import { unresolvedText } from "../run/waiting.ts";
import { type ComparedPart, comparedParts } from "./compared.ts";
import { type Missing, missing, type Refused, refusedBefore } from "./missing.ts";
import { placedFile, type StepView, stepView } from "./step-view.ts";
import { Timeline, type TimelineSpan } from "./timeline.ts";

/** The view of a run that the command line, the dashboard and the report share. */
export class RunView {
  readonly state: RunState;
  readonly #steps = new Map<string, StepView>();

  /** Takes ownership of the state. Afterward, change it only with {@link RunView.add} and {@link RunView.foresee}. */
  constructor(state: RunState) {
    this.state = state;
  }

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

  step(path: string): StepView | undefined {
    const known = this.#steps.get(path);
    if (known !== undefined) return known;
    const plan = stepNamed(this.state.planned.plan, path);
    return plan === undefined ? undefined : this.#view(plan);
  }

  get steps(): readonly StepView[] {
    return this.state.planned.plan.steps.map((plan) => this.#steps.get(plan.path) ?? this.#view(plan));
  }

  get isFinal(): boolean {
    return isRunFinal(this.state.status);
  }

  /** Applies decisions and comments that no process has read yet. */
  foresee(inbox: readonly InboxEntry[]): this {
    foresee(this.state, inbox);
    if (inbox.length > 0) this.#steps.clear();
    return this;
  }

  summary(options: { readonly isInterrupted?: boolean } = {}): RunSummary {
    return runSummary(this.state, options);
  }

  missing(options: { readonly isInterrupted?: boolean } = {}): readonly Missing[] {
    return missing(this.state, options);
  }

  get openDecisions(): readonly OpenDecision[] {
    return openDecisions(this.state);
  }

  /** Returns the results to choose from, in the order of their positions. */
  offered(decision: Decision): readonly Chosen[] {
    return offered(this.state, decision);
  }

  /** Returns the value that a person can edit when approving, or a message that says why there is none. */
  changeable(decision: Decision): ChangeableValue | string {
    return changeableValue(this.state, decision);
  }

  /** Returns the parts of a comparison; null if the decision compares nothing. */
  compared(decision: Decision): readonly ComparedPart[] | null {
    return comparedParts(this.state, decision);
  }

  /** Returns the outputs that this step rejected, and those rejected by steps whose results this step passes on. */
  refused(path: string): readonly Refused[] {
    return refusedBefore(this.state, path);
  }

  /** Returns the referenced value; undefined until it exists. */
  value(ref: Reference["$ref"]): Json | undefined {
    return referencedValue(this.state, ref);
  }

  /** Returns the outputs of a step, even if the step is no longer in the plan. */
  outputs(path: string): readonly OutputState[] {
    const step = own(this.state.steps, path);
    return step === undefined ? [] : outputsOf(step);
  }

  /** Returns the file to which an output was saved in the run's `outDir`; undefined if there is none. */
  placed(path: string, index: number): RunState["files"][number] | undefined {
    return placedFile(this.state, path, index);
  }

  /** Returns a message that says what is unresolved about the step's latest request and what a person can do. */
  unresolved(path: string): string {
    return unresolvedText(this.state, this.state.steps[path]!);
  }

  /** Steps that are no longer in the plan. Their results and costs stay listed. */
  get removed(): readonly StepView[] {
    return this.state.removedSteps.map((plan) => stepView(plan, this.state.steps[plan.path]!));
  }

  #view(plan: StepView["plan"]): StepView {
    const view = stepView(plan, this.state.steps[plan.path]!);
    this.#steps.set(plan.path, view);
    return view;
  }
}

export function touchedSteps(events: readonly RunEvent[]): ReadonlySet<string> | "all" {
  const touched = new Set<string>();
  for (const event of events) {
    const { changes } = specOf(event);
    if (changes === "plan") return "all";
    if (changes === "step" && "step" in event) touched.add(event.step);
  }
  return touched;
}

export interface RunSummary {
  readonly id: string;
  readonly pipeline: string;
  readonly title: string | null;
  readonly tags: { readonly [key: string]: string };
  /** `interrupted` means that the run's process ended before the run was finished. */
  readonly status: RunStatus | "interrupted";
  readonly message: string | null;
  readonly pause: PauseState | null;
  readonly next: NextCommand | null;
  readonly budgetMicros: number | null;
  readonly budgetTag: string | null;
  readonly quoteMicros: number | null;
  readonly rerunQuoteMicros: number | null;
  readonly spentMicros: number;
  readonly heldMicros: number;
  readonly unconfirmedMicros: number;
  readonly createdAt: number;
  readonly finishedAt: number | null;
}

const INTERRUPTED =
  "the run's process has ended; jobs already paid for continue on the service, and their results are collected when the run is resumed";

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
    rerunQuoteMicros: state.rerunQuoteMicros,
    spentMicros,
    heldMicros,
    unconfirmedMicros,
    createdAt,
    finishedAt,
  };
}

interface Incident {
  readonly at: number;
  readonly step: string | null;
  readonly what: string;
  readonly why: string;
  readonly costMicros: number | null;
}

interface RecordedIncident extends IncidentText {
  readonly at: number;
  readonly step: string | null;
}

export class RunHistory {
  readonly #timeline = new Timeline();
  readonly #recorded: RecordedIncident[] = [];
  #lastAt = 0;

  /** Adds an event. `state` is the run's state after the event. */
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

  get lastAt(): number {
    return this.#lastAt;
  }

  incidents(state: RunState): readonly Incident[] {
    return this.#recorded.map(({ at, step, what, why, costMicros = null, attempt }) => {
      if (step === null || attempt === undefined) return { at, step, what, why, costMicros };
      const attempts = state.steps[own(state.formerNames, step) ?? step]?.attempts ?? [];
      const retried = attempts.length > attempt ? ", tried again" : "";
      return { at, step, what: `${what}${retried}`, why, costMicros: attempts[attempt - 1]?.costMicros ?? null };
    });
  }
}

export class FoldedRun {
  readonly history = new RunHistory();
  #view: RunView | null = null;

  get view(): RunView | null {
    return this.#view;
  }

  static of(events: Iterable<StoredEvent>): FoldedRun {
    const folded = new FoldedRun();
    for (const stored of events) folded.add(stored);
    return folded;
  }

  /** Adds all newer events from the journal. */
  async catchUp(journal: Pick<JournalStore, "read">, runId: string): Promise<void> {
    for (;;) {
      const events = await journal.read(runId, { afterSeq: this.#seq, limit: EVENTS_READ_AT_ONCE });
      for (const stored of events) if (stored.seq > this.#seq) this.add(stored);
      if (events.length < EVENTS_READ_AT_ONCE) return;
    }
  }

  get #seq(): number {
    return this.#view?.state.seq ?? 0;
  }

  add(stored: StoredEvent): void {
    if (this.#view === null) this.#view = RunView.of([stored])!;
    else this.#view.add(stored);
    this.history.add(stored, this.#view.state);
  }
}

interface ChangeableValue {
  readonly value: Json;
  readonly schema: Json | null;
}

function changeableValue(state: RunState, decision: Decision): ChangeableValue | string {
  const shown = changeable(decision, undefined);
  const value = shown === null ? undefined : referencedValue(state, shown);
  return shown === null || value === undefined
    ? `${nothingChangeable(decision)}.`
    : { value, schema: schemaOf(state, shown) };
}

export function schemaOf(state: RunState, { step, at = [], output }: Reference["$ref"]): Json | null {
  const plan = planStep(state, step);
  if (plan.kind === "chat") return plan.schema === null ? { type: "string" } : schemaAt(plan.schema, at).schema;
  const { standsFor } = traitsOf(plan);
  const inner = standsFor[state.steps[step]?.chosen?.index ?? 0]?.$ref;
  if (inner === undefined || output === "all") return null;
  return schemaOf(state, { ...inner, at: [...(inner.at ?? []), ...at] });
}
