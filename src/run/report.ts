import type { JobPhase, RunState, StepState } from "../journal/state.ts";
import { formatUsd } from "../money.ts";

/** A run as `showrunner show --json` prints it: snake_case, dollars as decimal strings, instants as ISO-8601. */
export interface RunReport {
  readonly id: string;
  readonly pipeline: string;
  readonly status: string;
  /** Why it is paused or how it failed; null otherwise. */
  readonly message: string | null;
  readonly pause: {
    readonly reason: string;
    readonly funding_url: string | null;
    readonly required: string | null;
    readonly balance: string | null;
  } | null;
  readonly budget: string | null;
  readonly quote: string | null;
  readonly cost: string;
  /** Reserved for jobs whose bill is not known yet. */
  readonly held: string;
  readonly out_dir: string;
  readonly created_at: string;
  readonly finished_at: string | null;
  readonly steps: readonly StepReport[];
}

export interface StepReport {
  readonly path: string;
  readonly kind: string;
  readonly model: string | null;
  readonly status: string;
  readonly reason: string | null;
  readonly started_at: string | null;
  readonly finished_at: string | null;
  readonly quote: string | null;
  readonly attempts: readonly AttemptReport[];
  readonly outputs: readonly OutputReport[];
}

export interface AttemptReport {
  readonly n: number;
  readonly job_id: string | null;
  readonly status: JobPhase;
  readonly cost: string | null;
}

export interface OutputReport {
  readonly index: number;
  readonly status: string;
  readonly asset_id: string | null;
  readonly voice_id: string | null;
  /** Named file relative to out_dir, for returned outputs. */
  readonly file: string | null;
  readonly sha256: string | null;
  readonly content_type: string | null;
  readonly width: number | null;
  readonly height: number | null;
  readonly duration_ms: number | null;
  readonly fps: number | null;
}

/** What there is to say about a run, from its state alone. */
export function runReport(state: RunState): RunReport {
  const { planned, pause } = state;
  return {
    id: state.runId,
    pipeline: planned.plan.pipeline,
    status: state.status,
    message: pause?.message ?? state.message,
    pause:
      pause === null
        ? null
        : {
            reason: pause.reason,
            funding_url: pause.fundingUrl,
            required: usd(pause.requiredMicros),
            balance: usd(pause.balanceMicros),
          },
    budget: usd(state.budgetMicros),
    quote: usd(planned.quoteMicros),
    cost: formatUsd(state.spentMicros),
    held: formatUsd(state.heldMicros),
    out_dir: planned.outDir,
    created_at: instant(state.createdAt)!,
    finished_at: instant(state.finishedAt),
    steps: planned.plan.steps.map((plan) => {
      const step = state.steps[plan.path]!;
      return {
        path: plan.path,
        kind: plan.kind,
        model: plan.kind === "job" ? plan.model : null,
        status: step.status,
        reason: step.reason,
        started_at: instant(step.startedAt),
        finished_at: instant(step.finishedAt),
        quote: usd(step.attempts.at(-1)?.quote?.costMicros ?? null),
        attempts: step.attempts
          .filter((attempt) => attempt.key !== null)
          .map(({ n, jobId, phase, costMicros }) => ({ n, job_id: jobId, status: phase, cost: usd(costMicros) })),
        outputs: outputReports(state, step),
      };
    }),
  };
}

function outputReports(state: RunState, step: StepState): readonly OutputReport[] {
  return (step.attempts.at(-1)?.outputs ?? []).map((output) => ({
    index: output.index,
    status: output.phase === "expired" || output.phase === "kept" ? "EXPIRED" : output.status,
    asset_id: output.assetId,
    voice_id: output.voiceId,
    file: state.files.find((file) => file.step === step.path && file.index === output.index)?.file ?? null,
    sha256: output.copy?.sha256 ?? null,
    content_type: output.contentType,
    width: output.width,
    height: output.height,
    duration_ms: output.durationMs,
    fps: output.fps,
  }));
}

function usd(micros: number | null): string | null {
  return micros === null ? null : formatUsd(micros);
}

function instant(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}
