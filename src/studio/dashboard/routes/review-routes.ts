import { DAY_MS } from "../../../core/kit/duration.ts";
import { listedTags, tagTexts } from "../../../core/kit/tags.ts";
import { traitsOf } from "../../../core/plan/index.ts";
import { isRunFinal, loadRun, type RunRow, RunView } from "../../../core/view/index.ts";
import type { JournalStore } from "../../../index.ts";
import { badRequest, notFound, optionalPosition, textField } from "../../served/index.ts";
import type { Call, Route } from "../http/route.ts";
import type { DashboardContext } from "../options.ts";
import { RunMemo } from "../runs/run-cache.ts";
import { cut, decisionAt, stepView } from "../views/page-step.ts";

const LONGEST_FILM_MS = DAY_MS;

export function reviewRoutes(context: DashboardContext): readonly Route[] {
  const { cache } = context;
  const waiting = waitingDecisions(context.journal);

  const queue = ({ query }: Call) => {
    const [run = null, pipeline = null, tag = null] = ["run", "pipeline", "tag"].map((name) => query.get(name));
    return waiting({ search: query.get("q") ?? "", run, pipeline, tag });
  };

  /** Returns a decision with all its comments, including those that are still in the run's inbox. */
  const shown = async ({ query }: Call) => {
    const run = query.get("run") ?? "";
    const { view } = await cache.get(run);
    const step = view.step(query.get("step") ?? "");
    if (step === undefined || traitsOf(step.plan).decision === null) throw notFound("This decision");
    const inbox = await context.journal.inbox(run);
    const said = inbox.flatMap(({ message: one }) =>
      one.type === "comment" && one.step === step.path ? [one.comment] : [],
    );
    const { state } = view;
    const own = state.steps[step.path]!;
    const comments = [...(own.comments ?? []), ...said];
    return stepView(new RunView({ ...state, steps: { ...state.steps, [step.path]: { ...own, comments } } }), step);
  };

  const comment = async ({ params, json }: Call) => {
    const body = await json();
    const step = textField(body, "step");
    const text = textField(body, "text");
    if (text.length > 2000) throw badRequest("text must be a string of at most 2,000 characters.");
    const timeMs = optionalPosition(body, "timeMs") ?? null;
    if (timeMs !== null && timeMs > LONGEST_FILM_MS) throw badRequest("timeMs must not exceed 24 hours.");
    const { view } = await cache.get(params.run!);
    const decision = decisionAt(view, step);
    const position = optionalPosition(body, "take") ?? null;
    const take = position === null ? null : view.offered(decision)[position];
    if (take === undefined) throw badRequest("take must be the position of one of the takes shown.");
    await context.show.comment(params.run!, step, { text, take, timeMs });
    return {};
  };

  return [
    { method: "GET", path: "/api/review", handle: queue },
    { method: "GET", path: "/api/review/step", handle: shown },
    { method: "POST", path: "/api/runs/:run/comment", handle: comment },
  ];
}

interface QueueQuery {
  readonly search: string;
  readonly run: string | null;
  readonly pipeline: string | null;
  readonly tag: string | null;
}

const MOST_ITEMS = 1000;

export function waitingDecisions(journal: JournalStore) {
  /** Cache of open decisions by run. Its size is not limited, because each request reads all waiting runs. */
  const known = new RunMemo<RunView["openDecisions"]>(Number.POSITIVE_INFINITY);
  return async (query: QueueQuery) => {
    const listed = query.run === null ? await journal.runs({ search: query.search }) : [await journal.run(query.run)];
    const rows = listed.filter((row) => row !== null && !isRunFinal(row.status)) as readonly RunRow[];
    if (query.search === "" && query.run === null) known.keepOnly(rows);
    const found = [];
    for (const row of rows) {
      const { runId, title, pipeline, tags } = row;
      // An unreadable run does not hide the others.
      const open = await known.get(row, () => openIn(journal, runId).catch(() => []));
      const said = open.length > 0 ? await decidedIn(journal, runId) : null;
      for (const { step, message, ...one } of open) {
        if (said?.has(step)) continue;
        const asks = message === null ? null : cut(message, 300);
        found.push({ run: runId, title, pipeline, tags: tagTexts(tags), step, message: asks, ...one });
      }
    }
    const items = found
      .filter((one) => query.pipeline === null || one.pipeline === query.pipeline)
      .filter((one) => query.tag === null || one.tags.includes(query.tag))
      .sort((a, b) => a.since - b.since);
    return {
      items: items.slice(0, MOST_ITEMS).map((one) => ({ ...one, tags: listedTags(one.tags) })),
      total: items.length,
      pipelines: counted(found.map(({ pipeline }) => pipeline)),
      tags: counted(found.flatMap(({ tags }) => tags)),
    };
  };
}

async function openIn(journal: JournalStore, runId: string): Promise<RunView["openDecisions"]> {
  return new RunView(await loadRun(journal, runId)).openDecisions;
}

async function decidedIn(journal: JournalStore, runId: string): Promise<ReadonlySet<string>> {
  const inbox = await journal.inbox(runId);
  return new Set(
    inbox.flatMap(({ message: one }) => (one.type === "approve" || one.type === "reject" ? [one.step] : [])),
  );
}

function counted(names: readonly string[]) {
  const counts = [...Map.groupBy(names, (name) => name)].map(([name, { length }]) => ({ name, count: length }));
  return counts.sort((a, b) => (a.name < b.name ? -1 : 1));
}
