import type { RerunRequest, RunState } from "../../journal/state.ts";
import { formatUsd } from "../../kit/money.ts";
import { own } from "../../kit/own.ts";
import { jobPhases } from "../../lifecycle/index.ts";
import { canonicalJson, fingerprint, type PlanDiff, type SameText, traitsOf } from "../../plan/index.ts";
import type { Json, Plan, PlanStep, Problem } from "../../plan/plan.ts";
import { committedMicros } from "../../run/headroom.ts";
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
import type { EarlierMs } from "../price/expected-media.ts";
import type { Offered } from "../price/offers.ts";
import type { Planner } from "../price/planner.ts";
import type { StepPrice } from "../price/totals.ts";
import { priceText } from "../price/totals.ts";
import { noDiff, type Replanning } from "./replanning.ts";

/** Steps of a run that are to run again, and what that costs. Computing this spends nothing. */
export interface RerunScope {
  readonly runId: string;
  /** Paths of the steps that would run again, with all that use them, in plan order. */
  readonly stale: readonly string[];
  /** All problems at once; with any, the changes cannot be applied. */
  readonly problems: readonly Problem[];
  /** Prices of the stale steps. */
  readonly prices: readonly StepPrice[];
  /** Sum of these prices, micro-dollars. `max` is null when a step is open-ended. */
  readonly totalMicros: { readonly min: number; readonly max: number | null };
  /** What they are expected to cost, micro-dollars. */
  readonly expectedMicros: number;
  /** What the run has spent and reserved so far, micro-dollars; the price comes on top of it. */
  readonly committedMicros: number;
  /** The run's budget, micro-dollars; null without one. */
  readonly budgetMicros: number | null;
  /** The seeds of takes that run again: others than those that their results were made with. */
  readonly seeds: readonly NewSeed[];
  /**
   * Steps to rerun that would ask for exactly what they have already, with the seed that their author gave: `resume` refuses
   * them without `sameSeed`.
   */
  readonly sameSeed: readonly { readonly step: string; readonly seed: number }[];
  /** Stale and removed steps whose paid jobs are at the service now: these are completed before anything else. */
  readonly seenThroughFirst: readonly string[];
  /**
   * Those of them whose request was never answered, with what is held for it: its job is looked
   * for at the service. Without one the request is withdrawn; where that is not certain, it is sent again under its key.
   */
  readonly unanswered: readonly { readonly step: string; readonly holdMicros: number }[];
}

/** The steps that `resume` with `rerun` would run again. */
export interface RerunQuote extends RerunScope {
  /** Requests in progress that some of the steps belong to: `resume` continues them and reruns nothing twice. */
  readonly inProgress: readonly RerunRequest[];
}

/** How the code's plan differs from the plan that the run began with, and what taking it up would run again. */
export interface Drift extends PlanDiff, RerunQuote {
  /** Paths of the steps that would run again, with all that use them, in plan order. */
  readonly stale: readonly string[];
  /** True when the code's requests and returns are unchanged. */
  readonly isSame: boolean;
  /**
   * Where a text that is edited stands in other steps, unchanged: captions of a line that is spoken, say. `resume` refuses an
   * edit that leaves one to a local function, unless `everywhere` says what becomes of it.
   */
  readonly sameText: readonly SameText[];
}

export interface DriftOptions
  extends Pick<ResumeOptions, "input" | "edit" | "everywhere" | "rerun" | "rerunFailed" | "requestId"> {
  /** Also for a run of another account, by the catalog and prices of the service at hand. Default false: it throws. */
  readonly anyAccount?: boolean | undefined;
}

/** What is made again beside what changed in the code. */
export interface Asked {
  /** Steps whose rerun is requested. */
  readonly steps: readonly string[];
  /** Expansions that failed, and whose function was mended. */
  readonly fixed: readonly string[];
  readonly inProgress: readonly RerunRequest[];
  /** Overrides the run's own limit for one unquoted job, micro-dollars; null keeps it. */
  readonly maxUnquotedMicros: number | null;
}

/** All that runs again together, with prices. */
export interface Remade {
  readonly roots: RerunRoots;
  /** With the new seeds of takes. */
  readonly plan: Plan;
  readonly scope: RerunQuote;
}

/** What changed, what is asked for and what these stopped, in the plan that the run has from then on; `diff` null: its own. */
export async function remade(
  state: RunState,
  { target, diff, asked }: { readonly target: Plan; readonly diff: PlanDiff | null; readonly asked: Asked },
  planner: Planner,
): Promise<Remade> {
  const { steps, fixed, inProgress, maxUnquotedMicros } = asked;
  const changed: RerunRoots = diff === null ? new Map() : changedRoots(diff);
  const mended = fixed.map((path) => [path, "its function was fixed"] as const);
  const named = steps.map((path) => [path, "asked for"] as const);
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

/** These steps of a plan with their prices. */
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
  // Asked for again when it is its turn, and refused then.
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
    steps[step]!.attempts.flatMap(({ phase, holdMicros, jobId }) =>
      jobPhases.submitting.has(phase) && jobId === null ? [{ step, holdMicros }] : [],
    ),
  );
}

