import { listedTags, tagTexts } from "../../../core/kit/tags.ts";
import type { RunRow, RunState, RunView } from "../../../core/view/index.ts";
import type { StepCounts } from "./groups.ts";
import type { PageMedia } from "./page-media.ts";
import { cut, mediaOf } from "./page-step.ts";
import { countSteps } from "./run-groups.ts";

const MOST_COVERS = 4;
const MOST_MISSING = 200;
const MOST_NAMED = 3;

export type RunSummary = ReturnType<typeof summaryView>;

export function summaryView(
  run: RunView,
  row: Pick<RunRow, "updatedAt" | "status">,
  counts: StepCounts = countSteps(run.state.planned.plan.steps.map(({ path }) => [run.state.steps[path]!.status, 1])),
) {
  // Another process may have continued the run since the row was read.
  const isInterrupted = row.status === "interrupted" && ["running", "planned"].includes(run.state.status);
  const { unconfirmedMicros, tags, pause, message, ...same } = run.summary({ isInterrupted });
  const open = pause?.reason === "approval" ? run.openDecisions : [];
  return {
    ...same,
    tags: listedTags(tagTexts(tags)),
    updatedAt: row.updatedAt,
    pause:
      pause === null ? null : { ...pause, message: cut(pause.message, 500), fundingUrl: safeUrl(pause.fundingUrl) },
    message: message === null ? null : cut(message, 500),
    decisions: { count: open.length, first: open.slice(0, MOST_NAMED).map(({ step }) => step) },
    counts,
    tookMs: run.state.activeTime.ms,
    covers: coversOf(run),
  };
}

export function unreadable(
  { runId, pipeline, title, tags, status, createdAt, updatedAt }: RunRow,
  why: string,
): RunSummary {
  return {
    id: runId,
    pipeline,
    title,
    tags: listedTags(tagTexts(tags)),
    status: status as RunSummary["status"],
    createdAt,
    updatedAt,
    finishedAt: null,
    spentMicros: 0,
    heldMicros: 0,
    budgetMicros: null,
    budgetTag: null,
    quoteMicros: null,
    rerunQuoteMicros: 0,
    pause: null,
    message: cut(why, 500),
    next: null,
    decisions: { count: 0, first: [] },
    counts: countSteps([]),
    tookMs: 0,
    covers: [],
  };
}

export interface HeadFacts {
  readonly row: Pick<RunRow, "updatedAt" | "status">;
  readonly driveError: string | null;
  readonly drivenHere: boolean;
  readonly counts?: StepCounts | undefined;
}

export function runHead(run: RunView, { row, driveError, drivenHere, counts }: HeadFacts) {
  const { state } = run;
  const { planned } = state;
  const summary = summaryView(run, row, counts);
  return {
    ...summary,
    tags: tagTexts(planned.tags),
    missing: run.missing({ isInterrupted: summary.status === "interrupted" }).slice(0, MOST_MISSING),
    seq: state.seq,
    startedAt: state.startedAt,
    workingSince: state.activeTime.since,
    baseUrl: planned.baseUrl,
    keyId: planned.keyId,
    outDir: planned.outDir,
    source: planned.source === null ? null : `${planned.source.file}#${planned.source.exportName}`,
    maxUnquotedMicros: state.maxUnquotedMicros,
    jobsAtOnce: planned.limits.total,
    driveError,
    drivenHere,
  };
}

function coversOf(run: RunView): readonly PageMedia[] {
  const covers = new Map<string, readonly PageMedia[]>();
  let count = 0;
  for (const path of newestFirst(run.state)) {
    const step = run.state.steps[path];
    if (covers.has(path) || step === undefined || step.upload !== null || step.status === "waiting") continue;
    const media = mediaOf(run, step).filter(({ url, kind }) => url !== null && (kind === "image" || kind === "video"));
    covers.set(path, media);
    count += media.length;
    if (count >= MOST_COVERS) break;
  }
  return [...covers.values()].flat().slice(0, MOST_COVERS);
}

function* newestFirst({ files, planned }: RunState): Generator<string> {
  for (const { step } of files) yield step;
  const { steps } = planned.plan;
  for (let at = steps.length - 1; at >= 0; at -= 1) yield steps[at]!.path;
}

/** Returns the URL if it is a web address, otherwise null. A journal could contain any text. */
function safeUrl(url: string | null): string | null {
  return url !== null && /^https?:\/\//i.test(url) ? url : null;
}
