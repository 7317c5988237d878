import type { IncomingMessage, ServerResponse } from "node:http";
import type { JournalStore, Showrunner } from "../../index.ts";
import { expositionText, JournalCounters, JournalGauges, type Metric, metric } from "./metrics.ts";
import { loadOpenTelemetry, observeCounters, traceRun } from "./open-telemetry.ts";

/**
 * A journal that collects metrics, and methods that report them. Pass `journal` to Showrunner instead of the original.
 */
export interface Measured {
  readonly journal: JournalStore;
  /** Includes the requests of this Showrunner's client in the metrics. */
  watch(show: Pick<Showrunner, "client">): void;
  /** Returns all metrics in Prometheus's text format. */
  scrape(): Promise<string>;
  /** Answers `GET /metrics`. Returns false and does nothing for any other request. */
  handle(incoming: Pick<IncomingMessage, "method" | "url">, response: ServerResponse): Promise<boolean>;
}

/** Options for `measureJournal`. */
export interface MeasureOptions {
  /**
   * Adds the attribute names of OpenTelemetry's conventions for generative AI (`gen_ai.request.model` …) to spans.
   * These names may still change. Default: true if OTEL_SEMCONV_STABILITY_OPT_IN contains `gen_ai_latest_experimental`.
   */
  readonly genAi?: boolean | undefined;
}

function optsIn(list = ""): boolean {
  return list.split(",").some((name) => name.trim() === "gen_ai_latest_experimental");
}

const CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/**
 * Collects metrics about a journal. If `@opentelemetry/api` is installed, the OpenTelemetry SDK reads the same counters
 * and receives a trace of each run that ends in this process.
 */
export async function measureJournal(inner: JournalStore, options: MeasureOptions = {}): Promise<Measured> {
  const { genAi = optsIn(process.env.OTEL_SEMCONV_STABILITY_OPT_IN) } = options;
  const counters = new JournalCounters();
  const gauges = new JournalGauges(inner);
  const api = await loadOpenTelemetry();
  if (api !== null) observeCounters(api, counters.all);
  const clients = new Set<Showrunner["client"]>();
  const journal = measured(inner, {
    async createRun(runId, first, at, wake) {
      await inner.createRun(runId, first, at, wake);
      counters.wrote(first);
    },
    async commit(commit) {
      const outcome = await inner.commit(commit);
      counters.committed(commit, outcome);
      const isOver = outcome.committed && commit.events.some(({ type }) => type === "run.finished");
      // A run must not fail because its trace cannot be recorded.
      if (api !== null && isOver) void traceRun(api, inner, { runId: commit.lease.runId, genAi }).catch(() => {});
      return outcome;
    },
    async renewLease(lease, options) {
      const isHeld = await inner.renewLease(lease, options);
      if (!isHeld) counters.lostLease(lease);
      return isHeld;
    },
  });
  const scrape = async () => {
    const counted = counters.all.map((counter) => [counter.family, counter.samples()] as const);
    return expositionText([...counted, ...requestsOf(clients), ...(await gauges.samples()), ...processGauges()]);
  };
  return {
    journal,
    watch: ({ client }) => void clients.add(client),
    scrape,
    async handle({ method, url }, response) {
      if (method !== "GET" || url?.split("?")[0] !== "/metrics") return false;
      const text = await scrape().catch((error: Error) => error);
      const isText = typeof text === "string";
      response.writeHead(isText ? 200 : 503, { "Content-Type": isText ? CONTENT_TYPE : "text/plain; charset=utf-8" });
      response.end(isText ? text : "The journal could not be read.\n");
      return true;
    },
  };
}

function measured(inner: JournalStore, replaced: Partial<JournalStore>): JournalStore {
  return new Proxy(inner, {
    get(target, name) {
      const method = (replaced as Readonly<Record<PropertyKey, unknown>>)[name];
      if (method !== undefined) return method;
      const found: unknown = Reflect.get(target, name, target);
      return typeof found === "function" ? found.bind(target) : found;
    },
  });
}

function requestsOf(clients: ReadonlySet<Showrunner["client"]>): readonly Metric[] {
  const paces = [...clients].map((client) => client.pace());
  if (paces.length === 0) return [];
  const sum = (field: "sent" | "limited" | "queued") => paces.reduce((all, pace) => all + pace[field], 0);
  return [
    metric("showrunner_requests_total", "counter", "API requests sent.", sum("sent")),
    metric("showrunner_requests_limited_total", "counter", "Answers with status 429.", sum("limited")),
    metric("showrunner_requests_queued", "gauge", "API requests waiting to be sent.", sum("queued")),
  ];
}

function processGauges(): readonly Metric[] {
  const { user, system } = process.cpuUsage();
  return [
    metric("process_cpu_seconds_total", "counter", "User and system CPU time of this process.", (user + system) / 1e6),
    metric("process_resident_memory_bytes", "gauge", "Resident memory of this process.", process.memoryUsage.rss()),
  ];
}
