import type {
  AttemptView,
  FoldedRun,
  Incident,
  Json,
  Plan,
  Rest,
  RunReport,
  RunView,
  StepView,
  TimelineSpan,
} from "../index.ts";

/** One step as the report shows it. */
export interface StepFacts extends Omit<StepView, "status"> {
  readonly status: string;
  /** Submits and requests; what was only priced, and failed tries of tasks, are not among them. */
  readonly attempts: readonly AttemptView[];
}

/** An intermediate result that is not returned, with a local copy. */
export interface IntermediateOutput {
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
  /** When it ended, or its last event; while it runs, the time of the report. */
  readonly lastAt: number;
  readonly events: number;
  readonly steps: readonly StepFacts[];
  /** Those that the page tells one by one, in plan order: all of them, or of very many those that matter most. */
  readonly detailed: readonly StepFacts[];
  /** The first ones; so many stand in the page. */
  readonly files: readonly FinalFile[];
  /** How many the run returned in all. */
  readonly fileCount: number;
  /** In plan order. */
  readonly intermediateOutputs: readonly IntermediateOutput[];
  readonly spans: readonly TimelineSpan[];
  /** Incidents, in order of time. */
  readonly incidents: readonly Incident[];
  readonly rests: readonly Rest[];
}

/** A run without events for so long was killed: its bars end soon after the last one. */
const LONGEST_SILENCE_MS = 10 * 60_000;

const MOST_DETAILED = 1000;
const MOST_FILES = 500;

/** Puts together what the pages show at an instant, from all events of the run. */
export function reportFacts(report: RunReport, { view, history }: FoldedRun, now: number): ReportFacts {
  if (view === null) throw new Error(`Run ${report.id} has no first event; is its journal whole?`);
  const { planned, spentMicros, heldMicros, unconfirmedMicros, budgetMicros, createdAt } = view.state;
  const { lastAt } = history;
  const steps = [...view.steps, ...view.removed].map(stepFacts);
  const files = finalFiles(view);
  return {
    report,
    plan: planned.plan,
    input: planned.input,
    service: planned.baseUrl,
    source: planned.source === null ? null : `${planned.source.file}#${planned.source.exportName}`,
    budgetMicros,
    quoteMicros: planned.quoteMicros,
    costMicros: spentMicros,
    heldMicros,
    unconfirmedMicros,
    startedAt: createdAt,
    lastAt: report.status === "running" ? Math.max(lastAt, Math.min(now, lastAt + LONGEST_SILENCE_MS)) : lastAt,
    events: view.state.seq,
    steps,
    detailed: detailed(steps, files),
    files,
    fileCount: view.state.files.length,
    intermediateOutputs: intermediateOutputs(view, steps),
    spans: history.spans,
    incidents: history.incidents(view.state),
    rests: history.rests,
  };
}

const settled = new Set(["succeeded", "skipped", "waiting"]);

/** Failed and running steps, then those that produced the files, then the others in plan order. */
function detailed(steps: readonly StepFacts[], files: readonly FinalFile[]): readonly StepFacts[] {
  if (steps.length <= MOST_DETAILED) return steps;
  const makers = new Set(files.map(({ step }) => step));
  const rank = ({ status, path }: StepFacts) => (settled.has(status) ? (makers.has(path) ? 1 : 2) : 0);
  const chosen = new Set(steps.toSorted((a, b) => rank(a) - rank(b)).slice(0, MOST_DETAILED));
  return steps.filter((step) => chosen.has(step));
}

function stepFacts(step: StepView): StepFacts {
  const status = step.phase === "approval" ? "awaiting-approval" : step.status;
  return { ...step, status, attempts: step.attempts.filter(({ sentAt }) => sentAt !== null) };
}

function finalFiles(view: RunView): readonly FinalFile[] {
  return view.state.files.slice(0, MOST_FILES).map(({ name, step, index, file }) => {
    const output = view.step(step)?.outputs.find((one) => one.index === index);
    return {
      ...{ name, step, index, file },
      sha256: output?.copy?.sha256 ?? null,
      sizeBytes: output?.copy?.sizeBytes ?? null,
      contentType: output?.copy?.contentType ?? output?.contentType ?? "application/octet-stream",
      width: output?.width ?? null,
      height: output?.height ?? null,
      durationMs: output?.durationMs ?? null,
    };
  });
}

function intermediateOutputs(
  { state: { files } }: RunView,
  steps: readonly StepFacts[],
): readonly IntermediateOutput[] {
  const returned = new Set(files.map(({ step, index }) => `${step} ${index}`));
  return steps.flatMap(({ path, outputs }) =>
    outputs.flatMap(({ index, copy, contentType }) =>
      copy === null || contentType === null || returned.has(`${path} ${index}`)
        ? []
        : [{ step: path, index, sha256: copy.sha256, contentType }],
    ),
  );
}
