import {
  type Drift,
  openSteps,
  plannedStep,
  type Quote,
  type RerunScope,
  type ResumeOptions,
  type RunState,
  statusNow,
  traitsOf,
} from "../../internal.ts";
import { badRequest, type Call, notFound, type Route } from "../http/route.ts";
import type { DashboardContext } from "../options.ts";
import type {
  CandidateView,
  DriftView,
  OfferedView,
  PlanView,
  RerunView,
  ResumePreview,
  WhyView,
} from "../views/action-wire.ts";
import { inputForm } from "../views/input-form.ts";
import { MOST_WHOLE } from "../views/run-groups.ts";
import { stepView } from "../views/step-view.ts";
import { cut } from "../views/truncate.ts";

type Body = Readonly<Record<string, unknown>>;

/** A text field of a body. @throws Refusal 400 */
export function textField(body: Body, name: string): string {
  const value = optionalText(body, name);
  if (value === undefined) throw badRequest(`${name} is missing.`);
  return value;
}

/** Absent, null and empty mean: not given. @throws Refusal 400 */
export function optionalText(body: Body, name: string, most = 10_000): string | undefined {
  const value = body[name];
  if (value === undefined || value === null || value === "") return undefined;
  if (typeof value !== "string" || value.length > most)
    throw badRequest(`${name} must be a text of at most ${most} characters.`);
  return value;
}

/** @throws Refusal 400 */
export function optionalPosition(body: Body, name: string): number | undefined {
  const value = body[name];
  if (value === undefined || value === null) return undefined;
  if (!Number.isSafeInteger(value) || (value as number) < 0) throw badRequest(`${name} must be a whole number from 0.`);
  return value as number;
}

/** @throws Refusal 400 */
export function textList(body: Body, name: string): readonly string[] {
  const value = body[name] ?? [];
  if (!Array.isArray(value) || value.length > 10_000 || !value.every((item) => typeof item === "string")) {
    throw badRequest(`${name} must be a list of texts.`);
  }
  return value;
}

/** What can be done to runs. */
export function actionRoutes(context: DashboardContext): readonly Route[] {
  const { cache } = context;

  const stop = async ({ params }: Call) => {
    await context.show.stop(params.run!);
    return {};
  };

  const resume = async ({ params, json }: Call) => {
    const body = await json();
    const rerun = textList(body, "rerun");
    await goOn(context, params.run!, {
      budget: optionalText(body, "budget", 20),
      maxUnquoted: optionalText(body, "maxUnquoted", 20),
      ...(rerun.length > 0 && { rerun, requestId: optionalText(body, "requestId", 100) }),
      ...(body.acceptChanges === true && { acceptChanges: true }),
    });
    return {};
  };

  const preview = async ({ params, query }: Call) => {
    const {
      view: { state },
    } = await cache.get(params.run!);
    return resumePreview(context, state, {
      rerun: query.getAll("rerun"),
      requestId: query.get("requestId") ?? undefined,
    });
  };

  /** Records the decision; resumes the run where that was requested and no process drives it. */
  const decide = async ({ params, json }: Call, approved: boolean) => {
    const body = await json();
    const step = textField(body, "step");
    const note = optionalText(body, "note", 2000);
    if (approved) await context.show.approve(params.run!, step, { pick: optionalPosition(body, "pick"), note });
    else await context.show.reject(params.run!, step, { note });
    if (body.goOn === true) await goOnWhereParked(context, params.run!);
    return {};
  };

  const candidates = async ({ params, query }: Call): Promise<readonly CandidateView[]> => {
    const found = await context.show.candidates(params.run!, query.get("step") ?? "");
    return found.map(({ jobId, status, createdAt, prompt, match, costMicros }) => ({
      jobId,
      status: String(status),
      createdAt,
      match,
      costMicros,
      prompt: prompt === null ? null : cut(prompt, 300),
    }));
  };

  const why = async ({ params, query }: Call): Promise<WhyView> => {
    await cache.get(params.run!);
    const { why } = await context.show.explain(params.run!, query.get("step") ?? "");
    return { why: cut(why, 1000) };
  };

  const adopt = async ({ params, json }: Call) => {
    const body = await json();
    await context.show.adopt(params.run!, textField(body, "step"), optionalText(body, "jobId", 200) ?? null);
    return {};
  };

  const quoteOf = async (body: Readonly<Record<string, unknown>>) => {
    const offered = context.pipelines.find(({ name }) => name === textField(body, "pipeline"));
    if (offered === undefined) throw notFound("This pipeline");
    return { offered, input: body.input ?? {}, maxUnquoted: optionalText(body, "maxUnquoted", 20) };
  };

  const plan = async ({ json }: Call): Promise<PlanView> => {
    const { offered, input, maxUnquoted } = await quoteOf(await json());
    return planView(await context.show.quote(offered.pipeline, input, { maxUnquoted }));
  };

  const start = async ({ json }: Call): Promise<{ readonly id: string }> => {
    const body = await json();
    const { offered, input, maxUnquoted } = await quoteOf(body);
    const handle = await context.show.run(offered.pipeline, input, {
      id: optionalText(body, "id", 100),
      // Somebody at the page means a new run.
      onExisting: "fail",
      budget: textField(body, "budget"),
      maxUnquoted,
      source: offered.source ?? undefined,
    });
    await context.drivers.follow(handle, (signal) => context.journal.waitForChange(handle.id, 0, signal));
    return { id: handle.id };
  };

  const offered = async (): Promise<readonly OfferedView[]> =>
    context.pipelines.map(({ name, pipeline }) => ({ name, pipeline: pipeline.name, ...inputForm(pipeline.input) }));

  return [
    { method: "POST", path: "/api/runs/:run/stop", handle: stop },
    { method: "POST", path: "/api/runs/:run/resume", handle: resume },
    { method: "GET", path: "/api/runs/:run/resume-preview", handle: preview },
    { method: "POST", path: "/api/runs/:run/approve", handle: (call) => decide(call, true) },
    { method: "POST", path: "/api/runs/:run/reject", handle: (call) => decide(call, false) },
    { method: "GET", path: "/api/runs/:run/candidates", handle: candidates },
    { method: "GET", path: "/api/runs/:run/why", handle: why },
    { method: "POST", path: "/api/runs/:run/adopt", handle: adopt },
    { method: "GET", path: "/api/pipelines", handle: offered },
    { method: "POST", path: "/api/plan", handle: plan },
    { method: "POST", path: "/api/runs", handle: start },
  ];
}

