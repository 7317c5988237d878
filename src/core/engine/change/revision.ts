import { randomUUID } from "node:crypto";
import type { Pipeline } from "../../define/index.ts";
import type { AgreedQuote, RunEvent } from "../../journal/events.ts";
import { isStepFinal, type RerunRequest, type RunState } from "../../journal/state.ts";
import { InvalidOptionError } from "../../kit/errors.ts";
import { own, suggest } from "../../kit/lookup.ts";
import { shellWord } from "../../kit/value-text.ts";
import { canonicalJson, type SameText, traitsOf, withSeeds } from "../../plan/index.ts";
import type { Json, Plan, PlanStep } from "../../plan/plan.ts";
import { matchesPattern } from "../../plan/profile.ts";
import { committedMicros } from "../../run/money.ts";
import { readiness } from "../../run/readiness.ts";
import {
  blockingFailure,
  hasNoOpenJobs,
  type RequestedRerun,
  type RerunSeeds,
  type Revised,
  revisionEvents,
  seedsByStep,
  staleSteps,
} from "../../run/rerun.ts";
import { isMadeUpFor, madeAgainFor } from "../../run/second-choice.ts";
import { functionsFor } from "../effects/functions.ts";
import { OverBudgetError, PlanProblemsError } from "../errors.ts";
import { type ResumeOptions, usdOption } from "../options/options.ts";
import type { Planner } from "../price/planner.ts";
import {
  type Asked,
  type Drift,
  type DriftOptions,
  driftFrom,
  isSamePlan,
  madeAgain,
  planId,
  type Remade,
  type RerunQuote,
  type RerunScope,
  remade,
} from "./drift.ts";
import { editsOf } from "./edits.ts";
import { noDiff, type Replanning, replanRun } from "./replanning.ts";

async function fixedExpansions(state: RunState, pipeline: Pipeline, planner: Planner): Promise<readonly string[]> {
  const failed = state.planned.plan.steps.flatMap((step) => {
    const { status, expanded } = state.steps[step.path]!;
    const { expansion } = traitsOf(step);
    return expansion !== null && status === "failed" && expanded === null ? [{ step, expansion }] : [];
  });
  if (failed.length === 0) return [];
  const functions = functionsFor(state, { pipeline });
  const { plan } = state.planned;
  const fixed: string[] = [];
  for (const { step, expansion } of failed) {
    const found = functions.find(state, step.path);
    const ready = readiness(state, step, expansion.on);
    if (!("code" in found) || found.code.kind !== "expand" || ready.ready !== "yes") continue;
    const { maxUnquotedMicros } = state;
    const grown = await planner.expand(expansion, found.code.expand(ready.input), {
      plan,
      overlay: state.planned,
      filesFrom: state.planned.filesFrom,
      maxUnquotedMicros,
    });
    if (grown.ok) fixed.push(step.path);
  }
  return fixed;
}

/**
 * How a resume would change a run. `rerun`: the changes can be made. `drifted`: they cannot, because the code differs
 * from the run's plan and the resume does not accept this.
 */
export type Revision =
  | { readonly kind: "drifted"; readonly drift: Drift; readonly agreed: null }
  | {
      readonly kind: "rerun";
      readonly agreed: AgreedQuote | null;
      readonly of: string;
      renew(state: RunState): Promise<Revision | null>;
      /** Returns the steps whose jobs must finish before `events` may be committed. */
      busy(state: RunState): readonly string[];
      replaces(state: RunState): readonly string[];
      events(state: RunState): readonly RunEvent[];
    };

type Replanned = Extract<Replanning, { readonly ok: true }>;

export async function replanFor(state: RunState, asked: ResumeOptions, planner: Planner): Promise<Replanning | null> {
  const how = onlyOnce(state, asked);
  const { pipeline, compare = true, acceptChanges = false, input, edit } = how;
  for (const option of ["acceptChanges", "input", "edit"] as const) {
    if (!how[option] || pipeline !== undefined) continue;
    throw new InvalidOptionError(option, "needs the run's code; pass the pipeline as well.");
  }
  const isCompared = pipeline !== undefined && (compare || acceptChanges || input !== undefined || edit !== undefined);
  return isCompared
    ? replanRun(state, pipeline, planner, { changes: input, edits: editsOf(state, edit), everywhere: how.everywhere })
    : null;
}

