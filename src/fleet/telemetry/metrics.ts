import { statusNow } from "../../core/view/index.ts";
import type { JournalStore, StoredEvent } from "../../index.ts";

type Labels = Readonly<Record<string, string>>;

export interface MetricFamily {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge";
}

export interface Sample {
  readonly labels: Labels;
  readonly value: number;
}

export type Metric = readonly [MetricFamily, readonly Sample[]];

export class Counter {
  readonly family: MetricFamily;
  readonly #byLabels = new Map<string, { readonly labels: Labels; value: number }>();

  /**
   * With `starts`, the counter is reported as 0 at once, because Prometheus would otherwise miss its first increase.
   * Use it only for counters without labels.
   */
  constructor(name: string, help: string, { starts = false } = {}) {
    this.family = { name, help, type: "counter" };
    if (starts) this.add({}, 0);
  }

  add(labels: Labels = {}, by = 1): void {
    const key = JSON.stringify(labels);
    const found = this.#byLabels.get(key);
    if (found === undefined) this.#byLabels.set(key, { labels, value: by });
    else found.value += by;
  }

  samples(): readonly Sample[] {
    return [...this.#byLabels.values()];
  }
}

export function expositionText(metrics: readonly Metric[]): string {
  return metrics
    .filter(([, samples]) => samples.length > 0)
    .map(([{ name, help, type }, samples]) => {
      const lines = samples.map(({ labels, value }) => `${name}${labelText(labels)} ${value}`);
      return [
        `# HELP ${name} ${help.replaceAll("\\", "\\\\").replaceAll("\n", "\\n")}`,
        `# TYPE ${name} ${type}`,
        ...lines,
        "",
      ].join("\n");
    })
    .join("");
}

function labelText(labels: Labels): string {
  const parts = Object.entries(labels).map(([name, value]) => {
    const escaped = value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
    return `${name}="${escaped}"`;
  });
  return parts.length === 0 ? "" : `{${parts.join(",")}}`;
}

type Commit = Parameters<JournalStore["commit"]>[0];
type Outcome = Awaited<ReturnType<JournalStore["commit"]>>;
type Lease = Parameters<JournalStore["renewLease"]>[0];
type Event = StoredEvent["event"];

const REMEMBERED = 1000;

export class JournalCounters {
  readonly #events = new Counter("showrunner_events_total", "Events written by this process, by type.");
  readonly #runs = new Counter("showrunner_runs_finished_total", "Runs that this process finished, by status.");
  readonly #pauses = new Counter("showrunner_runs_paused_total", "Run pauses recorded by this process, by reason.");
  readonly #steps = new Counter("showrunner_steps_finished_total", "Steps that this process finished, by status.");
  readonly #charged = new Counter("showrunner_charged_usd_total", "Costs of jobs and chats recorded by this process.", {
    starts: true,
  });
  readonly #refused = new Counter(
    "showrunner_holds_refused_total",
    "Journal commits refused because a hold exceeded a limit, by type of limit.",
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

const MOST_RUNS = 10_000;
const RUNS_HELP =
  "Runs in the journal by status; `interrupted` means that no process is driving the run. Only the newest 10,000 are counted.";
const FRESH_MS = 5_000;

export class JournalGauges {
  readonly #store: JournalStore;
  #read: { readonly at: number; readonly gauges: Promise<readonly Metric[]> } | null = null;

  constructor(store: JournalStore) {
    this.#store = store;
  }

  samples(now = Date.now()): Promise<readonly Metric[]> {
    if (this.#read === null || now - this.#read.at > FRESH_MS) {
      this.#read = { at: now, gauges: this.#gauges(now) };
      this.#read.gauges.catch(() => {
        this.#read = null;
      });
    }
    return this.#read.gauges;
  }

  async #gauges(now: number): Promise<readonly Metric[]> {
    const rows = await this.#store.runs({ limit: MOST_RUNS });
    const byStatus = Map.groupBy(rows, (row) => statusNow(row, now).status);
    const overdue = rows.flatMap(({ wakeAt }) => (wakeAt !== null && wakeAt < now ? [now - wakeAt] : []));
    const accounts = [...new Set(rows.map(({ account }) => account))];
    const totals = await Promise.all(accounts.map((account) => this.#store.accountLedger(account)));
    const usd = (field: "settledMicros" | "heldMicros") =>
      totals.reduce((sum, { [field]: micros }) => sum + micros, 0) / 1e6;
    const notices = await this.#store.notices();
    const gauge = (name: string, help: string, value: number) => metric(name, "gauge", help, value);
    const statuses = [...byStatus].map(([status, { length }]) => ({ labels: { status }, value: length }));
    return [
      [{ name: "showrunner_runs", type: "gauge", help: RUNS_HELP }, statuses],
      gauge("showrunner_runs_overdue", "Runs that an engine should have resumed by now.", overdue.length),
      gauge("showrunner_queue_age_seconds", "Longest delay of an overdue run.", Math.max(0, ...overdue) / 1000),
      gauge("showrunner_spent_usd", "Total charges of all runs.", usd("settledMicros")),
      gauge("showrunner_held_usd", "Amount reserved for requests whose cost is not known yet.", usd("heldMicros")),
      gauge("showrunner_notices_waiting", "Notifications not delivered yet.", notices.length),
    ];
  }
}

export function metric(name: string, type: MetricFamily["type"], help: string, value: number): Metric {
  return [{ name, type, help }, [{ labels: {}, value }]];
}
