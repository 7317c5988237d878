import { activeMs, costOf, type RunState, type RunStatus, type StepState, type StepStatus } from "../journal/state.ts";
import { formatUsd } from "../kit/money.ts";
import { editedFields } from "../plan/index.ts";
import type { Json, PlanStep, ProviderPromise } from "../plan/plan.ts";
import { projectedMicros } from "../run/headroom.ts";
import type { NextCommand } from "../run/next-command.ts";
import { expiring } from "../run/retention.ts";
import { type Missing, missing, type Refused, refusedBy } from "./missing.ts";
import { runSummary } from "./run-view.ts";
import { type AttemptView, outputStatus, placedFile, type StepView, stepView } from "./step-view.ts";

/** A run as `showrunner show --json` prints it, with amounts in dollars and times in ISO 8601. */
export interface RunReport {
  readonly id: string;
  readonly pipeline: string;
  /** The run's title; null if it has none. */
  readonly title: string | null;
  readonly tags: { readonly [key: string]: string };
  /** `interrupted` means that the run's process ended before the run. */
  readonly status: RunStatus | "interrupted";
  /** Why the run is paused, interrupted or failed; null otherwise. */
  readonly message: string | null;
  readonly pause: {
    readonly reason: string;
    readonly funding_url: string | null;
    readonly required: string | null;
    readonly balance: string | null;
    /** When the run can continue without a person; null if a person is needed. */
    readonly resume_at: string | null;
  } | null;
  readonly budget: string | null;
  /** The tag (`key=value`) of the runs that share the budget; null if the budget is not shared. */
  readonly budget_tag: string | null;
  readonly quote: string | null;
  /** Sum of the quotes for reruns; null if a rerun had no price. */
  readonly rerun_quote: string | null;
  /** The expected total: costs, reserved money, and prices of steps that have not run. */
  readonly projected: string;
  readonly cost: string;
  /** Money reserved for jobs that have no bill yet. */
  readonly held: string;
  /** Money that may have been charged, because a response was missing or reported no cost. */
  readonly unconfirmed: string;
  /** The command that continues the run; null if nothing is left to do or a process drives the run. */
  readonly next: NextCommand | null;
  /** The amount by which charges exceed the budget, if they do. */
  readonly over_budget: string | null;
  /** Models that charged more than they quoted or, without a quote, more than was allowed. */
  readonly overcharges: readonly OverchargeReport[];
  readonly out_dir: string;
  readonly created_at: string;
  readonly finished_at: string | null;
  /** Active time in milliseconds, without pauses and times when no process drove the run. */
  readonly took_ms: number;
  /** Outputs that the run still needs and the service will delete, most urgent first. */
  readonly expiring: readonly ExpiringReport[];
  /** What the run lacks, in plan order; empty while a process drives the run. */
  readonly missing: readonly Missing[];
  /** The outputs that the run's checks rejected, with the reasons. */
  readonly refused: readonly Refused[];
  readonly steps: readonly StepReport[];
}

export interface OverchargeReport {
  readonly model: string;
  /** Number of overcharged jobs and chats. */
  readonly times: number;
  readonly excess: string;
  /** The charge that exceeded its quote by the highest factor. */
  readonly worst: { readonly quoted: string; readonly charged: string } | null;
}

export interface ExpiringReport {
  readonly step: string;
  readonly index: number;
  /** Id of the output's asset; null if the service provides only a URL. */
  readonly asset_id: string | null;
  readonly expires_at: string;
  /** Unfinished steps that use the output. */
  readonly needed_by: readonly string[];
  readonly copied: boolean;
  /** Why the last download failed. */
  readonly uncopied: string | null;
}

