import { openEventStream, sendStreamHead } from "../http/answer.ts";
import { badRequest, type Call, notFound, type Route } from "../http/route.ts";
import { runPatch, watchList, watchRun } from "../live/run-watch.ts";
import type { DashboardContext } from "../options.ts";
import { RunList } from "../runs/run-list.ts";
import { MOST_WHOLE } from "../views/run-groups.ts";
import { modelCosts, stepsPage, timelineView } from "../views/run-lists.ts";
import type { EventLine, ModelCosts, StepsPage, TimelineView } from "../views/run-wire.ts";
import { eventLine, stepDetail } from "../views/step-detail.ts";

const PAGE_ROWS = 50;
const MOST_EVENTS = 500;
const TIMELINE_ROWS = 1000;

/** What can be seen of runs. */
export function readRoutes(context: DashboardContext): readonly Route[] {
  const { journal, cache } = context;
  const list = new RunList(journal, cache);

  const runs = ({ query }: Call) => {
    const limit = whole(query, "limit") ?? PAGE_ROWS;
    return list.find({ search: query.get("q") ?? "", status: query.get("status"), limit });
  };

  const events = async ({ params, query }: Call): Promise<readonly EventLine[]> => {
    const { row } = await cache.get(params.run!);
    const before = Math.min(whole(query, "before") ?? Number.MAX_SAFE_INTEGER, row.lastSeq + 1);
    const afterSeq = Math.max(0, before - 1 - MOST_EVENTS);
    const found = await journal.read(params.run!, { afterSeq, limit: before - 1 - afterSeq });
    return found.map(eventLine);
  };

  const timeline = async ({ params, query }: Call): Promise<TimelineView> => {
    const { row } = await cache.get(params.run!);
    return timelineView((await cache.timeline(row)).spans(), whole(query, "rows") ?? TIMELINE_ROWS);
  };

  const steps = async ({ params, query }: Call): Promise<StepsPage> => {
    return stepsPage(await cache.get(params.run!), query, Math.min(whole(query, "limit") ?? 200, MOST_WHOLE));
  };

  const costs = async ({ params }: Call): Promise<readonly ModelCosts[]> => {
    return modelCosts((await cache.get(params.run!)).view);
  };

  const step = async ({ params, query }: Call) => {
    const { view } = await cache.get(params.run!);
    const found = await stepDetail(journal, view, query.get("path") ?? "");
    if (found === null) throw notFound("This step");
    return found;
  };

  const live = async ({ incoming, response, query }: Call): Promise<void> => {
    const runId = query.get("run");
    const after = Number(incoming.headers["last-event-id"] ?? query.get("after") ?? 0);
    if (!Number.isSafeInteger(after) || after < 0) throw badRequest("after must be the number of an event.");
    if (runId !== null) await cache.get(runId);
    if (incoming.method === "HEAD") return sendStreamHead(response);
    const stream = openEventStream(response);
    context.streams.add(stream);
    stream.signal.addEventListener("abort", () => context.streams.delete(stream), { once: true });
    const ended = (error: unknown) => {
      if (!stream.signal.aborted) stream.end();
      throw error;
    };
    await Promise.all([
      watchList(journal, context.gauges, stream).catch(ended),
      runId === null ? undefined : watchRun(context, runId, after, stream).catch(ended),
    ]);
  };

  return [
    { method: "GET", path: "/api/runs", handle: runs },
    { method: "GET", path: "/api/runs/:run", handle: ({ params }) => runPatch(context, params.run!, 0) },
    { method: "GET", path: "/api/runs/:run/events", handle: events },
    { method: "GET", path: "/api/runs/:run/timeline", handle: timeline },
    { method: "GET", path: "/api/runs/:run/step", handle: step },
    { method: "GET", path: "/api/runs/:run/steps", handle: steps },
    { method: "GET", path: "/api/runs/:run/costs", handle: costs },
    { method: "GET", path: "/api/live", handle: live },
  ];
}

function whole(query: URLSearchParams, name: string): number | null {
  const text = query.get(name);
  if (text === null) return null;
  if (!/^\d{1,12}$/.test(text)) throw badRequest(`${name} must be a whole number.`);
  return Number(text);
}
