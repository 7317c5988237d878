import { type Drift, type RerunScope, type RunState, traitsOf } from "../../index.ts";
import type { DashboardContext } from "../options.ts";
import type { DriftView, RerunView, ResumePreview } from "../views/action-wire.ts";
import { cut } from "../views/truncate.ts";

type Code = Awaited<ReturnType<DashboardContext["loadPipeline"]>>;

/** The code of a run with local functions, which it needs to continue; null for any other run. */
export async function neededCode(context: DashboardContext, state: RunState): Promise<Code> {
  const { plan } = state.planned;
  const isNeeded = plan.steps.some((step) => traitsOf(step).needsCode);
  return isNeeded ? codeOf(context, state) : null;
}

/** The code that a run was planned with, as it is now; null where it is not found. */
export async function codeOf({ loadPipeline }: DashboardContext, state: RunState): Promise<Code> {
  const { source } = state.planned;
  return source === null ? null : loadPipeline(source);
}

/** What resuming would do and cost: whether the code changed, and which steps would run again. Spends nothing. */
export async function resumePreview(
  context: DashboardContext,
  state: RunState,
  { rerun, requestId }: { readonly rerun: readonly string[]; readonly requestId: string | undefined },
): Promise<ResumePreview> {
  const { show } = context;
  const { runId } = state;
  if (rerun.length > 0) {
    return { drift: null, rerunScope: rerunView(await show.rerunQuote(runId, rerun, { requestId })) };
  }
  const code = await codeOf(context, state);
  const drift = code === null ? null : await show.drift(runId, code);
  return drift === null || drift.isSame
    ? { drift: null, rerunScope: null }
    : { drift: driftView(drift), rerunScope: rerunView(drift) };
}

const MOST_LISTED = 100;

function rerunView({
  stale,
  problems,
  prices,
  totalMicros,
  committedMicros,
  budgetMicros,
  seenThroughFirst,
}: RerunScope): RerunView {
  return {
    stale: stale.slice(0, MOST_LISTED),
    staleCount: stale.length,
    problems: problems
      .slice(0, MOST_LISTED)
      .map(({ step, message }) => cut(step === null ? message : `${step}: ${message}`, 500)),
    prices: prices.slice(0, MOST_LISTED).map(({ step, costMicros }) => ({ step, costMicros })),
    minMicros: totalMicros.min,
    maxMicros: totalMicros.max,
    committedMicros,
    budgetMicros,
    seenThroughFirst: seenThroughFirst.slice(0, MOST_LISTED),
  };
}

function driftView({ changed, added, removed, renamed }: Drift): DriftView {
  return {
    changed: changed
      .slice(0, MOST_LISTED)
      .map(({ path, fields }) => ({ step: path, fields: fields.slice(0, 20).map(({ field }) => field) })),
    added: added.slice(0, MOST_LISTED),
    removed: removed.slice(0, MOST_LISTED),
    renamed: renamed.slice(0, MOST_LISTED),
  };
}
