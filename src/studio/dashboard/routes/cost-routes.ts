import { DAY_MS } from "../../../core/kit/duration.ts";
import { listedTags, tagTexts } from "../../../core/kit/tags.ts";
import type { RunRow } from "../../../core/view/index.ts";
import type { JournalStore } from "../../../index.ts";
import { badRequest } from "../../served/index.ts";
import type { Call, Route } from "../http/route.ts";
import type { DashboardContext } from "../options.ts";
import { runCosts } from "../views/run-costs.ts";

const MOST_RUNS = 1000;
const MOST_TAGS = 200;
// Each read of the service's figures counts toward the request limit.
const USAGE_MS = 60_000;

interface Share {
  readonly name: string;
  readonly costMicros: number;
}

/** The costs of all runs since `from`, which is the start of a day in UTC. */
export interface AllCosts {
  readonly from: number;
  /** Cost per day. A job's charge counts on the day when the amount for it was reserved. */
  readonly days: readonly number[];
  /** Total cost per pipeline of the runs that changed since `from`. Includes what these runs cost before `from`. */
  readonly pipelines: readonly Share[];
  readonly tags: readonly Share[];
  /** Cost per model as reported by the service, including jobs outside runs. */
  readonly models: readonly Share[];
  readonly runsLeftOut: number;
}

export function costRoutes(context: Pick<DashboardContext, "journal" | "cache" | "show">): readonly Route[] {
  const { journal, cache } = context;

  const ofRun = async ({ params }: Call) => runCosts((await cache.get(params.run!)).view);

  const models = onceInAWhile(async (from: number): Promise<AllCosts["models"]> => {
    const { data } = await context.show.client.usage({ start: new Date(from).toISOString(), groupBy: "model" });
    return data.map(({ key, spentMicros }) => ({ name: key, costMicros: spentMicros }));
  });

  const ofAll = async ({ query }: Call): Promise<AllCosts> => {
    const days = Number(query.get("days") ?? 30);
    if (!Number.isSafeInteger(days) || days < 1 || days > 3660)
      throw badRequest("`days` must be a whole number from 1 to 3660.");
    const from = (Math.floor(Date.now() / DAY_MS) - days + 1) * DAY_MS;
    const rows = await journal.runs();
    const accounts = [...new Set(rows.map(({ account }) => account))];
    const chargedSince = async (sinceAt: number, tag: string | null = null) => {
      const totals = await Promise.all(accounts.map((account) => journal.spending(account, { tag, sinceAt })));
      return totals.reduce((sum, { settledMicros }) => sum + settledMicros, 0);
    };
    // A run that has not changed since `from` has no charges since `from`.
    const touched = rows.filter(({ updatedAt }) => updatedAt >= from);
    const since = await Promise.all(Array.from({ length: days + 1 }, (_, at) => chargedSince(from + at * DAY_MS)));
    const tags = [...new Set(touched.flatMap((row) => listedTags(tagTexts(row.tags))))].slice(0, MOST_TAGS);
    return {
      from,
      days: since.slice(1).map((later, at) => since[at]! - later),
      pipelines: await byPipeline(journal, touched.slice(0, MOST_RUNS)),
      tags: await Promise.all(tags.map(async (name) => ({ name, costMicros: await chargedSince(from, name) }))),
      models: await models(from),
      runsLeftOut: Math.max(0, touched.length - MOST_RUNS),
    };
  };

  return [
    { method: "GET", path: "/api/runs/:run/costs", handle: ofRun },
    { method: "GET", path: "/api/costs", handle: ofAll },
  ];
}

async function byPipeline(journal: JournalStore, rows: readonly RunRow[]): Promise<AllCosts["pipelines"]> {
  const sums = new Map<string, number>();
  for (const { runId, pipeline } of rows) {
    // The run may have been removed since it was listed.
    const { settledMicros } = await journal.ledger(runId).catch(() => ({ settledMicros: 0 }));
    sums.set(pipeline, (sums.get(pipeline) ?? 0) + settledMicros);
  }
  return [...sums].map(([name, costMicros]) => ({ name, costMicros }));
}

/**
 * Returns a function that calls `ask` at most once per `USAGE_MS` for the same `from`, and otherwise repeats the last
 * result. If `ask` fails, the result is an empty list.
 */
function onceInAWhile<T>(ask: (from: number) => Promise<readonly T[]>): (from: number) => Promise<readonly T[]> {
  let known: { readonly from: number; readonly at: number; readonly answer: Promise<readonly T[]> } | null = null;
  return (from) => {
    const at = Date.now();
    if (known?.from !== from || at - known.at > USAGE_MS) known = { from, at, answer: ask(from).catch(() => []) };
    return known.answer;
  };
}