/**
 * Returns the options without the edits if an earlier call with the same request id already applied them. Throws if the
 * two calls edit different steps. The new values may differ, because a repeated `revise` starts from input that was
 * already edited.
 */
function onlyOnce(state: RunState, how: ResumeOptions): ResumeOptions {
  const known = requestOf(state, how);
  if (known === undefined || how.edit === undefined) return how;
  const { edit, ...others } = how;
  if (!asksForRerun(how)) checkSameSteps(known, editedSteps(state, edit));
  return others;
}

/**
 * Checks and prices the changes, and marks an accepted quote as used, but does not change the run. Returns null if
 * nothing changes.
 */
export async function revise(
  state: RunState,
  given: ResumeOptions,
  again: Replanning | null,
  planner: Planner,
): Promise<Revision | null> {
  const how = onlyOnce(state, given);
  const { acceptChanges = false, input, edit } = how;
  const { request, ...asked } = await askedFor(state, how, planner);
  const drift = again === null ? null : await driftFrom(state, { again, asked }, planner);
  if (drift !== null && !drift.isSame && !acceptChanges) return { kind: "drifted", drift, agreed: null };
  if (drift !== null && drift.problems.length > 0) throw new PlanProblemsError(drift.problems);
  const shown = how.everywhere === undefined ? (drift?.sameText ?? []).filter(({ isLocal }) => isLocal) : [];
  if (shown.length > 0) throw standsElsewhere(state, shown);
  const isTakenUp =
    (acceptChanges || input !== undefined || edit !== undefined) && again?.ok && isAnother(again, state);
  const replanned = isTakenUp ? again : sameWithWaits(state, again);
  const target = replanned?.plan ?? state.planned.plan;
  checkRequested(state, target, asked);
  if (replanned === null && asked.steps.length + asked.fixed.length === 0) return null;
  const diff = replanned?.diff ?? null;
  if (diff === null && asked.fixed.length === 0) checkIsNeeded(state, target, asked);
  const { roots, plan, scope: rerunScope } = await remade(state, { target, diff, asked }, planner);
  checkGoesOn(state, target, { roots, asked });
  const { seeds, sameSeed } = rerunScope;
  if (sameSeed.length > 0 && how.sameSeed !== true) throw asksForTheSame(state, sameSeed);
  if (rerunScope.problems.length > 0) throw new PlanProblemsError(rerunScope.problems);
  const { maxUnquotedMicros } = asked;
  const inputNow = replanned?.input ?? state.planned.input;
  const offered = madeAgain(state, { plan, input: inputNow, scope: rerunScope, maxUnquotedMicros });
  const agreed = how.quote === undefined ? null : await planner.offers.agreed(how.quote, offered);
  const isAllowed = agreed !== null && state.agreed !== null && how.budget === undefined;
  if (!isAllowed) checkBudget(state, rerunScope, usdOption("budget", how.budget));
  const touched = [...rerunScope.stale, ...(replanned?.diff.removed ?? [])];
  checkResolved(state, touched);
  const renamed = replanned?.diff.renamed.map(({ from }) => from) ?? [];
  if (agreed !== null) await planner.offers.use(agreed.quote, state.runId, offered);
  const replaces = ({ steps }: RunState) =>
    touched.filter((path) => steps[path] !== undefined && !hasNoOpenJobs(steps[path]));
  return {
    kind: "rerun",
    agreed,
    of: planId(state),
    renew: async (now) => revise(now, given, await replanFor(now, given, planner), planner),
    replaces,
    busy: (now) => [...replaces(now), ...renamed.filter((path) => !hasNoOpenJobs(now.steps[path]!, { paid: true }))],
    events: (now) =>
      revisionEvents(now, {
        replanned: replannedOf(replanned, rerunScope, how),
        request: request && {
          ...request,
          ...(how.note !== undefined && edit === undefined && { note: how.note }),
          ...(seeds.length > 0 && { seeds: seedsByStep(seeds) }),
          ...(replanned === null && { quoteMicros: rerunScope.expectedMicros }),
        },
        roots,
        prices: rerunScope.prices,
      }),
  };
}

function isAnother({ plan, input }: Replanned, { planned }: RunState): boolean {
  return canonicalJson({ plan, input }) !== canonicalJson({ plan: planned.plan, input: planned.input });
}

