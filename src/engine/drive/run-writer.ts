import { ShowrunnerError } from "../../errors.ts";
import { EVENT_VERSION, type RunEvent, type StoredEvent } from "../../journal/events.ts";
import { ledgerChanges } from "../../journal/record.ts";
import { isSnapshotDue, loadRun, snapshotStepwise, weightOf } from "../../journal/snapshot.ts";
import type { RunState } from "../../journal/state.ts";
import type { Commit, CommitOutcome, InboxEntry, JournalStore, Lease } from "../../journal/store.ts";
import type { Wake } from "../../journal/wakes.ts";
import { LongWork } from "../../long-work.ts";
import type { Headroom } from "../../run/headroom.ts";
import type { SpendingWatch } from "../money/spending.ts";
import { noticesOf } from "../notify/notifier.ts";
import { chargesOf } from "../price/learned-prices.ts";
import type { DriveTools } from "./drive-tools.ts";

/** Another process took the run over: this one stopped and wrote nothing more. */
export class RunTakenOverError extends ShowrunnerError {
  readonly code = "RUN_TAKEN_OVER";
  constructor(runId: string) {
    super(
      `Run ${runId} was taken over by another process; this one left it alone. See it with: showrunner show ${runId}`,
    );
  }
}

export interface RunWriterParts {
  readonly store: JournalStore;
  readonly spending: SpendingWatch;
  readonly now: () => number;
  /** Delivers notifications of the outbox; null: no target is set. */
  readonly notifier: { poke(): void } | null;
  /** Told of events once they are in the journal. */
  readonly onEvents: (events: readonly StoredEvent[]) => void;
  readonly tools: DriveTools;
  /** Number of events that the run's snapshot does not hold. */
  readonly tail: number;
}

/** An event as the one that follows `afterSeq`. */
export function storedEvent(runId: string, afterSeq: number, at: number, event: RunEvent): StoredEvent {
  return { runId, seq: afterSeq + 1, at, version: EVENT_VERSION, event };
}

/**
 * Writes a run's events under its lease. The state is the caller's and already holds them; throws
 * {@link RunTakenOverError} when another process holds the lease now.
 */
export class RunWriter {
  readonly #parts: RunWriterParts;
  readonly #state: RunState;
  readonly #lease: Lease;
  /** Events that no snapshot holds. */
  #tail: number;

  constructor(parts: RunWriterParts, state: RunState, lease: Lease) {
    this.#parts = parts;
    this.#state = state;
    this.#lease = lease;
    this.#tail = parts.tail;
  }

  /**
   * Null once it is durable; else the headroom for its holds, and nothing was written. `submitting`: charges of
   * this run are on their way.
   */
  async commit(
    events: readonly RunEvent[],
    inbox: readonly InboxEntry[],
    submitting: boolean,
  ): Promise<Headroom | null> {
    const { spending } = this.#parts;
    const makesHold = ledgerChanges(events).some(({ type }) => type === "hold");
    if (!makesHold) {
      await this.#write(events, inbox);
      return null;
    }
    for (let fresh = false; ; fresh = true) {
      const guard = await spending.guard(fresh);
      if (guard !== undefined && "limit" in guard) return guard;
      const outcome = await this.#write(events, inbox, guard === undefined ? {} : { guard });
      if (outcome.committed) {
        spending.reserved();
        return null;
      }
      if (outcome.reason === "inbox") throw new Error("Only a park is refused for its inbox.");
      if (outcome.reason === "floor" && !fresh) continue;
      return spending.headroom(outcome, guard!, submitting);
    }
  }

  async append(events: readonly RunEvent[]): Promise<void> {
    await this.#write(events, []);
  }

  /**
   * Releases the lease with the last events, and with a snapshot where one is worth it; false, and nothing was written, when a
   * message arrived in the inbox meanwhile.
   */
  async park(wake?: Wake, events: readonly RunEvent[] = [], inbox: readonly InboxEntry[] = []): Promise<boolean> {
    return (await this.#write(events, inbox, { park: true, ...(wake !== undefined && { wake }) })).committed;
  }

  /** Back to what the journal says; whoever looks at the state keeps looking at the same object. */
  async reload(): Promise<void> {
    Object.assign(this.#state, await loadRun(this.#parts.store, this.#state.runId));
  }

  async #write(
    events: readonly RunEvent[],
    inbox: readonly InboxEntry[],
    more: Pick<Commit, "guard" | "park" | "wake"> = {},
  ): Promise<Exclude<CommitOutcome, { readonly reason: "fenced" }>> {
    const { store, now, notifier, onEvents, tools } = this.#parts;
    const { runId, seq: lastSeq, status } = this.#state;
    const at = now();
    const afterSeq = lastSeq - events.length;
    const ledger = ledgerChanges(events);
    const rests = more.park === true && (more.wake?.at ?? null) === null;
    if (tools.results.asksForStored(events, rests)) {
      tools.results.noteStored(this.#state, await store.results({ runId }, Number.MAX_SAFE_INTEGER));
    }
    const produced = tools.results.due(this.#state, events, rests);
    const stored = events.map((event, index) => storedEvent(runId, afterSeq + index, at, event));
    const notices = notifier === null ? [] : noticesOf(this.#state, stored);
    const leaving = rests ? "rests" : more.park === true ? "parks" : "goes on";
    // To count the parts of a large state takes a while: each step is at least one.
    const weight = tools.weight ?? this.#state.planned.plan.steps.length;
    const isDue = isSnapshotDue(this.#tail + events.length, weight, leaving);
    const snapshot = isDue ? await new LongWork().finish(snapshotStepwise(this.#state)) : undefined;
    const outcome = await store.commit({
      ...{
        lease: this.#lease,
        afterSeq,
        at,
        events,
        ledger,
        status,
        resumeAt: this.#state.pause?.resumeAt ?? null,
        results: produced,
        charges: chargesOf(this.#state, ledger),
        notices,
      },
      inbox: inbox.map((entry) => entry.id),
      ...(snapshot !== undefined && { snapshot }),
      ...more,
    });
    if (!outcome.committed && outcome.reason === "fenced") throw new RunTakenOverError(runId);
    if (!outcome.committed) return outcome;
    this.#tail = outcome.tail;
    if (isDue) tools.weight = weightOf(this.#state);
    tools.results.recorded(produced);
    if (stored.length > 0) onEvents(stored);
    if (notices.length > 0) notifier?.poke();
    return outcome;
  }
}
