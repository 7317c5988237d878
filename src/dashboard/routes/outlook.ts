import type { Drift, Remake, RunState } from "../../index.ts";
import type { DashboardContext } from "../context.ts";
import { cut } from "../views/cut.ts";
import type { DriftView, OutlookView, RemakeView } from "../views/wire.ts";

type Code = Awaited<ReturnType<DashboardContext["loadPipeline"]>>;

const localKinds = new Set(["task", "expand"]);

/** The code of a run that has local functions, which it cannot go on without; null for any other run. */
export async function neededCode(context: DashboardContext, state: RunState): Promise<Code> {
  const { plan } = state.planned;
  const isNeeded = plan.steps.some(
    (step) => localKinds.has(step.kind) || (step.kind === "pick" && step.by === "score"),
  );
  return isNeeded ? codeOf(context, state) : null;
}

/** The code that a run was planned with, as it is now; null where it is not found. */
export async function codeOf({ loadPipeline }: DashboardContext, state: RunState): Promise<Code> {
  const { source } = state.planned;
  return source === null ? null : loadPipeline(source);
}

/** What resuming would do and cost: whether the code changed, and which steps would be made again. Spends nothing. */
export async function outlookOf(
  context: DashboardContext,
  state: RunState,
  { rerun, requestId }: { readonly rerun: readonly string[]; readonly requestId: string | undefined },
): Promise<OutlookView> {
  const { show } = context;
  const { runId } = state;
  if (rerun.length > 0) {
    return { drift: null, remake: remakeView(await show.rerunQuote(runId, rerun, { requestId })) };
  }
  const code = await codeOf(context, state);
  const drift = code === null ? null : await show.drift(runId, code);
  return drift === null || drift.isSame
    ? { drift: null, remake: null }
    : { drift: driftView(drift), remake: remakeView(drift) };
}

const MOST_LISTED = 100;

function remakeView({
  stale,
  problems,
  prices,
  totalMicros,
  committedMicros,
  budgetMicros,
  seenThroughFirst,
}: Remake): RemakeView {
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
