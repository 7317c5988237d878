import { own } from "../../../core/kit/lookup.ts";
import { type FoldedRun, type RunRow, type RunView, type StepView, statusNow } from "../../../core/view/index.ts";
import type { JournalStore } from "../../../index.ts";
import { badRequest, notFound, Refusal, STREAM_HEADERS, wholeNumber } from "../../served/index.ts";
import { type Call, openEventStream, type Route } from "../http/route.ts";
import type { DashboardContext } from "../options.ts";
import { type KnownRun, type RunCache, RunMemo } from "../runs/run-cache.ts";
import { runPatch, watchList, watchRun } from "../runs/watch.ts";
import { cut, cutJson, earlierOf, stepView } from "../views/page-step.ts";
import { isBilled } from "../views/run-costs.ts";
import { MOST_WHOLE } from "../views/run-groups.ts";
import { type RunSummary, summaryView, unreadable } from "../views/run-head.ts";
import { eventLine, eventsOf, stepDetail, usersOf } from "../views/step-detail.ts";

const MOST_ROWS = 1000;
const MOST_SUMMARIES = 2000;

export function runList(journal: JournalStore, cache: RunCache) {
  const summaries = new RunMemo<RunSummary>(MOST_SUMMARIES);
  return async (search: string, wanted: string | null, limit: number) => {
    const now = Date.now();
    const all = (await journal.runs({ search })).map((row) => statusNow(row, now));
    const requested = all.filter(({ status }) => wanted === null || status === wanted);
    const rows: RunSummary[] = [];
    for (const row of requested.slice(0, Math.min(limit, MOST_ROWS)))
      rows.push(await summaries.get(row, () => summaryOf(cache, row), { more: row.status }));
    const byStatus: Record<string, number> = {};
    for (const { status } of all) byStatus[status] = (byStatus[status] ?? 0) + 1;
    return { rows, matching: requested.length, byStatus };
  };
}

/** Summarizes a run. If the run cannot be read, falls back to its row, so that the other runs are still listed. */
async function summaryOf(cache: RunCache, row: RunRow): Promise<RunSummary> {
  try {
    const { view, groups } = await cache.upTo(row);
    return summaryView(view, row, groups?.counts());
  } catch (error) {
    return unreadable(row, error instanceof Error ? error.message : String(error));
  }
}

export function stepsPage({ view, groups }: KnownRun, query: URLSearchParams, limit: number) {
  const [path, group, phase, having] = ["path", "group", "phase", "with"].map((name) => query.get(name));
  const returned = new Set(view.state.files.map(({ step }) => step));
  const has: Readonly<Record<string, (step: StepView) => boolean>> = {
    attempts: ({ attempts }) => attempts.some(isBilled),
    returned: ({ path }) => returned.has(path),
    intermediate: ({ path, outputs }) => !returned.has(path) && outputs.some(({ copy }) => copy !== null),
  };
  const found = view.steps.filter(
    (step) =>
      (path == null || step.path === path) &&
      (group == null || groups?.isIn(step.path, group) === true) &&
      (phase == null || step.phase === phase) &&
      (having == null || own(has, having)?.(step) === true),
  );
  return { total: found.length, steps: found.slice(0, limit).map((step) => stepView(view, step)) };
}

const MOST_INCIDENTS = 300;

/** Returns a run's timeline with the spans of at most `rows` steps. `from` and `to` cover all steps. */
export function timelineView({ view, history }: FoldedRun, rows: number) {
  const { spans } = history;
  const steps = new Set(spans.map(({ step }) => step));
  const shown = new Set([...steps].slice(0, rows));
  const ends = spans.flatMap(({ to }) => to ?? []);
  return {
    rows: steps.size,
    from: spans[0]?.from ?? 0,
    to: ends.length === 0 ? null : ends.reduce((latest, end) => Math.max(latest, end)),
    spans: spans.filter(({ step }) => shown.has(step)),
    incidents: history
      .incidents(view!.state)
      .slice(0, MOST_INCIDENTS)
      .map((one) => ({ ...one, why: cut(one.why, 2000) })),
  };
}

