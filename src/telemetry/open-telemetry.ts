import type { Attributes } from "@opentelemetry/api";
import type { JournalStore } from "../internal.ts";
import type { Counter } from "./metrics.ts";

type OpenTelemetry = typeof import("@opentelemetry/api");

let loading: Promise<OpenTelemetry | null> | null = null;

/** An optional peer: nothing is recorded where it is not installed. */
export function loadOpenTelemetry(): Promise<OpenTelemetry | null> {
  loading ??= import("@opentelemetry/api").catch(() => null);
  return loading;
}

/** Has the SDK that the program set up, if any, read these counters when it collects. */
export function observeCounters(api: OpenTelemetry, counters: readonly Counter[]): void {
  const meter = api.metrics.getMeter("showrunner");
  for (const { family, samples } of counters.map((counter) => ({
    family: counter.family,
    samples: () => counter.samples(),
  }))) {
    // Its exporters add what Prometheus has at the end of a counter's name.
    const name = family.name.replace(/^showrunner_/, "showrunner.").replace(/_total$/, "");
    const instrument = meter.createObservableCounter(name, { description: family.help });
    instrument.addCallback((result) => {
      for (const { labels, value } of samples()) result.observe(value, labels);
    });
  }
}

interface Timed {
  readonly attributes: Attributes;
  readonly startedAt: number;
  readonly endedAt: number;
  readonly failed: boolean;
}

/**
 * The trace of a run that is over: a span for the run and one for each of its steps that began, with the times of the journal, whichever
 * processes it went through.
 */
export async function traceRun(api: OpenTelemetry, store: JournalStore, runId: string): Promise<void> {
  const { trace, context, SpanStatusCode } = api;
  const tracer = trace.getTracer("showrunner");
  const { run, steps } = await timesOf(store, runId);
  if (run === null) return;
  const record = (name: string, { attributes, startedAt, endedAt, failed }: Timed, parent = context.active()) => {
    const span = tracer.startSpan(name, { attributes, startTime: startedAt }, parent);
    if (failed) span.setStatus({ code: SpanStatusCode.ERROR });
    span.end(endedAt);
    return span;
  };
  const root = record("showrunner.run", run);
  const within = trace.setSpan(context.active(), root);
  for (const step of steps) record("showrunner.step", step, within);
}

async function timesOf(
  store: JournalStore,
  runId: string,
): Promise<{ readonly run: Timed | null; readonly steps: readonly Timed[] }> {
  const startedAt = new Map<string, number>();
  const steps: Timed[] = [];
  let firstAt = 0;
  let run: Timed | null = null;
  for (const { event, at } of await store.read(runId)) {
    if (event.type === "run.planned") firstAt = at;
    else if (event.type === "step.started") startedAt.set(event.step, at);
    else if (event.type === "step.finished") {
      const attributes = { "showrunner.run": runId, "showrunner.step": event.step, "showrunner.status": event.status };
      const began = startedAt.get(event.step);
      if (began !== undefined)
        steps.push({ attributes, startedAt: began, endedAt: at, failed: event.status === "failed" });
    } else if (event.type === "run.finished") {
      const attributes = { "showrunner.run": runId, "showrunner.status": event.status };
      run = { attributes, startedAt: firstAt, endedAt: at, failed: event.status === "failed" };
    }
  }
  return { run, steps };
}
