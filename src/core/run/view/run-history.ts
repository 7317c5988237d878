import type { IncidentText } from "../../journal/events/spec.ts";
import { type StoredEvent, specOf } from "../../journal/events.ts";
import type { RunState } from "../../journal/state.ts";
import { own } from "../../kit/own.ts";
import { RunView } from "./run-view.ts";
import { Timeline, type TimelineSpan } from "./timeline.ts";

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
