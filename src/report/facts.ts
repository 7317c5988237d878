import {
  type Incident,
  incidentsOf,
  type Json,
  type Plan,
  parseUsd,
  type RunReport,
  type StoredEvent,
  type TimelineSpan,
  timelineOf,
} from "../index.ts";
import { type Attempt, attemptsOf } from "./attempts.ts";

type StepReport = RunReport["steps"][number];

/** One step as the report shows it. Money is micro-dollars, instants are epoch milliseconds. */
export interface StepFacts {
  readonly path: string;
  readonly kind: string;
  readonly model: string | null;
  readonly status: string;
  readonly reason: string | null;
  readonly startedAt: number | null;
  readonly finishedAt: number | null;
  readonly needs: readonly string[];
  readonly attempts: readonly Attempt[];
  /** What its latest attempt was quoted; null without a price. */
  readonly quoteMicros: number | null;
  /** Sum of what they cost; null before the first bill. */
  readonly costMicros: number | null;
  readonly outputs: StepReport["outputs"];
  /** What a chat or a task yielded; null also where there is none. */
  readonly value: Json;
  /** What an approval or a pick stands for. */
  readonly chosen: StepReport["chosen"];
  readonly reusedFrom: StepReport["reused_from"];
}

/** A result that was made on the way and is not returned, with a copy of ours. */
export interface MadeOnTheWay {
  readonly step: string;
  readonly index: number;
  readonly sha256: string;
  readonly contentType: string;
}

/** A returned file, named and placed in the run's folder. */
export interface FinalFile {
  readonly name: string;
  readonly step: string;
  readonly index: number;
  /** Relative to the run's folder, with `/`. */
  readonly file: string;
  readonly sha256: string | null;
  readonly sizeBytes: number | null;
  readonly contentType: string;
  readonly width: number | null;
  readonly height: number | null;
  readonly durationMs: number | null;
}

/** All that a report says about a run, from its events and its own summary. */
export interface ReportFacts {
  readonly report: RunReport;
  readonly plan: Plan;
  readonly input: Json;
  readonly service: string;
  readonly source: string | null;
  readonly budgetMicros: number | null;
  readonly quoteMicros: number | null;
  readonly costMicros: number;
  readonly heldMicros: number;
  /** Of chat requests that were never answered: they may have been charged. */
  readonly unconfirmedMicros: number;
  readonly startedAt: number;
  /** When it ended, or its last event; while it runs, the moment looked at. */
  readonly lastAt: number;
  readonly events: number;
  readonly steps: readonly StepFacts[];
  readonly files: readonly FinalFile[];
  /** In plan order. */
  readonly onTheWay: readonly MadeOnTheWay[];
  readonly spans: readonly TimelineSpan[];
  /** What did not go straight, in order of time. */
  readonly incidents: readonly Incident[];
  /** Stretches in which the run rested. */
  readonly rests: readonly { readonly from: number; readonly to: number | null; readonly reason: string }[];
}

/** A run that seems to run and has not said anything for so long was killed: its bars end soon after its last word. */
const LONGEST_SILENCE_MS = 10 * 60_000;

/** Puts together what the pages show at an instant. Events must be the run's own, from the first on. */
export function reportFacts(report: RunReport, events: readonly StoredEvent[], now: number): ReportFacts {
  const first = events[0]?.event;
  if (first?.type !== "run.planned") throw new Error(`Run ${report.id} has no first event; is its journal whole?`);
  const attempts = attemptsOf(events);
  const lastAt = events.reduce((latest, { at }) => Math.max(latest, at), 0);
  const plan = latestPlan(first.plan, events);
  const needs = new Map(plan.steps.map((step) => [step.path, step.needs]));
  return {
    report,
    plan,
    input: first.input,
    service: first.baseUrl,
    source: first.source === null ? null : `${first.source.file}#${first.source.exportName}`,
    budgetMicros: micros(report.budget),
    quoteMicros: micros(report.quote),
    costMicros: micros(report.cost) ?? 0,
    heldMicros: micros(report.held) ?? 0,
    unconfirmedMicros: micros(report.unconfirmed ?? null) ?? 0,
    startedAt: events[0]?.at ?? 0,
    lastAt: report.status === "running" ? Math.max(lastAt, Math.min(now, lastAt + LONGEST_SILENCE_MS)) : lastAt,
    events: events.length,
    steps: report.steps.map((step) => stepFacts(step, needs.get(step.path) ?? [], attempts.get(step.path) ?? [])),
    files: finalFiles(report, events),
    onTheWay: onTheWay(report),
    spans: timelineOf(events),
    incidents: incidentsOf(events),
    rests: restsOf(events),
  };
}

