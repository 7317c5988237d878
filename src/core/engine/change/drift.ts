import { committedOn, type RerunRequest, type RunState } from "../../journal/state.ts";
import { own } from "../../kit/lookup.ts";
import { formatUsd, priceText } from "../../kit/money.ts";
import { jobPhases } from "../../lifecycle/index.ts";
import { canonicalJson, fingerprint, type PlanDiff, type SameText, traitsOf } from "../../plan/index.ts";
import type { Json, Plan, PlanStep, Problem } from "../../plan/plan.ts";
import { committedMicros } from "../../run/money.ts";
import {
  cancelledSteps,
  hasNoOpenJobs,
  type NewSeed,
  type RerunRoots,
  rerunSeeds,
  staleSteps,
} from "../../run/rerun.ts";
import type { ResumeOptions } from "../options/options.ts";
import { isLeftToNext } from "../price/expansion.ts";
import type { EarlierMs } from "../price/expected.ts";
import type { Offered } from "../price/offers.ts";
import type { Planner } from "../price/planner.ts";
import type { StepPrice } from "../price/totals.ts";
import { noDiff, type Replanning } from "./replanning.ts";

/** The steps of a run that would run again, and their price. */
export interface RerunScope {
  readonly runId: string;
  /** Paths of the steps that would run again, including all dependent steps, in plan order. */
  readonly stale: readonly string[];
  /** Reasons why the changes are refused; empty if there are none. */
  readonly problems: readonly Problem[];
  readonly prices: readonly StepPrice[];
  /** The total price of the stale steps, in micro-dollars. `max` is null if a step has no upper limit. */
  readonly totalMicros: { readonly min: number; readonly max: number | null };
  /** The expected cost of rerunning the stale steps, in micro-dollars. */
  readonly expectedMicros: number;
  /** What the run has spent and reserved so far, in micro-dollars. */
  readonly committedMicros: number;
  /** The run's budget in micro-dollars; null if it has none. */
  readonly budgetMicros: number | null;
  /** New seeds for rerun steps. Only steps whose seed Showrunner assigned get a new seed. */
  readonly seeds: readonly NewSeed[];
  /**
   * Steps that would repeat exactly the same request because the code fixes their seed. `resume` refuses to rerun them
   * unless `sameSeed` is set.
   */
  readonly sameSeed: readonly { readonly step: string; readonly seed: number }[];
  /**
   * Stale and removed steps with unfinished paid jobs on the service. When the run is resumed, it first waits for those
   * jobs.
   */
  readonly seenThroughFirst: readonly string[];
  /** The steps in `seenThroughFirst` whose request got no response, each with the amount reserved in micro-dollars. */
  readonly unanswered: readonly { readonly step: string; readonly holdMicros: number }[];
}

/** What `resume` would rerun if its `rerun` option were used, and what that would cost. */
export interface RerunQuote extends RerunScope {
  /**
   * Unfinished rerun requests that include some of the stale steps. `resume` continues these requests and reruns no
   * step twice.
   */
  readonly inProgress: readonly RerunRequest[];
}

/** How the code's plan differs from the run's plan, and what would run again if the changes were accepted. */
export interface Drift extends PlanDiff, RerunQuote {
  /** Paths of the steps that would run again, including all dependent steps, in plan order. */
  readonly stale: readonly string[];
  /** True if the code's plan makes the same requests and returns the same results as the run's plan. */
  readonly isSame: boolean;
  /**
   * Other steps that would still contain the old text after the edit, such as captions of a spoken line. If one of them
   * is a local function, `resume` refuses the edit unless `everywhere` is set.
   */
  readonly sameText: readonly SameText[];
}

export interface DriftOptions
  extends Pick<ResumeOptions, "input" | "edit" | "everywhere" | "rerun" | "rerunFailed" | "requestId"> {
  /**
   * Whether to accept a run that belongs to another account. If so, this service's catalog and prices apply to it.
   * Default: false.
   */
  readonly anyAccount?: boolean | undefined;
}

export interface Asked {
  readonly steps: readonly string[];
  readonly fixed: readonly string[];
  readonly inProgress: readonly RerunRequest[];
  readonly maxUnquotedMicros: number | null;
}

export interface Remade {
  readonly roots: RerunRoots;
  readonly plan: Plan;
  readonly scope: RerunQuote;
}

export async function remade(
  state: RunState,
  { target, diff, asked }: { readonly target: Plan; readonly diff: PlanDiff | null; readonly asked: Asked },
  planner: Planner,
): Promise<Remade> {
  const { steps, fixed, inProgress, maxUnquotedMicros } = asked;
  const changed: RerunRoots = diff === null ? new Map() : changedRoots(diff);
  const mended = fixed.map((path) => [path, "its function was fixed"] as const);
  const named = steps.map((path) => [path, "requested"] as const);
  const roots = withLeftOut(state, target, new Map([...changed, ...mended, ...named]));
  const stale = staleSteps(state, target, roots);
  const unchanged = steps.filter((path) => !changed.has(path));
  const { plan, seeds, sameSeed } = rerunSeeds(state, target, unchanged, stale);
  const scope = await priced(state, { plan, stale, maxUnquotedMicros }, planner);
  return { roots, plan, scope: { ...scope, seeds, sameSeed, inProgress } };
}