export interface StepReport {
  /** True if the step is no longer in the plan. */
  readonly removed?: true;
  readonly path: string;
  readonly kind: string;
  readonly model: string | null;
  /** How a request to a provider is kept from being executed twice. */
  readonly promise?: ProviderPromise;
  /** Status in the journal, or `awaiting-approval` while the step waits for a person. */
  readonly status: StepStatus | "awaiting-approval";
  readonly reason: string | null;
  /** Details of a request that takes longer than expected. */
  readonly late: {
    /** When the request was accepted. */
    readonly since: string;
    /** Expected duration; null if the request was not reported as slow. */
    readonly expected_ms: number | null;
    /** True if the expected duration is based on the model's past requests. */
    readonly learned: boolean;
    /** The step's time limit (`within`) if it was exceeded; otherwise null. */
    readonly within_ms: number | null;
    readonly job_id: string | null;
  } | null;
  readonly started_at: string | null;
  readonly finished_at: string | null;
  readonly quote: string | null;
  /** Input fields that an edit or a note changed in this run. */
  readonly edited: readonly string[];
  /** Jobs, chat requests, or failed attempts of a task. */
  readonly attempts: readonly AttemptReport[];
  readonly outputs: readonly OutputReport[];
  /** The value that a chat or task returned, or that a person approved instead. */
  readonly value: Json;
  /** The output that an approval or pick chose. */
  readonly chosen: { readonly step: string; readonly index: number } | null;
  readonly approval: StepState["approval"];
  /** The earlier run and step whose results were reused. */
  readonly reused_from: { readonly run: string; readonly step: string } | null;
}

export interface AttemptReport {
  readonly n: number;
  readonly job_id: string | null;
  readonly status: AttemptView["phase"];
  readonly cost: string | null;
  /** True if `cost` is only the reserved amount, because the provider reports no charge. */
  readonly unconfirmed?: true;
  readonly error: string | null;
  /** Where a local function threw, as `file:line:column`. */
  readonly site?: string;
  /** What moderation objected to. A field is null if moderation did not report it. */
  readonly flagged?: { readonly of: string | null; readonly field: string | null; readonly category: string | null };
  /** The attempt's outputs, if the step was run again and no longer uses them. */
  readonly former_outputs?: readonly {
    readonly index: number;
    readonly asset_id: string | null;
    readonly voice_id: string | null;
    readonly sha256: string | null;
  }[];
}

export interface OutputReport {
  readonly index: number;
  readonly status: string;
  readonly asset_id: string | null;
  readonly voice_id: string | null;
  /** The output's named file, relative to `out_dir`; null if the pipeline does not return the output. */
  readonly file: string | null;
  /** The manifest that describes how the file was made, relative to `out_dir`. */
  readonly manifest: string | null;
  readonly sha256: string | null;
  readonly content_type: string | null;
  readonly width: number | null;
  readonly height: number | null;
  readonly duration_ms: number | null;
  readonly fps: number | null;
  /** Time until which the service keeps the output; null if it does not expire. */
  readonly expires_at: string | null;
}

export function runReport(state: RunState, { isInterrupted = false } = {}): RunReport {
  const { planned } = state;
  const { pause, message, ...summary } = runSummary(state, { isInterrupted });
  return {
    id: summary.id,
    pipeline: summary.pipeline,
    title: summary.title,
    tags: summary.tags,
    status: summary.status,
    message: isInterrupted ? message : (pause?.message ?? message),
    pause:
      pause === null
        ? null
        : {
            reason: pause.reason,
            funding_url: pause.fundingUrl,
            required: usd(pause.requiredMicros),
            balance: usd(pause.balanceMicros),
            resume_at: instant(pause.resumeAt),
          },
    budget: usd(summary.budgetMicros),
    budget_tag: summary.budgetTag,
    quote: usd(summary.quoteMicros),
    rerun_quote: usd(summary.rerunQuoteMicros),
    projected: formatUsd(projectedMicros(state)),
    cost: formatUsd(summary.spentMicros),
    held: formatUsd(summary.heldMicros),
    unconfirmed: formatUsd(summary.unconfirmedMicros + unconfirmedCost(state)),
    next: summary.next,
    over_budget: overBudget(state),
    overcharges: overchargeReports(state),
    out_dir: planned.outDir,
    created_at: instant(summary.createdAt)!,
    finished_at: instant(summary.finishedAt),
    took_ms: activeMs(state),
    expiring: expiring(state).map(({ assetId, expiresAt, neededBy, ...rest }) => ({
      ...rest,
      asset_id: assetId,
      expires_at: instant(expiresAt)!,
      needed_by: neededBy,
    })),
    missing: missing(state, { isInterrupted }),
    refused: planned.plan.steps.flatMap((plan) => refusedBy(state, plan)),
    steps: [
      ...planned.plan.steps.map((plan) => stepReport(state, plan)),
      ...state.removedSteps.map((plan) => ({ removed: true as const, ...stepReport(state, plan) })),
    ],
  };
}

