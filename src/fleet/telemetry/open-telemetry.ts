import type { Context } from "@opentelemetry/api";
import type { JournalStore } from "../../internal.ts";
import type { Counter } from "./metrics.ts";
import { runTrace, type TracedSpan, type TraceOptions } from "./run-trace.ts";

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

/** Records the trace of a run that is over, with the times of the journal, whichever processes it went through. */
export async function traceRun(
  api: OpenTelemetry,
  store: JournalStore,
  { runId, ...options }: TraceOptions & { readonly runId: string },
): Promise<void> {
  const { trace, ROOT_CONTEXT, SpanStatusCode, TraceFlags } = api;
  const traced = runTrace(runId, await store.read(runId), options);
  if (traced === null) return;
  const tracer = trace.getTracer("showrunner");
  const record = ({ name, attributes, startedAt, endedAt, failed, within }: TracedSpan, parent: Context) => {
    const span = tracer.startSpan(name, { attributes, startTime: startedAt }, parent);
    if (failed) span.setStatus({ code: SpanStatusCode.ERROR });
    for (const one of within) record(one, trace.setSpan(parent, span));
    span.end(endedAt);
  };
  // A trace's id cannot be chosen but by a parent elsewhere.
  const { traceId, spanId, run } = traced;
  const parent = { traceId, spanId, traceFlags: TraceFlags.SAMPLED, isRemote: true };
  record(run, trace.setSpanContext(ROOT_CONTEXT, parent));
}
