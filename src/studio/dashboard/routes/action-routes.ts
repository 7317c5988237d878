import type { UnresolvedStep } from "../../../core/engine/index.ts";
import { openSteps } from "../../../core/kit/money.ts";
import { plannedStep } from "../../../core/view/index.ts";
import type { Quote } from "../../../index.ts";
import { badRequest, decide, notFound, optionalText, textField, verdictIn } from "../../served/index.ts";
import type { Call, Route } from "../http/route.ts";
import type { DashboardContext, OfferedPipeline } from "../options.ts";
import { inputForm, shownValueOf } from "../views/input-form.ts";
import { cut, decisionAt, stepView } from "../views/page-step.ts";
import { MOST_WHOLE } from "../views/run-groups.ts";
import { goOnWhereParked } from "./resume-routes.ts";

export function actionRoutes(context: DashboardContext): readonly Route[] {
  const { cache } = context;

  const stop = async ({ params }: Call) => {
    await context.show.stop(params.run!);
    return {};
  };

  const decideOn = async ({ params, json }: Call, approved: boolean) => {
    const body = await json();
    await decide(context.show, params.run!, textField(body, "step"), verdictIn(body, approved));
    if (body.goOn === true) await goOnWhereParked(context, params.run!);
    return {};
  };

  const shownValue = async ({ params, query }: Call) => {
    const { view } = await cache.get(params.run!);
    const shown = view.changeable(decisionAt(view, query.get("step")));
    if (typeof shown === "string") throw badRequest(shown);
    return shownValueOf(shown.value, shown.schema);
  };

  const candidates = async ({ params, query }: Call) =>
    (await context.show.candidates(params.run!, query.get("step") ?? "")).map(candidateView);

  const adopt = async ({ params, json }: Call) => {
    const body = await json();
    const step = textField(body, "step");
    const jobId = optionalText(body, "jobId", 200) ?? null;
    const {
      view: { state },
    } = await cache.get(params.run!);
    const attempts = Object.hasOwn(state.steps, step) ? state.steps[step]!.attempts : [];
    if (jobId !== null && attempts.at(-1)?.provider !== undefined)
      throw badRequest(`Adopt the provider's file on the command line: showrunner adopt ${params.run!} ${step} FILE`);
    await context.show.adopt(params.run!, step, jobId);
    return {};
  };

  const quoteOf = async (body: Readonly<Record<string, unknown>>) => {
    const offered = context.pipelines.find(({ name }) => name === textField(body, "pipeline"));
    if (offered === undefined) throw notFound("This pipeline");
    return { offered, input: body.input ?? {}, maxUnquoted: optionalText(body, "maxUnquoted", 20) };
  };

  const plan = async ({ json }: Call) => {
    const { offered, input, maxUnquoted } = await quoteOf(await json());
    return planView(await context.show.quote(offered.pipeline, input, { maxUnquoted }));
  };

  const start = async ({ json }: Call) => {
    const body = await json();
    const { offered, input, maxUnquoted } = await quoteOf(body);
    const handle = await context.show.run(offered.pipeline, input, {
      id: optionalText(body, "id", 100),
      onExisting: "fail",
      budget: textField(body, "budget"),
      quote: optionalText(body, "quote", 100),
      maxUnquoted,
      source: offered.source ?? undefined,
    });
    await context.drivers.follow(handle, (signal) => context.journal.waitForChange(handle.id, 0, signal));
    return { id: handle.id };
  };

  const offered = async () => context.pipelines.map(offeredView);

  return [
    { method: "POST", path: "/api/runs/:run/stop", handle: stop },
    { method: "POST", path: "/api/runs/:run/approve", handle: (call) => decideOn(call, true) },
    { method: "POST", path: "/api/runs/:run/reject", handle: (call) => decideOn(call, false) },
    { method: "GET", path: "/api/runs/:run/shown-value", handle: shownValue },
    { method: "GET", path: "/api/runs/:run/candidates", handle: candidates },
    { method: "POST", path: "/api/runs/:run/adopt", handle: adopt },
    { method: "GET", path: "/api/pipelines", handle: offered },
    { method: "POST", path: "/api/plan", handle: plan },
    { method: "POST", path: "/api/runs", handle: start },
  ];
}

export function candidateView({
  jobId,
  status,
  createdAt,
  prompt,
  match,
  costMicros,
}: UnresolvedStep["candidates"][number]) {
  const text = prompt === null ? null : cut(prompt, 300);
  return { jobId, status: String(status), createdAt, match, costMicros, prompt: text };
}

export function offeredView({ name, pipeline }: OfferedPipeline) {
  return { name, pipeline: pipeline.name, ...inputForm(pipeline.input) };
}

const MOST_PROBLEMS = 200;
const MOST_RISKS = 20;

export function planView(quote: Quote) {
  const prices = new Map(quote.prices.map((price) => [price.step, price]));
  return {
    quote: quote.id,
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
    /** Outputs that may expire before use and would have to be paid for again. */
    risks: quote.risks
      .filter(({ heals }) => !heals)
      .slice(0, MOST_RISKS)
      .map(({ why }) => cut(why, 500)),
    criticalPath: quote.criticalPath,
  };
}

const MOST_LISTED = 100;