function sameWithWaits(state: RunState, again: Replanning | null): Replanned | null {
  return again?.ok && isSamePlan(state.planned.plan, again.plan, again.diff) ? withWaits(state, again) : null;
}

function withWaits({ planned: { plan, input } }: RunState, again: Replanned): Replanned | null {
  const now = new Map(again.plan.steps.map((step) => [step.path, "policy" in step ? step.policy.withinMs : undefined]));
  let isChanged = false;
  const steps = plan.steps.map((step): PlanStep => {
    if (!("policy" in step) || !now.has(step.path) || step.policy.withinMs === now.get(step.path)) return step;
    isChanged = true;
    const { withinMs: _, ...policy } = step.policy;
    const withinMs = now.get(step.path);
    return { ...step, policy: { ...policy, ...(withinMs !== undefined && { withinMs }) } } as PlanStep;
  });
  if (!isChanged) return null;
  const changed = { ...plan, steps };
  return { ...again, plan: changed, input, expanded: {}, diff: noDiff(changed) };
}

function replannedOf(
  replanned: Replanned | null,
  { expectedMicros: quoteMicros }: RerunScope,
  { source, edit, note }: ResumeOptions,
): Revised["replanned"] {
  if (replanned === null) return null;
  const { plan, input, expanded, diff, edited } = replanned;
  const { edits: steps, texts } = edited;
  return {
    plan,
    input,
    expanded,
    renamed: diff.renamed,
    quoteMicros,
    ...(edit !== undefined && { edited: { steps, ...(texts.length > 0 && { texts }), note: note ?? null } }),
    ...(source !== undefined && { source }),
  };
}

export type RerunQuoteOptions = RerunOptions & Pick<ResumeOptions, "pipeline" | "compare">;

export interface Quoted<S extends RerunQuote> {
  readonly scope: S;
  readonly plan: Plan;
  readonly input: Json;
}

export async function driftQuote(
  state: RunState,
  how: DriftOptions & Pick<ResumeOptions, "pipeline">,
  planner: Planner,
): Promise<Quoted<Drift>> {
  const again = (await replanFor(state, how, planner))!;
  const asked = await askedFor(state, how, planner);
  const { plan, input } = again.ok ? again : state.planned;
  checkRequested(state, plan, asked);
  const scope = await driftFrom(state, { again, asked }, planner);
  return { scope, plan: withSeeds(plan, seedsByStep(scope.seeds)), input };
}

export async function rerunQuote(
  state: RunState,
  how: RerunQuoteOptions,
  planner: Planner,
): Promise<Quoted<RerunQuote>> {
  const again = await replanFor(state, how, planner);
  const asked = await askedFor(state, how, planner);
  const target = sameWithWaits(state, again)?.plan ?? state.planned.plan;
  checkRequested(state, target, asked);
  if (asked.fixed.length === 0) checkIsNeeded(state, target, asked);
  const { roots, plan, scope } = await remade(state, { target, diff: null, asked }, planner);
  checkGoesOn(state, target, { roots, asked });
  return { scope, plan, input: state.planned.input };
}

async function askedFor(state: RunState, how: ResumeOptions, planner: Planner) {
  const { request, inProgress } = resolveRerunRequest(state, how);
  const fixed = how.pipeline === undefined ? [] : await fixedExpansions(state, how.pipeline, planner);
  const maxUnquotedMicros = usdOption("maxUnquoted", how.maxUnquoted);
  // Edited steps run again because their inputs change, so the request only records them.
  const steps = asksForRerun(how) ? (request?.steps ?? []) : [];
  return { request, inProgress, fixed, steps, maxUnquotedMicros };
}

function standsElsewhere({ runId }: RunState, places: readonly SameText[]): InvalidOptionError {
  const [{ text }] = places as readonly [SameText];
  const where = [...new Set(places.map(({ step, field }) => `${step} ${field}`))].join(", ");
  const why = `${JSON.stringify(text)} also appears in ${where}, where it would stay unchanged. Choose whether to replace it everywhere.`;
  return new InvalidOptionError("edit", why, `showrunner resume ${runId} … --everywhere   (or --no-everywhere)`);
}