interface Priced extends Pick<Asked, "maxUnquotedMicros"> {
  readonly plan: Plan;
  readonly stale: readonly string[];
}

async function priced(state: RunState, { plan, stale, ...own }: Priced, planner: Planner) {
  const isOpen = (path: string) => state.steps[path] !== undefined && !hasNoOpenJobs(state.steps[path]);
  const isStale = new Set(stale);
  const only = plan.steps.filter((step) => isStale.has(step.path) && !isUploaded(state, step));
  const maxUnquotedMicros = own.maxUnquotedMicros ?? state.maxUnquotedMicros;
  const nothing = { problems: [], prices: [], totalMicros: { min: 0, max: 0 }, expectedMicros: 0 };
  const { reuse } = state.planned;
  const again = new Set(stale.filter((path) => state.steps[path] !== undefined));
  const earlierMs: EarlierMs = (path) => {
    const step = state.steps[path];
    const attempts = step?.attempts.toReversed() ?? [];
    const [ms] = attempts.flatMap(({ outputs }) => outputs.flatMap(({ durationMs }) => durationMs ?? []));
    return ms === undefined ? null : { ms, isMadeAgain: isStale.has(path) };
  };
  const quote =
    only.length === 0 ? nothing : await planner.price(plan, { maxUnquotedMicros, reuse, again, earlierMs }, only);
  // The choice around these steps can use its next option, so their problems are no reason to refuse.
  const leftToNext = quote.problems.filter((problem) => isLeftToNext(plan, problem));
  const prices = quote.prices.filter((price) => !leftToNext.some(({ step }) => step === price.step));
  const problems = quote.problems.filter((problem) => !leftToNext.includes(problem));
  return {
    runId: state.runId,
    stale,
    problems: [...problems, ...groupProblems(state, plan, prices)],
    prices,
    totalMicros: quote.totalMicros,
    expectedMicros: quote.expectedMicros,
    committedMicros: committedMicros(state),
    budgetMicros: state.budgetMicros,
    seenThroughFirst: stale.filter(isOpen),
    unanswered: unansweredOf(state, stale.filter(isOpen)),
  };
}

function unansweredOf({ steps }: RunState, paths: readonly string[]): RerunScope["unanswered"] {
  return paths.flatMap((step) =>
    steps[step]!.attempts.flatMap(({ kind, phase, holdMicros, jobId }) =>
      kind === "job" && jobPhases.submitting.has(phase) && jobId === null ? [{ step, holdMicros }] : [],
    ),
  );
}

function groupProblems(state: RunState, plan: Plan, prices: readonly StepPrice[]): readonly Problem[] {
  return Object.entries(plan.groups ?? {}).flatMap(([prefix, { maxCostMicros }]): readonly Problem[] => {
    const within = prices.filter(({ step }) => step.startsWith(`${prefix}/`));
    const price = within.reduce((sum, { costMicros, maxCostMicros: most }) => sum + (costMicros ?? most ?? 0), 0);
    const spent = committedWithin(state, prefix);
    if (price === 0 || spent + price <= maxCostMicros) return [];
    const message = `the group has spent or reserved ${formatUsd(spent)} of its maxCost of ${formatUsd(maxCostMicros)} USD; rerunning its steps would cost ${formatUsd(price)} USD more. Raise maxCost, then accept the changes`;
    return [{ code: "over-max-cost", step: prefix, field: null, message }];
  });
}

function committedWithin({ steps }: RunState, prefix: string): number {
  const inside = Object.values(steps).filter(({ path }) => path.startsWith(`${prefix}/`));
  return inside.reduce((sum, step) => sum + committedOn(step), 0);
}

/** If any step is to be rerun, adds the steps that were cancelled when a failure stopped the run. */
function withLeftOut(state: RunState, plan: Plan, roots: RerunRoots): RerunRoots {
  if (roots.size === 0) return roots;
  const cancelled = cancelledSteps(state, plan).filter((path) => !roots.has(path));
  return new Map([...roots, ...cancelled.map((path) => [path, "the run continues"] as const)]);
}

export function planId({ planned, reruns }: RunState): string {
  return fingerprint({ plan: planned.plan, reruns } as unknown as Json);
}

interface MadeAgain extends Pick<Offered, "plan" | "input"> {
  readonly scope: RerunScope;
  readonly maxUnquotedMicros: number | null;
}

export function madeAgain(state: RunState, { plan, input, scope, maxUnquotedMicros }: MadeAgain): Offered {
  const stale = new Set(scope.stale);
  return {
    runId: state.runId,
    plan,
    steps: plan.steps.filter(({ path }) => stale.has(path)),
    state: planId(state),
    input,
    prices: scope.prices,
    maxUnquotedMicros: maxUnquotedMicros ?? state.maxUnquotedMicros,
  };
}

