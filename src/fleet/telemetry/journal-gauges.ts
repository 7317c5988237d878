import { statusNow } from "../../core/view/index.ts";
import type { JournalStore } from "../../index.ts";
import type { MetricFamily, Sample } from "./metrics.ts";

const MOST_RUNS = 10_000;
const FRESH_MS = 5_000;

type Gauges = readonly (readonly [MetricFamily, readonly Sample[]])[];

export class JournalGauges {
  readonly #store: JournalStore;
  #read: { readonly at: number; readonly gauges: Promise<Gauges> } | null = null;

  constructor(store: JournalStore) {
    this.#store = store;
  }

  samples(now = Date.now()): Promise<Gauges> {
    if (this.#read === null || now - this.#read.at > FRESH_MS) {
      this.#read = { at: now, gauges: this.#gauges(now) };
      this.#read.gauges.catch(() => {
        this.#read = null;
      });
    }
    return this.#read.gauges;
  }

  async #gauges(now: number): Promise<Gauges> {
    const rows = await this.#store.runs({ limit: MOST_RUNS });
    const byStatus = Map.groupBy(rows, (row) => statusNow(row, now).status);
    const overdue = rows.flatMap(({ wakeAt }) => (wakeAt !== null && wakeAt < now ? [now - wakeAt] : []));
    const accounts = [...new Set(rows.map(({ account }) => account))];
    const totals = await Promise.all(accounts.map((account) => this.#store.accountLedger(account)));
    const sum = (micros: readonly number[]) => micros.reduce((all, one) => all + one, 0) / 1e6;
    const notices = await this.#store.notices();
    return [
      [
        gauge(
          "showrunner_runs",
          "Runs in the journal by status; `interrupted` means that no process drives the run. Only the newest 10,000 are counted.",
        ),
        [...byStatus].map(([status, of]) => ({ labels: { status }, value: of.length })),
      ],
      one("showrunner_runs_overdue", "Runs that an engine should have woken by now.", overdue.length),
      one("showrunner_queue_age_seconds", "Longest delay of an overdue run.", Math.max(0, ...overdue) / 1000),
      one("showrunner_spent_usd", "Total charges of all runs.", sum(totals.map(({ settledMicros }) => settledMicros))),
      one(
        "showrunner_held_usd",
        "Amount reserved for requests whose cost is not known yet.",
        sum(totals.map(({ heldMicros }) => heldMicros)),
      ),
      one("showrunner_notices_waiting", "Notifications not delivered yet.", notices.length),
    ];
  }
}

function gauge(name: string, help: string): MetricFamily {
  return { name, help, type: "gauge" };
}

function one(name: string, help: string, value: number): readonly [MetricFamily, readonly Sample[]] {
  return [gauge(name, help), [{ labels: {}, value }]];
}