function asksForTheSame({ runId }: RunState, [first, ...others]: RerunSeeds["sameSeed"]): InvalidOptionError {
  const { step, seed } = first!;
  const more = others.length === 0 ? "" : ` (likewise ${others.map((place) => place.step).join(", ")})`;
  const why = `${step} would repeat its request exactly, because its code uses the fixed seed ${seed}${more}: you would pay again for the same result. Change its input, or confirm that you want this.`;
  const edit = shellWord(`${step}:seed:=${seed + 1}`);
  return new InvalidOptionError("rerun", why, `showrunner resume ${runId} --edit ${edit}   (or --same-seed)`);
}

function checkRequested(state: RunState, plan: Plan, { steps }: Asked): void {
  const paths = plan.steps.map(({ path }) => path);
  for (const path of steps) {
    const step = paths.includes(path) ? state.steps[path] : undefined;
    const next = `showrunner show ${state.runId}`;
    const refuse = (why: string) => new InvalidOptionError("rerun", why, next);
    if (step === undefined) {
      const [suggestion] = suggest(path, paths);
      throw refuse(
        `run "${state.runId}" has no step ${path}${suggestion === undefined ? "" : `; did you mean ${suggestion}?`}.`,
      );
    }
    if (step.status === "waiting") throw refuse(`${path} has not started yet; it starts when you resume the run.`);
    if (step.status === "unresolved") throw refuse(unresolved(state, path));
    if (!isStepFinal(step.status)) throw refuse(`${path} is in progress; wait until it has finished.`);
  }
}

function checkGoesOn(
  state: RunState,
  plan: Plan,
  { roots, asked }: Pick<Remade, "roots"> & { readonly asked: Asked },
): void {
  if (asked.steps.length + asked.fixed.length === 0) return;
  const stop = blockingFailure(state, plan, staleSteps(state, plan, roots));
  if (stop === null) return;
  const why = `${stop.path} failed, which stops the run (failFast): rerun this step too.`;
  throw new InvalidOptionError("rerun", why, `showrunner resume ${state.runId} --rerun ${stop.path}`);
}

/** Throws if all of these steps were skipped by a choice or a condition and a rerun would skip them again. */
function checkIsNeeded(state: RunState, plan: Plan, { steps }: Asked): void {
  const areLeftOut = steps.every((path) => {
    const { pruned, skippedByCondition } = state.steps[path]!;
    return pruned === true || skippedByCondition === true;
  });
  if (steps.length === 0 || !areLeftOut || staleSteps(state, plan, new Map()).some((path) => steps.includes(path)))
    return;
  const [first] = steps as readonly [string];
  const { reason } = state.steps[first]!;
  const why = `${first} would be skipped again (${reason ?? "nothing needs it"}); also rerun the steps that decide whether it runs.`;
  throw new InvalidOptionError("rerun", why, `showrunner show ${state.runId}`);
}

function checkResolved(state: RunState, touched: readonly string[]): void {
  const path = touched.find((stepPath) => state.steps[stepPath]?.status === "unresolved");
  if (path === undefined) return;
  throw new InvalidOptionError("resume", unresolved(state, path), `showrunner adopt ${state.runId} ${path}`);
}

function unresolved(state: RunState, path: string): string {
  return `the request for ${path} may have created a job. Resolve this first: showrunner adopt ${state.runId} ${path} <job-id|none>`;
}

function checkBudget(state: RunState, { expectedMicros }: RerunScope, given: number | null): void {
  // A shared budget is checked later, whenever the run reserves money.
  const budget = state.planned.budgetTag === undefined ? (given ?? state.budgetMicros) : null;
  const most = committedMicros(state) + expectedMicros;
  if (budget !== null && most > budget) throw new OverBudgetError(most, budget);
}

type RerunOptions = Pick<ResumeOptions, "rerun" | "rerunFailed" | "requestId" | "edit">;

interface ResolvedRerun {
  readonly request: RequestedRerun | null;
  readonly inProgress: readonly RerunRequest[];
}

/**
 * Returns the requested rerun without the steps that an unfinished request already reruns, so that repeating a command
 * does not rerun a step twice.
 */