function unconfirmedCost({ steps }: RunState): number {
  const attempts = Object.values(steps).flatMap((step) => step.attempts);
  return costOf(attempts.filter(({ isUnconfirmed }) => isUnconfirmed));
}

function stepReport(state: RunState, plan: PlanStep): StepReport {
  const step = stepView(plan, state.steps[plan.path]!);
  return {
    path: step.path,
    kind: step.kind,
    model: "model" in plan ? plan.model : null,
    ...("promise" in plan && { promise: plan.promise }),
    status: step.phase === "approval" ? "awaiting-approval" : step.status,
    reason: step.reason,
    late: step.late && {
      since: instant(step.late.since)!,
      expected_ms: step.late.expected?.ms ?? null,
      learned: step.late.expected?.isLearned === true,
      within_ms: step.late.withinMs,
      job_id: step.late.jobId,
    },
    started_at: instant(step.startedAt),
    finished_at: instant(step.finishedAt),
    quote: usd(step.quote?.costMicros ?? null),
    edited: editedFields(state.planned.edits, step.path),
    attempts: step.attempts.map(attemptReport),
    outputs: outputReports(state, step),
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

function overchargeReports({ overcharges }: RunState): readonly OverchargeReport[] {
  return Object.entries(overcharges).flatMap(([model, { times, excessMicros, worst }]): readonly OverchargeReport[] => {
    if (times === 0) return [];
    const { quotedMicros = 0, chargedMicros = 0 } = worst ?? {};
    const ratio = worst === null ? null : { quoted: formatUsd(quotedMicros), charged: formatUsd(chargedMicros) };
    return [{ model, times, excess: formatUsd(excessMicros), worst: ratio }];
  });
}

function attemptReport({
  n,
  jobId,
  phase,
  costMicros,
  money,
  error,
  isSuperseded,
  outputs,
}: AttemptView): AttemptReport {
  const former = (isSuperseded ? outputs : []).map(({ index, assetId, voiceId, copy }) => {
    return { index, asset_id: assetId, voice_id: voiceId, sha256: copy?.sha256 ?? null };
  });
  const common = { n, job_id: jobId, status: phase, cost: usd(costMicros), error: error?.message ?? null };
  const isUnconfirmed = money === "unconfirmed" && costMicros !== null;
  return {
    ...common,
    ...(isUnconfirmed && { unconfirmed: true as const }),
    ...(error?.site !== undefined && { site: error.site }),
    ...(error?.flagged !== undefined && { flagged: error.flagged }),
    ...(former.length > 0 && { former_outputs: former }),
  };
}

function outputReports(state: RunState, step: StepView): readonly OutputReport[] {
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

function usd(micros: number | null): string | null {
  return micros === null ? null : formatUsd(micros);
}

function instant(at: number | null): string | null {
  if (at === null) return null;
  const known = instants.get(at);
  if (known !== undefined) return known;
  if (instants.size === 64) instants.clear();
  const text = new Date(at).toISOString();
  instants.set(at, text);
  return text;
}

/** Steps that changed in one commit have the same time. */
const instants = new Map<number, string>();
