import { activeMs, costOf, type OutputState, planStep, type RunState } from "../journal/state.ts";
import { formatUsd } from "../kit/money.ts";
import { editedFields, isReference, traitsOf } from "../plan/index.ts";
import type { Reference } from "../plan/plan.ts";
import { projectedMicros } from "../run/money.ts";
import { referenced, referencedValue } from "../run/resolve.ts";
import { expiring } from "../run/retention.ts";
import type { RunDocument, StepDocument } from "./document-schema.ts";
import { missing, refusedBy } from "./missing.ts";
import { type RunSummary, type RunView, runSummary } from "./run-view.ts";
import { type AttemptView, outputStatus, placedFile, type StepView } from "./step-view.ts";

/** Returns the document that describes a run to its operator. For its callers, see `callerDocument`. */
export function runDocument(
  { state, steps, removed }: Pick<RunView, "state" | "steps" | "removed">,
  { isInterrupted = false, seq = state.seq } = {},
): RunDocument {
  const { planned } = state;
  const { pause, message, ...summary } = runSummary(state, { isInterrupted });
  return {
    ...sharedRun(state, summary),
    seq,
    tags: summary.tags,
    message: isInterrupted ? message : (pause?.message ?? message),
    pause:
      pause === null
        ? null
        : {
            reason: pause.reason,
            funding_url: pause.fundingUrl,
            required: formatUsd(pause.requiredMicros),
            balance: formatUsd(pause.balanceMicros),
            resume_at: instant(pause.resumeAt),
          },
    budget: formatUsd(summary.budgetMicros),
    budget_tag: summary.budgetTag,
    rerun_quote: formatUsd(summary.rerunQuoteMicros),
    projected: formatUsd(projectedMicros(state)),
    unconfirmed: formatUsd(summary.unconfirmedMicros + unconfirmedCost(state)),
    next: summary.next,
    over_budget: overBudget(state),
    overcharges: overchargesOf(state),
    out_dir: planned.outDir,
    outputs: returned(state, {
      output: (step, output) => ({ step, ...sharedOutput(state, step, output) }),
      upload: (step) => uploadedFile(state, step),
    }),
    took_ms: activeMs(state),
    expiring: expiring(state).map(({ assetId, expiresAt, neededBy, ...rest }) => ({
      ...rest,
      asset_id: assetId,
      expires_at: instant(expiresAt),
      needed_by: neededBy,
    })),
    missing: missing(state, { isInterrupted }),
    refused: planned.plan.steps.flatMap((plan) => refusedBy(state, plan)),
    steps: [
      ...steps.map((step) => operatorStep(state, step)),
      ...removed.map((step) => ({ removed: true as const, ...operatorStep(state, step) })),
    ],
  };
}

/**
 * Returns the fields that a run's operator document and its caller document share. Messages differ, so they are not
 * included.
 */
export function sharedRun({ seq }: RunState, run: Omit<RunSummary, "pause" | "message">) {
  return {
    id: run.id,
    seq,
    pipeline: run.pipeline,
    title: run.title,
    status: run.status,
    quote: formatUsd(run.quoteMicros),
    cost: formatUsd(run.spentMicros),
    held: formatUsd(run.heldMicros),
    created_at: instant(run.createdAt),
    finished_at: instant(run.finishedAt),
  };
}

interface ReturnedForms {
  output(step: string, output: OutputState): unknown;
  upload(step: string): unknown;
}

/** Returns the results that exist so far, under the names that the pipeline gave them. */
export function returned(state: RunState, form: ReturnedForms): RunDocument["outputs"] {
  const one = ({ $ref }: Reference): unknown => {
    if ($ref.as === "value") return referencedValue(state, $ref) ?? null;
    if ($ref.as === "upload") return form.upload($ref.step);
    const all = referenced(state, $ref).map(({ step, output }) => {
      return output.voiceId === null ? form.output(step, output) : { voice_id: output.voiceId };
    });
    return $ref.output === "all" ? all : (all[0] ?? null);
  };
  const map = (value: unknown): unknown => {
    if (isReference(value)) return one(value);
    if (Array.isArray(value)) return value.map(map);
    return Object.fromEntries(Object.entries(value as object).map(([name, item]) => [name, map(item)]));
  };
  return map(state.planned.plan.returns) as RunDocument["outputs"];
}

/** Returns the fields of an output that are shown to both the operator and callers. */
export function sharedOutput(state: RunState, step: string, output: OutputState) {
  const { index, contentType, width, height, durationMs } = output;
  const file = placedFile(state, step, index)?.file ?? null;
  return { index, file, content_type: contentType, width, height, duration_ms: durationMs };
}

