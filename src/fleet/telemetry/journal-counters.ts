import type { JournalStore, StoredEvent } from "../../index.ts";
import { Counter } from "./metrics.ts";

type Commit = Parameters<JournalStore["commit"]>[0];
type Outcome = Awaited<ReturnType<JournalStore["commit"]>>;
type Lease = Parameters<JournalStore["renewLease"]>[0];
type Event = StoredEvent["event"];

const REMEMBERED = 1000;

export class JournalCounters {
  readonly #events = new Counter("showrunner_events_total", "Events written by this process, by type.");
  readonly #runs = new Counter("showrunner_runs_finished_total", "Runs that this process finished, by status.");
  readonly #pauses = new Counter("showrunner_runs_paused_total", "Pauses of runs that this process drove, by reason.");
  readonly #steps = new Counter("showrunner_steps_finished_total", "Steps that this process finished, by status.");
  readonly #charged = new Counter("showrunner_charged_usd_total", "Costs of jobs and chats recorded by this process.", {
    starts: true,
  });
  readonly #refused = new Counter(
    "showrunner_holds_refused_total",
    "Commits refused because a hold exceeded a limit, grouped by limit.",
  );
  readonly #lost = new Counter("showrunner_leases_lost_total", "Runs that another process took over from this one.", {
    starts: true,
  });
  readonly #seenLosses = new Set<string>();

  get all(): readonly Counter[] {
    return [this.#events, this.#runs, this.#pauses, this.#steps, this.#charged, this.#refused, this.#lost];
  }

  committed({ lease, events, ledger = [] }: Commit, outcome: Outcome): void {
    if (!outcome.committed) {
      if (outcome.reason === "fenced") this.lostLease(lease);
      else if (outcome.reason !== "inbox") this.#refused.add({ limit: outcome.reason });
      return;
    }
    for (const event of events) this.wrote(event);
    for (const change of ledger) if (change.type === "settle") this.#charged.add({}, change.costMicros / 1e6);
  }

  wrote(event: Event): void {
    this.#events.add({ type: event.type });
    if (event.type === "run.finished") this.#runs.add({ status: event.status });
    else if (event.type === "run.paused") this.#pauses.add({ reason: event.reason });
    else if (event.type === "step.finished") this.#steps.add({ status: event.status });
  }

  lostLease({ runId, epoch }: Lease): void {
    const id = `${runId} ${epoch}`;
    if (this.#seenLosses.has(id)) return;
    this.#seenLosses.add(id);
    if (this.#seenLosses.size > REMEMBERED) this.#seenLosses.delete(this.#seenLosses.values().next().value!);
    this.#lost.add();
  }
}
