import type { Clock } from "../../api/index.ts";
import { apply, EVENT_VERSION, type RunEvent, type SpendingReached, type StoredEvent } from "../../journal/events.ts";
import { heldBy, heldElsewhereBy, ledgerChanges } from "../../journal/record.ts";
import { isSnapshotDue, loadRun, snapshotStepwise, weightOf } from "../../journal/run-repository.ts";
import type { RunState } from "../../journal/state.ts";
import type {
  Commit,
  CommitOutcome,
  InboxEntry,
  JournalStore,
  Lease,
  LeaseOutcome,
  Wake,
} from "../../journal/store.ts";
import { ShowrunnerError } from "../../kit/errors.ts";
import { LongWork } from "../../kit/long-work.ts";
import { own } from "../../kit/lookup.ts";
import { formatUsd } from "../../kit/money.ts";
import { committedMicros, type Headroom, shareReached } from "../../run/money.ts";
import type { SpendingWatch } from "../money/spending.ts";
import { noticesOf } from "../notify/notifications.ts";
import type { DriveTools } from "./drive-tools.ts";

/** Another process took over the run, so this process stopped and wrote no more events. */
export class RunTakenOverError extends ShowrunnerError {
  readonly code = "RUN_TAKEN_OVER";
  constructor(runId: string) {
    super(`Another process took over run ${runId}, so this process stopped. To see the run: showrunner show ${runId}`);
  }
}

export interface RunWriterParts {
  readonly store: JournalStore;
  readonly clock: Clock;
  readonly notifier: { poke(): void } | null;
  readonly onEvents: (events: readonly StoredEvent[]) => void;
}

export type Taken = LeaseOutcome & { readonly acquired: true };

export function storedEvent(runId: string, afterSeq: number, at: number, event: RunEvent): StoredEvent {
  return { runId, seq: afterSeq + 1, at, version: EVENT_VERSION, event };
}

/**
 * Writes a run's events to the journal. Every write throws {@link RunTakenOverError} once another process has taken the
 * run's lease.
 */
export class RunWriter {
  readonly lease: Lease;
  tools: DriveTools | null = null;
  readonly #parts: RunWriterParts;
  readonly #state: RunState;
  #tail: number;
  #committedMicros: number;

  constructor(parts: RunWriterParts, state: RunState, { lease, tail }: Pick<Taken, "lease" | "tail">) {
    this.lease = lease;
    this.#parts = parts;
    this.#state = state;
    this.#tail = tail;
    this.#committedMicros = committedMicros(state);
  }

  /**
   * Writes events that have already been applied to the state. If they reserve more money than a limit allows, writes
   * nothing and returns what the limit still allows.
   */
  async commit(
    events: readonly RunEvent[],
    inbox: readonly InboxEntry[],
    { spending, isSubmitting }: { readonly spending: SpendingWatch; readonly isSubmitting: boolean },
  ): Promise<Headroom | null> {
    const ledger = ledgerChanges(events);
    const makesHold = ledger.some(({ type }) => type === "hold");
    if (!makesHold) {
      await this.#write(events, inbox);
      return null;
    }
    for (let fresh = false; ; fresh = true) {
      const usesWallet = heldBy(ledger) > heldElsewhereBy(ledger);
      const guard = await spending.guard(fresh, usesWallet);
      if (guard !== undefined && "limit" in guard) return guard;
      const outcome = await this.#write(events, inbox, guard === undefined ? {} : { guard });
      if (outcome.committed) {
        await this.#report(spending.reserved(guard?.caps ?? [], outcome.committedMicros, heldBy(ledger)));
        return null;
      }
      if (outcome.reason === "inbox")
        throw new Error(
          "The journal refused a commit because of unread messages, but it may do so only for a commit that leaves the run idle.",
        );
      if (outcome.reason === "floor" && !fresh) continue;
      // During a submission, the wallet may not show all of the run's charges yet.
      return spending.headroom(outcome, guard!, isSubmitting);
    }
  }

  /** Applies events to the state and writes them. The events must not reserve any money. */
  async record(events: readonly RunEvent[], inbox: readonly InboxEntry[] = []): Promise<void> {
    if (events.length === 0 && inbox.length === 0) return;
    this.take(events);
    await this.#write(events, inbox);
  }