/** The plan as it is now: with what the code changed, and with what values led to. */
function latestPlan(first: Plan, events: readonly StoredEvent[]): Plan {
  let plan = first;
  for (const { event } of events) {
    if (event.type === "run.replanned") plan = event.plan;
    if (event.type === "expand.planned") plan = { ...plan, steps: [...plan.steps, ...event.steps] };
  }
  return plan;
}

function stepFacts(step: StepReport, needs: readonly string[], attempts: readonly Attempt[]): StepFacts {
  return {
    path: step.path,
    kind: step.kind,
    model: step.model ?? attempts.at(-1)?.model ?? null,
    status: step.status,
    reason: step.reason,
    startedAt: instant(step.started_at),
    finishedAt: instant(step.finished_at),
    needs,
    attempts,
    quoteMicros: micros(step.quote),
    costMicros: sumOf(attempts.map(({ costMicros }) => costMicros)),
    outputs: step.outputs,
    value: step.value ?? null,
    chosen: step.chosen ?? null,
    reusedFrom: step.reused_from ?? null,
  };
}

function finalFiles(report: RunReport, events: readonly StoredEvent[]): readonly FinalFile[] {
  const copies = new Map<string, { readonly sizeBytes: number; readonly contentType: string }>();
  const files = new Map<string, FinalFile>();
  for (const { event } of events) {
    if (event.type === "output.downloaded") copies.set(`${event.step} ${event.index}`, event);
    if (event.type !== "file.placed") continue;
    const copy = copies.get(`${event.step} ${event.index}`);
    const output = report.steps
      .find(({ path }) => path === event.step)
      ?.outputs.find(({ index }) => index === event.index);
    files.set(event.name, {
      name: event.name,
      step: event.step,
      index: event.index,
      file: event.file,
      sha256: output?.sha256 ?? null,
      sizeBytes: copy?.sizeBytes ?? null,
      contentType: copy?.contentType ?? output?.content_type ?? "application/octet-stream",
      width: output?.width ?? null,
      height: output?.height ?? null,
      durationMs: output?.duration_ms ?? null,
    });
  }
  return [...files.values()];
}

function onTheWay(report: RunReport): readonly MadeOnTheWay[] {
  return report.steps.flatMap(({ path, outputs }) =>
    outputs.flatMap(({ index, sha256, content_type: contentType, file }) =>
      sha256 === null || contentType === null || file !== null ? [] : [{ step: path, index, sha256, contentType }],
    ),
  );
}

function restsOf(events: readonly StoredEvent[]): ReportFacts["rests"] {
  const rests: { from: number; to: number | null; reason: string }[] = [];
  for (const { at, event } of events) {
    if (event.type === "run.paused") rests.push({ from: at, to: null, reason: event.reason });
    const last = rests.at(-1);
    if (event.type === "run.resumed" && last?.to === null) last.to = at;
  }
  return rests;
}

function sumOf(amounts: readonly (number | null)[]): number | null {
  const known = amounts.filter((amount) => amount !== null);
  return known.length === 0 ? null : known.reduce((sum, amount) => sum + amount, 0);
}

function micros(usd: string | null): number | null {
  return usd === null ? null : parseUsd(usd);
}

function instant(iso: string | null): number | null {
  return iso === null ? null : Date.parse(iso);
}