export function givenView({ state }: RunView) {
  const { value, isCut } = cutJson(state.planned.input);
  return { input: value, isCut };
}

const PAGE_ROWS = 50;
const MOST_EVENTS = 500;
const TIMELINE_ROWS = 1000;

export function readRoutes(context: DashboardContext): readonly Route[] {
  const { journal, cache } = context;
  const list = runList(journal, cache);

  const runs = ({ query }: Call) =>
    list(query.get("q") ?? "", query.get("status"), wholeNumber(query, "limit") ?? PAGE_ROWS);

  const events = async ({ params, query }: Call) => {
    const { row } = await cache.get(params.run!);
    const before = Math.min(wholeNumber(query, "before") ?? Number.MAX_SAFE_INTEGER, row.lastSeq + 1);
    const afterSeq = Math.max(0, before - 1 - MOST_EVENTS);
    const found = await journal.read(params.run!, { afterSeq, limit: before - 1 - afterSeq });
    return found.map(eventLine);
  };

  const timeline = async ({ params, query }: Call) => {
    const { row } = await cache.get(params.run!);
    return timelineView(await cache.history(row), wholeNumber(query, "rows") ?? TIMELINE_ROWS);
  };

  const given = async ({ params }: Call) => givenView((await cache.get(params.run!)).view);

  const steps = async ({ params, query }: Call) => {
    return stepsPage(await cache.get(params.run!), query, Math.min(wholeNumber(query, "limit") ?? 200, MOST_WHOLE));
  };

  const named = async ({ params, query }: Call) => {
    const { view } = await cache.get(params.run!);
    const path = query.get("path") ?? "";
    const found = view.step(path) ?? view.removed.find((one) => one.path === path);
    if (found === undefined) throw notFound("This step");
    return { view, found };
  };

  const earlier = async (call: Call) => {
    const { view, found } = await named(call);
    return earlierOf(view, found);
  };

  const step = async (call: Call) => {
    const { view, found } = await named(call);
    const events = await eventsOf(journal, view.state, found);
    return stepDetail(view, found, { events: events.map(eventLine), usedBy: usersOf(view) });
  };

  const live = async ({ request, query }: Call): Promise<Response> => {
    const runId = query.get("run");
    const after = Number(request.headers.get("Last-Event-ID") ?? query.get("after") ?? 0);
    if (!Number.isSafeInteger(after) || after < 0) throw badRequest("`after` must be an event number, 0 or greater.");
    if (runId !== null) await cache.get(runId);
    if (request.method === "HEAD") return new Response(null, { headers: STREAM_HEADERS });
    const { response, ...stream } = openEventStream();
    context.streams.add(stream);
    stream.signal.addEventListener("abort", () => context.streams.delete(stream), { once: true });
    const ended = (error: unknown) => {
      if (!(error instanceof Refusal)) context.onDefect(error);
      stream.end();
    };
    watchList(journal, context.gauges, stream).catch(ended);
    if (runId !== null) watchRun(context, runId, after, stream).catch(ended);
    return response;
  };

  return [
    { method: "GET", path: "/api/runs", handle: runs },
    { method: "GET", path: "/api/runs/:run", handle: ({ params }) => runPatch(context, params.run!, 0) },
    { method: "GET", path: "/api/runs/:run/events", handle: events },
    { method: "GET", path: "/api/runs/:run/timeline", handle: timeline },
    { method: "GET", path: "/api/runs/:run/given", handle: given },
    { method: "GET", path: "/api/runs/:run/step", handle: step },
    { method: "GET", path: "/api/runs/:run/earlier", handle: earlier },
    { method: "GET", path: "/api/runs/:run/steps", handle: steps },
    { method: "GET", path: "/api/live", handle: live },
  ];
}
