import { hash } from "node:crypto";
import type { Attributes, Context } from "@opentelemetry/api";
import { formatUsd } from "../../core/kit/money.ts";
import { FoldedRun, type StepView, type TimelineSpan } from "../../core/view/index.ts";
import type { JournalStore, StoredEvent } from "../../index.ts";
import type { Counter } from "./metrics.ts";

type OpenTelemetry = typeof import("@opentelemetry/api");

let loading: Promise<OpenTelemetry | null> | null = null;

export function loadOpenTelemetry(): Promise<OpenTelemetry | null> {
  loading ??= import("@opentelemetry/api").catch(() => null);
  return loading;
}

export function observeCounters(api: OpenTelemetry, counters: readonly Counter[]): void {
  const meter = api.metrics.getMeter("showrunner");
  for (const counter of counters) {
    const { name, help } = counter.family;
    // The SDK's exporters add Prometheus's suffix `_total` to a counter's name.
    const plain = name.replace(/^showrunner_/, "showrunner.").replace(/_total$/, "");
    const instrument = meter.createObservableCounter(plain, { description: help });
    instrument.addCallback((result) => {
      for (const { labels, value } of counter.samples()) result.observe(value, labels);
    });
  }
}

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
    for (const inner of within) record(inner, trace.setSpan(parent, span));
    span.end(endedAt);
  };
  // Only a remote parent can set the id of a trace.
  const { traceId, spanId, run } = traced;
  const parent = { traceId, spanId, traceFlags: TraceFlags.SAMPLED, isRemote: true };
  record(run, trace.setSpanContext(ROOT_CONTEXT, parent));
}

interface TracedSpan {
  readonly name: string;
  readonly attributes: Attributes;
  readonly startedAt: number;
  readonly endedAt: number;
  readonly failed: boolean;
  readonly within: readonly TracedSpan[];
}

interface RunTrace {
  /**
   * The run's trace id, derived from the run's id and the time of its first event, so that all processes compute the
   * same one.
   */
  readonly traceId: string;
  readonly spanId: string;
  readonly run: TracedSpan;
}

interface TraceOptions {
  readonly genAi: boolean;
}

/** Phases whose spans come from the timeline. All other spans come from the attempts, which include model and cost. */
const PHASES: ReadonlySet<TimelineSpan["phase"]> = new Set(["upload", "download", "task", "approval"]);

export function runTrace(runId: string, events: readonly StoredEvent[], options: TraceOptions): RunTrace | null {
  const { view, history } = FoldedRun.of(events);
  const [first, last] = [events[0], events.findLast(({ event }) => event.type === "run.finished")];
  if (view === null || first === undefined || last === undefined) return null;
  const { status } = view.state;
  const own = { runId, options, endedAt: last.at };
  const bySteps = Map.groupBy(history.spans, ({ step }) => step);
  const steps = view.steps.flatMap((step) => stepSpan(step, bySteps.get(step.path) ?? [], own));
  const spent = { "showrunner.pipeline": view.state.planned.plan.pipeline, ...cost(view.state.spentMicros) };
  const attributes = { "showrunner.run": runId, "showrunner.status": status, ...spent };
  const id = hash("sha256", JSON.stringify([runId, first.at]));
  const facts = { from: first.at, to: last.at, failed: status === "failed", within: steps };
  return { traceId: id.slice(0, 32), spanId: id.slice(32, 48), run: span("showrunner.run", attributes, facts) };
}

interface Own {
  readonly runId: string;
  readonly options: TraceOptions;
  /** When the run ended. Spans that are still open end at the same time. */
  readonly endedAt: number;
}

function stepSpan(step: StepView, phases: readonly TimelineSpan[], own: Own): readonly TracedSpan[] {
  const { path, kind, model, status, startedAt, finishedAt, costMicros, current } = step;
  if (startedAt === null) return [];
  const named = { "showrunner.run": own.runId, "showrunner.step": path };
  const requests = step.attempts.flatMap((attempt) => attemptSpans(attempt, { named, model, options: own.options }));
  const others = phases
    .filter(({ phase }) => PHASES.has(phase))
    .map(({ phase, attempt, from, to }) =>
      span(`showrunner.${phase}`, { ...named, "showrunner.attempt": attempt }, { from, to: to ?? own.endedAt }),
    );
  const within = [...requests, ...others].toSorted((a, b) => a.startedAt - b.startedAt);
  const attributes = {
    ...named,
    "showrunner.kind": kind,
    "showrunner.status": status,
    ...(current !== null && { "showrunner.attempt": current.n }),
    ...modelNames(model),
    ...cost(costMicros),
  };
  const to = Math.max(finishedAt ?? own.endedAt, ...within.map(({ endedAt }) => endedAt));
  const from = Math.min(startedAt, ...within.map((inner) => inner.startedAt));
  return [span("showrunner.step", attributes, { from, to, failed: status === "failed", within })];
}

interface OfStep {
  readonly named: Attributes;
  readonly model: string | null;
  readonly options: TraceOptions;
}

function attemptSpans(attempt: StepView["attempts"][number], of: OfStep): readonly TracedSpan[] {
  const { kind, n, sentAt, submittedAt, endedAt, costMicros, error, jobId } = attempt;
  if (kind === "try" || sentAt === null) return [];
  const model = attempt.model ?? of.model;
  const attributes = {
    ...of.named,
    "showrunner.attempt": n,
    ...modelNames(model),
    ...cost(costMicros),
    ...(jobId !== null && { "showrunner.job": jobId }),
    ...(error !== null && { "error.type": error.code }),
    ...(of.options.genAi && genAiNames(kind, model)),
  };
  const failed = error !== null;
  if (kind === "chat") return [span("showrunner.chat", attributes, { from: sentAt, to: endedAt ?? sentAt, failed })];
  const submitted = submittedAt ?? endedAt ?? sentAt;
  const isRefused = failed && jobId === null;
  const submit = span("showrunner.submit", attributes, { from: sentAt, to: submitted, failed: isRefused });
  if (submittedAt === null) return [submit];
  return [submit, span("showrunner.follow", attributes, { from: submitted, to: endedAt ?? submitted, failed })];
}

function span(name: string, attributes: Attributes, { from, to, failed = false, within = [] }: SpanFacts): TracedSpan {
  return { name, attributes, startedAt: from, endedAt: Math.max(from, to), failed, within };
}

interface SpanFacts {
  readonly from: number;
  readonly to: number;
  readonly failed?: boolean;
  readonly within?: readonly TracedSpan[];
}

function cost(micros: number | null): Attributes {
  return micros === null ? {} : { "showrunner.cost_usd": Number(formatUsd(micros)) };
}

function modelNames(model: string | null): Attributes {
  return model === null ? {} : { "showrunner.model": model };
}

function genAiNames(kind: "job" | "chat", model: string | null): Attributes {
  return {
    "gen_ai.operation.name": kind === "chat" ? "chat" : "generate_content",
    "gen_ai.provider.name": "showrunner",
    ...(model !== null && { "gen_ai.request.model": model }),
  };
}
