import type { IncidentText } from "../../journal/events/spec.ts";
import { type StoredEvent, specOf } from "../../journal/events.ts";
import type { RunState } from "../../journal/state.ts";
import { RunView } from "./run-view.ts";
import { Timeline, type TimelineSpan } from "./timeline.ts";

/** A stretch in which a run was paused. Instants are epoch milliseconds. */
export interface Rest {
  readonly from: number;
  /** Null while it lasts. */
  readonly to: number | null;
  readonly reason: string;
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

interface Noted extends IncidentText {
  readonly at: number;
  readonly step: string | null;
}

/** Retries, waits, refusals, pauses and crashes of a run, in order of time. */
class Incidents {
  readonly #noted: Noted[] = [];

  /** `state` holds the event already. */
  add({ at, event }: StoredEvent, state: RunState): void {
    const said = specOf(event).incident?.(event, state) ?? null;
    if (said !== null) this.#noted.push({ ...said, at, step: "step" in event ? event.step : null });
  }

  /** With what is known by now of attempts that failed. */
  list(state: RunState): readonly Incident[] {
    return this.#noted.map(({ at, step, what, why, costMicros = null, attempt }) => {
      if (step === null || attempt === undefined) return { at, step, what, why, costMicros };
      const attempts = state.steps[state.formerNames[step] ?? step]?.attempts ?? [];
      const retried = attempts.length > attempt ? ", tried again" : "";
      return { at, step, what: `${what}${retried}`, why, costMicros: attempts[attempt - 1]?.costMicros ?? null };
    });
  }
}

/** What a run's state does not keep of its past, from its first event on. */
export class RunHistory {
  readonly #timeline = new Timeline();
  readonly #incidents = new Incidents();
  readonly #rests: Rest[] = [];
  #lastAt = 0;

  /** `state` holds the event already. */
  add(stored: StoredEvent, state: RunState): void {
    const { at, event } = stored;
    this.#lastAt = Math.max(this.#lastAt, at);
    this.#timeline.add(stored);
    this.#incidents.add(stored, state);
    if (event.type !== "run.paused" && event.type !== "run.resumed") return;
    const last = this.#rests.at(-1);
    if (last?.to === null) this.#rests[this.#rests.length - 1] = { ...last, to: at };
    if (event.type === "run.paused") this.#rests.push({ from: at, to: null, reason: event.reason });
  }

  get spans(): readonly TimelineSpan[] {
    return this.#timeline.spans();
  }

  /** Of the latest event, epoch milliseconds. */
  get lastAt(): number {
    return this.#lastAt;
  }

  get rests(): readonly Rest[] {
    return this.#rests;
  }

  incidents(state: RunState): readonly Incident[] {
    return this.#incidents.list(state);
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