/** What a part of the plan may cost counts what it cost already. */
function groupProblems(state: RunState, plan: Plan, prices: readonly StepPrice[]): readonly Problem[] {
  return Object.entries(plan.groups ?? {}).flatMap(([prefix, { maxCostMicros }]): readonly Problem[] => {
    const within = prices.filter(({ step }) => step.startsWith(`${prefix}/`));
    const price = within.reduce((sum, { costMicros, maxCostMicros: most }) => sum + (costMicros ?? most ?? 0), 0);
    const spent = committedWithin(state, prefix);
    if (price === 0 || spent + price <= maxCostMicros) return [];
    const message = `may cost ${formatUsd(maxCostMicros)} USD, of which ${formatUsd(spent)} are spent or reserved; rerunning its steps takes ${formatUsd(price)} more. Raise its maxCost, then accept the change`;
    return [{ code: "over-max-cost", step: prefix, field: null, message }];
  });
}

function committedWithin({ steps }: RunState, prefix: string): number {
  let sum = 0;
  for (const { path, attempts, chats } of Object.values(steps)) {
    if (!path.startsWith(`${prefix}/`)) continue;
    for (const { money, holdMicros, costMicros } of attempts) sum += money === "held" ? holdMicros : (costMicros ?? 0);
    for (const { costMicros, holdMicros } of chats) sum += costMicros ?? holdMicros;
  }
  return sum;
}

/** If the failure that stopped a run is rerun, the steps that it stopped run as well. */
function withLeftOut(state: RunState, plan: Plan, roots: RerunRoots): RerunRoots {
  if (roots.size === 0) return roots;
  const cancelled = cancelledSteps(state, plan).filter((path) => !roots.has(path));
  return new Map([...roots, ...cancelled.map((path) => [path, "the run continues"] as const)]);
}

/** Identifies what a revision is based on: the plan, and the rerun requests up to then. */
export function planId({ planned, reruns }: RunState): string {
  return fingerprint({ plan: planned.plan, reruns } as unknown as Json);
}

interface MadeAgain extends Pick<Offered, "plan" | "input"> {
  readonly scope: RerunScope;
  /** For want of the run's own. */
  readonly maxUnquotedMicros: number | null;
}

/** What a run makes again, as somebody agrees to it. */
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

/** Compares a run with its code, with what is asked for besides. */
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
  // One that is gone is among what changed.
  const steps = asked.steps.filter((path) => plan.steps.some((step) => step.path === path));
  const { scope } = await remade(state, { target: plan, diff, asked: { ...asked, steps } }, planner);
  const problems = [...nameProblems(state, plan, diff), ...scope.problems];
  const leaving = diff.removed.filter((path) => !hasNoOpenJobs(state.steps[path]!));
  const seenThroughFirst = [...scope.seenThroughFirst, ...leaving];
  const isSame = isSamePlan(state.planned.plan, plan, diff);
  const unanswered = unansweredOf(state, seenThroughFirst);
  return { ...diff, ...scope, problems, seenThroughFirst, unanswered, isSame, sameText: again.sameText };
}

/** Changed and new steps, with why they run again. */
function changedRoots({ changed, added }: PlanDiff): RerunRoots {
  const why = ({ path, fields }: PlanDiff["changed"][number]) =>
    [path, `changed: ${fields.map(({ field }) => field).join(", ")}`] as const;
  return new Map([...changed.map(why), ...added.map((path) => [path, "new in the plan"] as const)]);
}

/** Whether both plans have the same steps and returned results. Policies may differ. */
export function isSamePlan(before: Plan, after: Plan, diff: PlanDiff): boolean {
  const { changed, added, removed, renamed } = diff;
  const steps = changed.length + added.length + removed.length + renamed.length;
  return steps === 0 && canonicalJson(before.returns) === canonicalJson(after.returns);
}

/** A message with the differences, their price and the next command. */
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
  const what = parts.length === 0 ? "it returns something else" : parts.join("; ");
  const price = priceText(drift.totalMicros, drift.prices, (micros) => `${formatUsd(micros)} USD`);
  const count = drift.stale.length === 1 ? "1 step" : `${drift.stale.length} steps`;
  return `the code differs from the one that the run was planned with: ${what}. Continuing runs ${count} for ${price}; nothing was spent yet. Accept it with: showrunner resume ${runId} --file FILE --accept-changes`;
}

function said(what: string, paths: readonly string[]): string | null {
  return paths.length === 0 ? null : `${what}: ${paths.slice(0, 5).join(", ")}${paths.length > 5 ? ", …" : ""}`;
}

/** Keys and bills are identified by step name and attempt: a name belongs to one kind of step, and to one history. */
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
    return [problem(path, `was a step of kind ${before} in this run; give the new one another name`)];
  });
  const again = added.flatMap((path) => {
    const now = own(state.formerNames, path);
    return now === undefined ? [] : [problem(path, `is what ${now} was called in this run; use another name`)];
  });
  const onto = renamed.flatMap(({ from, to }) => {
    const free = state.steps[to] === undefined && (own(state.formerNames, to) ?? from) === from;
    return free ? [] : [problem(to, `had another step of this run for a while; call ${from} something else`)];
  });
  return [...otherKind, ...again, ...onto];
}

function isUploaded(state: RunState, step: PlanStep): boolean {
  const { file } = traitsOf(step);
  return file !== null && state.steps[step.path]?.upload?.sha256 === file.sha256;
}