  /** Applies events to the state without writing them. The same events must be passed to the next write. */
  take(events: readonly RunEvent[]): void {
    const at = this.#parts.clock.now();
    for (const event of events) {
      apply(this.#state, storedEvent(this.#state.runId, this.#state.seq, at, event));
      this.tools?.scheduler.note(event);
    }
  }

  /**
   * Writes the events and releases the lease in one commit. If a message has arrived, writes nothing and returns false.
   */
  async park(wake?: Wake, events: readonly RunEvent[] = [], inbox: readonly InboxEntry[] = []): Promise<boolean> {
    return (await this.#write(events, inbox, { park: true, ...(wake !== undefined && { wake }) })).committed;
  }

  async reload(): Promise<void> {
    Object.assign(this.#state, await loadRun(this.#parts.store, this.#state.runId));
  }

  async #report(reached: readonly SpendingReached[]): Promise<void> {
    const { spendingReached = {} } = this.#state;
    const isNew = ({ limit, percent }: SpendingReached) => (own(spendingReached, limit) ?? 0) < percent;
    if (this.#parts.notifier !== null) await this.record(reached.filter(isNew));
  }

  #budgetReached(): readonly SpendingReached[] {
    const { budgetMicros, planned } = this.#state;
    const before = this.#committedMicros;
    this.#committedMicros = committedMicros(this.#state);
    if (budgetMicros === null || planned.budgetTag !== undefined) return [];
    const amounts = { limitMicros: budgetMicros, committedMicros: this.#committedMicros };
    const percent = shareReached(amounts, before);
    const limit = `budget of ${formatUsd(budgetMicros)} USD`;
    return percent === null ? [] : [{ type: "spending.reached", what: "budget", limit, percent, ...amounts }];
  }

  async #write(
    events: readonly RunEvent[],
    inbox: readonly InboxEntry[],
    more: Pick<Commit, "guard" | "park" | "wake"> = {},
  ): Promise<Exclude<CommitOutcome, { readonly reason: "fenced" }>> {
    const { store, clock, notifier, onEvents } = this.#parts;
    const { tools } = this;
    const { runId, seq: lastSeq, status } = this.#state;
    const at = clock.now();
    const afterSeq = lastSeq - events.length;
    const ledger = ledgerChanges(events);
    const isIdle = more.park === true && (more.wake?.at ?? null) === null;
    if (tools?.results.asksForStored(events, isIdle)) {
      tools.results.noteStored(this.#state, await store.results({ runId }, Number.MAX_SAFE_INTEGER));
    }
    const produced = tools?.results.due(this.#state, events, isIdle) ?? [];
    const stored = events.map((event, index) => storedEvent(runId, afterSeq + index, at, event));
    const notices = notifier === null ? [] : noticesOf(this.#state, stored);
    const leaving = isIdle ? "idle" : more.park === true ? "parked" : "continues";
    // Measuring a large state takes long, so start with its minimum weight, which is one per step.
    const weight = tools?.weight ?? this.#state.planned.plan.steps.length;
    const isDue = isSnapshotDue(this.#tail + events.length, weight, leaving);
    const snapshot = isDue ? await new LongWork().finish(snapshotStepwise(this.#state)) : undefined;
    const outcome = await store.commit({
      lease: this.lease,
      afterSeq,
      at,
      events,
      ledger,
      status,
      resumeAt: this.#state.pause?.resumeAt ?? null,
      results: produced,
      notices,
      inbox: inbox.map((entry) => entry.id),
      ...(snapshot !== undefined && { snapshot }),
      ...more,
    });
    if (!outcome.committed && outcome.reason === "fenced") throw new RunTakenOverError(runId);
    if (!outcome.committed) return outcome;
    this.#tail = outcome.tail;
    if (isDue && tools !== null) tools.weight = weightOf(this.#state);
    tools?.results.recorded(produced);
    if (stored.length > 0) onEvents(stored);
    if (notices.length > 0) notifier?.poke();
    const reached = this.#budgetReached();
    if (outcome.lease !== null) await this.#report(reached);
    return outcome;
  }
}
