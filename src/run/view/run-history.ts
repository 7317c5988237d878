import type { StoredEvent } from "../../journal/events.ts";
import type { RunState } from "../../journal/state.ts";
import { type Incident, Incidents } from "../incidents.ts";
import { Timeline, type TimelineSpan } from "../timeline.ts";
import { RunView } from "./run-view.ts";

/** A stretch in which a run was paused. Instants are epoch milliseconds. */
export interface Rest {
  readonly from: number;
  /** Null while it lasts. */
  readonly to: number | null;
  readonly reason: string;
}

/** What a run's state does not keep of its past, from its first event on. */
export class RunHistory {
  readonly #timeline = new Timeline();
  readonly #incidents = new Incidents();
  readonly #rests: Rest[] = [];

  /** `state` holds the event already. */
  add(stored: StoredEvent, state: RunState): void {
    const { at, event } = stored;
    this.#timeline.add(stored);
    this.#incidents.add(stored, state);
    const last = this.#rests.at(-1);
    if (event.type === "run.paused") this.#rests.push({ from: at, to: null, reason: event.reason });
    if (event.type === "run.resumed" && last?.to === null) this.#rests[this.#rests.length - 1] = { ...last, to: at };
  }

  get spans(): readonly TimelineSpan[] {
    return this.#timeline.spans();
  }

  get rests(): readonly Rest[] {
    return this.#rests;
  }

  incidents(state: RunState): readonly Incident[] {
    return this.#incidents.list(state);
  }
}

/** A run from all its events; null when there are none. */
export function viewWithHistory(events: Iterable<StoredEvent>) {
  const history = new RunHistory();
  let view: RunView | null = null;
  for (const stored of events) {
    if (view === null) view = RunView.of([stored])!;
    else view.add(stored);
    history.add(stored, view.state);
  }
  return view === null ? null : { view, history };
}