function resolveRerunRequest(state: RunState, how: RerunOptions): ResolvedRerun {
  const { requestId } = how;
  const requested = how.rerun ?? [];
  const isOpenEnded = how.rerunFailed === true || requested.some(isPattern);
  const known = requestOf(state, how);
  if (requestId !== undefined)
    checkRequestId(requestId, asksForRerun(how) || how.edit !== undefined || known !== undefined);
  if (!asksForRerun(how) && requestId !== undefined) {
    if (known !== undefined) return { request: null, inProgress: [known] };
    return { request: { requestId, steps: editedSteps(state, how.edit!) }, inProgress: [] };
  }
  // A repeated pattern selects the steps that it matched in the first request.
  if (known !== undefined && isOpenEnded) return { request: null, inProgress: [known] };
  const open = state.reruns.filter(({ isOpen }) => isOpen);
  const failed = how.rerunFailed === true ? failedSteps(state) : [];
  if (how.rerunFailed === true && failed.length + open.length === 0) throw nothingFailed(state);
  const continued = how.rerunFailed === true && failed.length === 0 ? open : [];
  const named = [...requested.flatMap((name) => namedBy(state, name)), ...failed];
  const steps = [...new Set(named.map((path) => own(state.formerNames, path) ?? path))];
  if (steps.length === 0) return { request: null, inProgress: continued };
  if (requestId !== undefined) {
    if (known === undefined) return { request: { requestId, steps }, inProgress: [] };
    checkSameSteps(known, steps);
    return { request: null, inProgress: [known] };
  }
  const inProgress = state.reruns.filter((request) => request.isOpen && steps.some((path) => isFor(request, path)));
  const more = steps.filter((path) => !inProgress.some((request) => isFor(request, path)));
  return { request: more.length === 0 ? null : { requestId: randomUUID(), steps: more }, inProgress };
}

function requestOf(state: RunState, { requestId }: RerunOptions): RerunRequest | undefined {
  return state.reruns.find((request) => request.requestId === requestId);
}

function asksForRerun({ rerun = [], rerunFailed = false }: RerunOptions): boolean {
  return rerunFailed || rerun.length > 0;
}

function editedSteps(state: RunState, edit: NonNullable<ResumeOptions["edit"]>): readonly string[] {
  return [...new Set(Object.keys(edit).map((name) => own(state.formerNames, name) ?? name))];
}

function isFor({ steps }: RerunRequest, path: string): boolean {
  return steps.includes(path);
}

function isPattern(name: string): boolean {
  return name.includes("*");
}

function namedBy(state: RunState, name: string): readonly string[] {
  if (!isPattern(name)) return [name];
  const fitting = state.planned.plan.steps.filter(({ path }) => matchesPattern(name, path));
  const finished = fitting.filter(({ path }) => isStepFinal(state.steps[path]!.status));
  if (finished.length > 0) return finished.map(({ path }) => path);
  const why = fitting.length === 0 ? "no step matches" : "no matching step has finished";
  throw new InvalidOptionError("rerun", `${name}: ${why}.`, `showrunner show ${state.runId}`);
}

function failedSteps(state: RunState): readonly string[] {
  return state.planned.plan.steps.flatMap(({ path }) => {
    const { status, expanded } = state.steps[path]!;
    const hasFailed = (status === "failed" || status === "partial") && expanded === null;
    return hasFailed && !isMadeUpFor(state, path) ? (madeAgainFor(state, path) ?? []) : [];
  });
}

function nothingFailed({ runId, status }: RunState): InvalidOptionError {
  const why = `no step of run "${runId}" has failed; the run is ${status}.`;
  return new InvalidOptionError("rerunFailed", why, `showrunner show ${runId}`);
}

function checkRequestId(requestId: string, isRerun: boolean): void {
  if (!/^[\w.:-]{1,100}$/.test(requestId)) {
    const message = "must consist of 1 to 100 letters, digits, `.`, `_`, `:` or `-`.";
    throw new InvalidOptionError("requestId", message);
  }
  if (!isRerun)
    throw new InvalidOptionError(
      "requestId",
      "can only be used with a rerun or an edit; also pass the steps to rerun or edit.",
    );
}

function checkSameSteps({ requestId, steps }: RerunRequest, requested: readonly string[]): void {
  if (steps.length === requested.length && requested.every((path) => steps.includes(path))) return;
  const message = `${requestId} was already used for ${steps.join(", ")}; use another id for other steps.`;
  throw new InvalidOptionError("requestId", message);
}