async function goOn(context: DashboardContext, runId: string, options: ResumeOptions = {}): Promise<void> {
  const {
    view: { state },
  } = await context.cache.get(runId);
  const pipeline = options.acceptChanges === true ? await codeOf(context, state) : await neededCode(context, state);
  const { seq } = state;
  const handle = await context.show.resume(runId, { ...options, ...(pipeline !== null && { pipeline }) });
  await context.drivers.follow(handle, (signal) => context.journal.waitForChange(runId, seq, signal));
}

/** Resumes a run that no process drives. */
export async function goOnWhereParked(context: DashboardContext, runId: string): Promise<void> {
  const { row } = await context.cache.get(runId);
  const { status } = statusNow(row, Date.now());
  if (status === "paused" || status === "interrupted") await goOn(context, runId);
}

const MOST_PROBLEMS = 200;
const MOST_RISKS = 20;

function planView(quote: Quote): PlanView {
  const prices = new Map(quote.prices.map((price) => [price.step, price]));
  return {
    ok: quote.ok,
    problems: quote.problems
      .slice(0, MOST_PROBLEMS)
      .map(({ code, step, field, message }) => ({ code, step, field, message: cut(message, 1000) })),
    stepCount: quote.plan?.steps.length ?? 0,
    steps: (quote.plan?.steps ?? []).slice(0, MOST_WHOLE).map((step) => {
      const price = prices.get(step.path);
      const reason = price?.reason == null ? null : cut(price.reason, 300);
      return {
        ...stepView(null, plannedStep(step)),
        quote: price === undefined ? null : { costMicros: price.costMicros, basis: price.basis },
        reason,
      };
    }),
    minMicros: quote.totalMicros.min,
    maxMicros: quote.totalMicros.max,
    expectedMicros: quote.expectedMicros,
    openSteps: openSteps(quote.prices).slice(0, MOST_LISTED),
    forecastMs: quote.forecastMs,
    risks: quote.risks
      .filter(({ heals }) => !heals)
      .slice(0, MOST_RISKS)
      .map(({ why, heals }) => ({ why: cut(why, 500), heals })),
    criticalPath: quote.criticalPath,
  };
}

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

function rerunView(rerunScope: RerunScope): RerunView {
  const { runId, problems, totalMicros, expectedMicros, committedMicros, budgetMicros, ...lists } = rerunScope;
  return {
    runId,
    totalMicros,
    expectedMicros,
    openSteps: openSteps(lists.prices).slice(0, MOST_LISTED),
    committedMicros,
    budgetMicros,
    staleCount: lists.stale.length,
    stale: lists.stale.slice(0, MOST_LISTED),
    prices: lists.prices.slice(0, MOST_LISTED),
    seenThroughFirst: lists.seenThroughFirst.slice(0, MOST_LISTED),
    problems: problems
      .slice(0, MOST_LISTED)
      .map(({ step, message }) => cut(step === null ? message : `${step}: ${message}`, 500)),
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
