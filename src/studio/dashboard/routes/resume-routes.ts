import type { RerunScope } from "../../../core/engine/index.ts";
import { openSteps } from "../../../core/kit/money.ts";
import { traitsOf } from "../../../core/plan/index.ts";
import { type RunState, statusNow } from "../../../core/view/index.ts";
import type { Drift, Json, Quote, ResumeOptions } from "../../../index.ts";
import { badRequest, isRecord, notFound, optionalText, textField, textList } from "../../served/index.ts";
import type { Call, Route } from "../http/route.ts";
import type { DashboardContext } from "../options.ts";
import { stepForm } from "../views/input-form.ts";
import { cut } from "../views/page-step.ts";

export function resumeRoutes(context: DashboardContext): readonly Route[] {
  const { cache } = context;

  const resume = async ({ params, json }: Call) => {
    const body = await json();
    const { rerun, edit } = await remadeOf(context, params.run!, body);
    await goOn(context, params.run!, {
      budget: optionalText(body, "budget", 20),
      maxUnquoted: optionalText(body, "maxUnquoted", 20),
      ...(rerun.length > 0 && {
        rerun,
        requestId: optionalText(body, "requestId", 100),
        sameSeed: body.sameSeed === true,
      }),
      ...((body.acceptChanges === true || edit !== undefined) && { acceptChanges: true }),
      edit,
      everywhere: everywhereOf(body),
      note: optionalText(body, "note", 2000),
      quote: optionalText(body, "quote", 100),
    });
    return {};
  };

  const preview = async ({ params, json }: Call) => {
    const body = await json();
    const remade = await remadeOf(context, params.run!, body);
    const { view } = await cache.get(params.run!);
    return resumePreview(context, view.state, {
      ...remade,
      requestId: optionalText(body, "requestId", 100),
      everywhere: everywhereOf(body),
    });
  };

  const stepInput = async ({ params, query }: Call) => {
    const { view } = await cache.get(params.run!);
    return stepInputView(context, view.state, query.get("step") ?? "");
  };

  return [
    { method: "POST", path: "/api/runs/:run/resume", handle: resume },
    { method: "POST", path: "/api/runs/:run/resume-preview", handle: preview },
    { method: "GET", path: "/api/runs/:run/step-input", handle: stepInput },
  ];
}

const MOST_EDITED = 200;
const NEEDS_CODE =
  "Editing an input needs the run's code, which was not found. Use showrunner resume with --file and --edit.";

interface Remade extends Pick<ResumeOptions, "edit"> {
  readonly rerun: readonly string[];
}

async function remadeOf(
  context: DashboardContext,
  runId: string,
  body: Readonly<Record<string, unknown>>,
): Promise<Remade> {
  const step = optionalText(body, "redo", 500);
  if (step === undefined) return { rerun: textList(body, "rerun"), edit: editOf(body) };
  const { view } = await context.cache.get(runId);
  const code = await codeOf(context, view.state);
  const { rerun = [], edit } = await context.show.redo(runId, step, textField(body, "note"), code ?? undefined);
  if (rerun.length === 0 && edit === undefined) throw badRequest(`The results of ${step} are still being generated.`);
  return { rerun, edit };
}

function editOf({ edit }: Readonly<Record<string, unknown>>): ResumeOptions["edit"] {
  if (edit === undefined || edit === null) return undefined;
  const wrong = () => badRequest("`edit` must map each step to an object with its changed fields.");
  if (!isRecord(edit)) throw wrong();
  const steps = Object.entries(edit).map(([step, fields]) => {
    if (!isRecord(fields) || Object.keys(fields).length > MOST_EDITED) throw wrong();
    const values = Object.entries(fields).map(([name, value]) => [name, value === null ? undefined : value]);
    return [step, Object.fromEntries(values) as { readonly [field: string]: Json | undefined }] as const;
  });
  return steps.length === 0 ? undefined : Object.fromEntries(steps);
}

function everywhereOf({ everywhere }: Readonly<Record<string, unknown>>): boolean | undefined {
  if (everywhere === undefined || typeof everywhere === "boolean") return everywhere;
  throw badRequest("`everywhere` must be true or false.");
}

async function stepInputView(context: DashboardContext, state: RunState, path: string) {
  const plan = state.planned.plan.steps.find((step) => step.path === path);
  if (plan === undefined) throw notFound("This step");
  if (!("model" in plan) || !isRecord(plan.input)) return { fields: null, why: null, text: "{}" };
  if ((await codeOf(context, state)) === null) return { fields: null, why: NEEDS_CODE, text: "{}" };
  const plain = Object.entries(plan.input).filter(([, value]) => isPlain(value));
  // Without a schema, the types come from the values.
  const model = plan.kind === "job" ? await context.show.client.model(plan.model).catch(() => null) : null;
  return stepForm(
    model?.inputSchema ?? {},
    Object.fromEntries(plain) as { readonly [name: string]: Json },
    Object.keys(plan.input),
  );
}