export async function driftFrom(
  state: RunState,
  { again, asked }: { readonly again: Replanning; readonly asked: Asked },
  planner: Planner,
): Promise<Drift> {
  if (!again.ok) {
    const { plan } = state.planned;
    const nothing = { ...asked, steps: [], fixed: [] };
    const { scope } = await remade(state, { target: plan, diff: null, asked: nothing }, planner);
    return { ...noDiff(plan), ...scope, isSame: false, sameText: [], problems: again.problems };
  }
  const { plan, diff } = again;
  const steps = asked.steps.filter((path) => plan.steps.some((step) => step.path === path));
  const { scope } = await remade(state, { target: plan, diff, asked: { ...asked, steps } }, planner);
  const problems = [...nameProblems(state, plan, diff), ...scope.problems];
  const leaving = diff.removed.filter((path) => !hasNoOpenJobs(state.steps[path]!));
  const seenThroughFirst = [...scope.seenThroughFirst, ...leaving];
  const isSame = isSamePlan(state.planned.plan, plan, diff);
  const unanswered = unansweredOf(state, seenThroughFirst);
  return { ...diff, ...scope, problems, seenThroughFirst, unanswered, isSame, sameText: again.sameText };
}

function changedRoots({ changed, added }: PlanDiff): RerunRoots {
  const why = ({ path, fields }: PlanDiff["changed"][number]) =>
    [path, `changed: ${fields.map(({ field }) => field).join(", ")}`] as const;
  return new Map([...changed.map(why), ...added.map((path) => [path, "new in the plan"] as const)]);
}

/** True if both plans have the same steps and return the same results. Ignores policies such as `maxCost`. */
export function isSamePlan(before: Plan, after: Plan, diff: PlanDiff): boolean {
  const { changed, added, removed, renamed } = diff;
  const steps = changed.length + added.length + removed.length + renamed.length;
  return steps === 0 && canonicalJson(before.returns) === canonicalJson(after.returns);
}

export function driftMessage({ runId, problems, ...drift }: Drift): string {
  if (problems.length > 0) {
    const [first, ...others] = problems;
    const more = others.length === 0 ? "" : ` (and ${others.length} more)`;
    const where = [first!.step, first!.field].filter((part) => part !== null).join(" ");
    return `the code changes cannot be applied: ${where === "" ? "" : `${where}: `}${first!.message}${more}. Nothing was spent.`;
  }
  const parts = [
    said(
      "changed",
      drift.changed.map(({ path }) => path),
    ),
    said("new", drift.added),
    said("removed", drift.removed),
    said(
      "renamed",
      drift.renamed.map(({ from, to }) => `${from} to ${to}`),
    ),
  ].filter((part) => part !== null);
  const what = parts.length === 0 ? "it returns different outputs" : parts.join("; ");
  const price = priceText(drift.totalMicros, drift.prices, (micros) => `${formatUsd(micros)} USD`);
  const count = drift.stale.length === 1 ? "1 step" : `${drift.stale.length} steps`;
  return `the code has changed since the run was planned: ${what}. If you accept the changes, ${count} will run (price: ${price}); nothing has been spent on these changes yet. Accept the changes with: showrunner resume ${runId} --file FILE --accept-changes`;
}

function said(what: string, paths: readonly string[]): string | null {
  return paths.length === 0 ? null : `${what}: ${paths.slice(0, 5).join(", ")}${paths.length > 5 ? ", …" : ""}`;
}

/**
 * Reports steps whose names were already used for other steps of the run. Names must not be reused, because idempotency
 * keys and bills identify a job by its step name.
 */
function nameProblems(state: RunState, plan: Plan, { changed, added, renamed }: PlanDiff): readonly Problem[] {
  if (changed.length + added.length + renamed.length === 0) return [];
  const problem = (step: string, message: string): Problem => ({ code: "name-taken", step, field: null, message });
  const kindBefore = new Map(
    [...state.removedSteps, ...state.planned.plan.steps].map(({ path, kind }) => [path, kind]),
  );
  const kindNow = new Map(plan.steps.map(({ path, kind }) => [path, kind]));
  const otherKind = [...changed.map(({ path }) => path), ...added].flatMap((path) => {
    const before = kindBefore.get(path);
    if (before === undefined || before === kindNow.get(path)) return [];
    return [problem(path, `was the name of a ${before} step earlier in this run; give the new step another name`)];
  });
  const again = added.flatMap((path) => {
    const now = own(state.formerNames, path);
    return now === undefined ? [] : [problem(path, `is a former name of ${now} in this run; use another name`)];
  });
  const onto = renamed.flatMap(({ from, to }) => {
    const free = state.steps[to] === undefined && (own(state.formerNames, to) ?? from) === from;
    return free ? [] : [problem(to, `was once the name of another step in this run; give ${from} a different name`)];
  });
  return [...otherKind, ...again, ...onto];
}

function isUploaded(state: RunState, step: PlanStep): boolean {
  const { file } = traitsOf(step);
  return file !== null && state.steps[step.path]?.upload?.sha256 === file.sha256;
}
