import type { IncidentText } from "../journal/events/spec.ts";
import { type StoredEvent, specOf } from "../journal/events.ts";
import type { RunState } from "../journal/state.ts";

/** Something that did not go straight: what it was, and what was done about it. */
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
export class Incidents {
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