function uploadedFile(state: RunState, step: string) {
  const file = traitsOf(planStep(state, step)).file;
  return file && { path: file.path, content_type: file.contentType };
}

function unconfirmedCost({ steps }: RunState): number {
  const attempts = Object.values(steps).flatMap((step) => step.attempts);
  return costOf(attempts.filter(({ isUnconfirmed }) => isUnconfirmed));
}

export function documentedStatus({ phase, status }: StepView): StepDocument["status"] {
  return phase === "approval" ? "awaiting-approval" : status;
}

function operatorStep(state: RunState, step: StepView): StepDocument {
  return {
    path: step.path,
    kind: step.kind,
    phase: step.phase,
    status: documentedStatus(step),
    model: step.model,
    ...("promise" in step.plan && { promise: step.plan.promise }),
    reason: step.reason,
    late: step.late && {
      since: instant(step.late.since),
      expected_ms: step.late.expected?.ms ?? null,
      learned: step.late.expected?.isLearned === true,
      within_ms: step.late.withinMs,
      job_id: step.late.jobId,
    },
    started_at: instant(step.startedAt),
    finished_at: instant(step.finishedAt),
    quote: formatUsd(step.quote?.costMicros ?? null),
    edited: editedFields(state.planned.edits, step.path),
    attempts: step.attempts.map(operatorAttempt),
    outputs: operatorOutputs(state, step),
    value: step.value,
    chosen: step.chosen,
    approval: step.approval,
    reused_from: step.reusedFrom === null ? null : { run: step.reusedFrom.runId, step: step.reusedFrom.step },
  };
}

function overBudget({ spentMicros, budgetMicros, planned }: RunState): string | null {
  const isOwn = budgetMicros !== null && planned.budgetTag === undefined;
  return !isOwn || spentMicros <= budgetMicros ? null : formatUsd(spentMicros - budgetMicros);
}

function overchargesOf({ overcharges }: RunState): RunDocument["overcharges"] {
  return Object.entries(overcharges).flatMap(([model, { times, excessMicros, worst }]): RunDocument["overcharges"] => {
    if (times === 0) return [];
    const { quotedMicros = 0, chargedMicros = 0 } = worst ?? {};
    const ratio = worst === null ? null : { quoted: formatUsd(quotedMicros), charged: formatUsd(chargedMicros) };
    return [{ model, times, excess: formatUsd(excessMicros), worst: ratio }];
  });
}

function operatorAttempt({
  n,
  jobId,
  phase,
  costMicros,
  money,
  error,
  isSuperseded,
  outputs,
}: AttemptView): StepDocument["attempts"][number] {
  const former = (isSuperseded ? outputs : []).map(({ index, assetId, voiceId, copy }) => {
    return { index, asset_id: assetId, voice_id: voiceId, sha256: copy?.sha256 ?? null };
  });
  const common = { n, job_id: jobId, status: phase, cost: formatUsd(costMicros), error: error?.message ?? null };
  const isUnconfirmed = money === "unconfirmed" && costMicros !== null;
  return {
    ...common,
    ...(isUnconfirmed && { unconfirmed: true as const }),
    ...(error?.site !== undefined && { site: error.site }),
    ...(error?.flagged !== undefined && { flagged: error.flagged }),
    ...(former.length > 0 && { former_outputs: former }),
  };
}

function operatorOutputs(state: RunState, step: StepView): StepDocument["outputs"] {
  return step.outputs.map((output) => {
    const placed = placedFile(state, step.path, output.index);
    return {
      index: output.index,
      status: outputStatus(step, output),
      asset_id: output.assetId,
      voice_id: output.voiceId,
      file: placed?.file ?? null,
      manifest: placed?.manifest ?? null,
      sha256: output.copy?.sha256 ?? null,
      content_type: output.contentType,
      width: output.width,
      height: output.height,
      duration_ms: output.durationMs,
      fps: output.fps,
      expires_at: instant(output.expiresAt ?? null),
    };
  });
}

export function instant(at: number): string;
export function instant(at: number | null): string | null;
export function instant(at: number | null): string | null {
  if (at === null) return null;
  const known = instants.get(at);
  if (known !== undefined) return known;
  if (instants.size === 64) instants.clear();
  const text = new Date(at).toISOString();
  instants.set(at, text);
  return text;
}

/** Caches formatted times, because all steps that changed in the same commit have the same time. */
const instants = new Map<number, string>();