function isPlain(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return true;
  return !("$ref" in value) && !("$asset" in value) && Object.values(value).every(isPlain);
}

async function goOn(context: DashboardContext, runId: string, options: ResumeOptions = {}): Promise<void> {
  const {
    view: { state },
  } = await context.cache.get(runId);
  const pipeline = options.acceptChanges === true ? await codeOf(context, state) : null;
  const code = pipeline === null ? await asPlanned(context, state) : { pipeline };
  const { seq } = state;
  const handle = await context.show.resume(runId, { ...options, ...code });
  await context.drivers.follow(handle, (signal) => context.journal.waitForChange(runId, seq, signal));
}

export async function goOnWhereParked(context: DashboardContext, runId: string): Promise<void> {
  const { row } = await context.cache.get(runId);
  const { status } = statusNow(row, Date.now());
  if (status === "paused" || status === "interrupted") await goOn(context, runId);
}

type Code = Awaited<ReturnType<DashboardContext["loadPipeline"]>>;

async function asPlanned(
  context: DashboardContext,
  state: RunState,
): Promise<Pick<ResumeOptions, "pipeline" | "compare">> {
  const isNeeded = state.planned.plan.steps.some((step) => traitsOf(step).needsCode);
  const pipeline = isNeeded ? await codeOf(context, state) : null;
  return pipeline === null ? {} : { pipeline, compare: false };
}

export async function codeOf({ loadPipeline }: DashboardContext, state: RunState): Promise<Code> {
  const { source } = state.planned;
  return source === null ? null : loadPipeline(source);
}

export interface ResumePreview {
  readonly drift: ReturnType<typeof driftView> | null;
  readonly rerunScope: ReturnType<typeof rerunView> | null;
  readonly edited: readonly { readonly step: string; readonly field: string; readonly value: string }[];
  /** Other fields that contain the same text as an edited field. They change only if `everywhere` is true. */
  readonly sameText: readonly { readonly step: string; readonly field: string }[];
}

const UNCHANGED: ResumePreview = { drift: null, rerunScope: null, edited: [], sameText: [] };

export async function resumePreview(
  context: DashboardContext,
  state: RunState,
  { rerun, requestId, edit, everywhere }: Remade & Pick<ResumeOptions, "requestId" | "everywhere">,
): Promise<ResumePreview> {
  const { show } = context;
  const { runId } = state;
  if (edit === undefined && rerun.length > 0) {
    const quote = await show.rerunQuote(runId, rerun, { requestId, ...(await asPlanned(context, state)) });
    return { ...UNCHANGED, rerunScope: rerunView(quote) };
  }
  const code = await codeOf(context, state);
  if (code === null && edit !== undefined) throw badRequest(NEEDS_CODE);
  const drift = code === null ? null : await show.drift(runId, code, { edit, everywhere });
  if (drift === null || drift.isSame) return UNCHANGED;
  return {
    drift: driftView(drift),
    rerunScope: rerunView(drift),
    edited: editedView(edit),
    sameText: listed(drift.sameText).map(({ step, field }) => ({ step, field })),
  };
}

const MOST_LISTED = 100;
const listed = <T>(items: readonly T[]) => items.slice(0, MOST_LISTED);

function rerunView(rerunScope: RerunScope & Pick<Quote, "id">) {
  const { id, runId, problems, totalMicros, expectedMicros, committedMicros, budgetMicros, ...lists } = rerunScope;
  return {
    quote: id,
    runId,
    totalMicros,
    expectedMicros,
    openSteps: listed(openSteps(lists.prices)),
    committedMicros,
    budgetMicros,
    staleCount: lists.stale.length,
    prices: listed(lists.prices),
    seeds: listed(lists.seeds),
    sameSeed: listed(lists.sameSeed),
    unanswered: listed(lists.unanswered),
    seenThroughFirst: listed(lists.seenThroughFirst),
    problems: listed(problems).map(({ step, message }) => cut(step === null ? message : `${step}: ${message}`, 500)),
  };
}

function editedView(edit: ResumeOptions["edit"]): ResumePreview["edited"] {
  const fields = Object.entries(edit ?? {}).flatMap(([step, changed]) =>
    Object.entries(changed).map(([field, value]) => ({ step, field, value })),
  );
  return listed(fields).map(({ step, field, value }) => ({
    step,
    field,
    value: value === undefined ? "left out" : cut(typeof value === "string" ? value : JSON.stringify(value), 2000),
  }));
}

function driftView({ changed, added, removed, renamed }: Drift) {
  return {
    changed: listed(changed).map(({ path, fields }) => ({
      step: path,
      fields: fields.slice(0, 20).map(({ field }) => field),
    })),
    added: listed(added),
    removed: listed(removed),
    renamed: listed(renamed),
  };
}
